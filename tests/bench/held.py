"""Figures of a server that is held open between commands: a call, a TAB, the keeper's memory; and a call beside other
command lines that hold servers.

Those are installed by `python -m tests.prepare --bench`; one that is not there is not measured.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.bench.figures import GAIA, SERVE_DEMO, Effort, Figure, environment_with, medians, run
from tests.prepare.installing import InstallError, node_and_npm
from tests.prepare.peers import NPM_HOLDERS, NPM_SERVERS, NPM_URL_CLIENTS
from tests.processes import pids_with
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.bench.figures import Ended

EVERYTHING = NPM_SERVERS.folder / "node_modules" / "@modelcontextprotocol" / "server-everything" / "dist" / "index.js"
TEXT = "held"
# A loop that a person may type, and more servers than a person has.
LOOP, HELD_AT_ONCE = 100, 49
# The memory after the first of many calls, and after all of them, as multiples of an effort's calls.
FIRST, ALL = 2, 33
# The file of servers that `environment_with` writes. In the words of a program it is its path.
FILE = "mcp_servers.json"


class Holder(NamedTuple):
    """A command line whose daemon holds a server: the words that start the server, call it, and end the daemon."""

    name: str
    program: Sequence[str]
    hold: Sequence[str]
    call: Sequence[str]
    end: Sequence[str]
    # What the entry of the server has beside its command.
    entry: Mapping[str, str] = {}


class Home(NamedTuple):
    """A command line with a configuration of its own."""

    holder: Holder
    folder: Path
    environment: dict[str, str]

    @property
    def mark(self) -> str:
        """What only its processes have in their environment."""
        return f"HOME={self.folder}"

    def run(self, words: Sequence[str]) -> Ended:
        """Run the program with some words."""
        own = [word.replace(FILE, str(self.folder / FILE)) for word in words]
        return run([*self.holder.program, *own], self.environment)

    def held(self) -> list[int]:
        """The servers that run. A daemon may have the path of its server among its arguments."""
        return [pid for pid, words in pids_with(self.mark).items() if words.split()[1:2] == [str(EVERYTHING)]]


def keeper(effort: Effort, folder: Path) -> list[Figure]:
    """What a call of a held server takes, of which a part is the keeper's, and what it takes to hold many."""
    demo = {"command": SERVE_DEMO[0], "args": SERVE_DEMO[1:]}
    environment = environment_with(folder / "held", {"demo": demo})
    many = [f"demo@{number}" for number in range(min(effort.servers, HELD_AT_ONCE))]
    call, start = [GAIA, "mcp", "call", "demo", "greet", "name=Ada"], [sys.executable, "-c", "pass"]
    tab = [GAIA, "complete", "zsh", "--", "mcp", "prompt", "demo", "introduce", "language="]
    loop = f"for i in $(seq {min(effort.calls, LOOP)}); do {shlex.join(call)} >/dev/null || exit; done"
    try:
        run([GAIA, "mcp", "up", "demo"], environment)
        run(call, environment)
        process = int(json.loads(run([GAIA, "mcp", "ps", "--json"], environment).stdout)["keeper"]["pid"])
        base, warm, completed = medians(
            effort.commands, *(lambda line=line: run(line, environment).seconds for line in (start, call, tab))
        )  # type: ignore[misc]
        before = busy_seconds(process)
        repetitions = max(1, effort.calls // 10)
        ours = least = 0.0
        for _ in range(repetitions):
            ours += run(call, environment).busy_seconds
            least += run(start, environment).busy_seconds
        theirs = busy_seconds(process) - before
        looped = run(["sh", "-c", loop], environment).seconds
        grown = []
        for number in (effort.calls * FIRST, effort.calls * (ALL - FIRST)):
            lines = folder / "calls.jsonl"
            lines.write_text((json.dumps({"tool": "greet", "arguments": {"name": "Ada"}}) + "\n") * number)
            run([GAIA, "mcp", "call", "demo", "--batch", str(lines)], environment)
            grown.append(resident_bytes(process) / 1e6)
        run([GAIA, "mcp", "up", *many], environment)
        memory = resident_bytes(process) / 1e6
    finally:
        run([GAIA, "mcp", "down", "--all"], environment)
    each = "{:.1f} + {:.1f} / {:.1f} ms".format(*(spent / repetitions * 1000 for spent in (ours, theirs, least)))
    return [
        Figure("gaia mcp call of a held server / python -c pass", warm / base, 3, remark=beside(warm, base)),
        Figure("processor time of it and of the keeper / of python -c pass", (ours + theirs) / least, 2, remark=each),
        Figure("TAB of values of a held server / python -c pass", completed / base, 4, remark=beside(completed, base)),
        Figure(f"{min(effort.calls, LOOP)} calls of a held server in a shell's loop", looped, 5, "s"),
        Figure(f"memory of a keeper of {len(many) + 1} servers", memory, 40, "MB"),
        Figure(
            f"memory of a keeper that {effort.calls * ALL:,} calls add",
            grown[1] - grown[0],
            2,
            "MB",
            remark=f"{grown[0]:.1f} MB after {effort.calls * FIRST:,}",
        ),
    ]


def beside(one: float, other: float) -> str:
    """Two times, in milliseconds."""
    return f"{one * 1000:.1f} / {other * 1000:.1f} ms"


def busy_seconds(process: int) -> float:
    """The processor time of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(process: int) -> int:
    """The memory of a process."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def calls(effort: Effort) -> list[Figure]:
    """A warm call with each command line that is there, in turns, each with a server of its own."""
    try:
        node, _ = node_and_npm()
    except InstallError:
        return []
    others = [holder for holder in _others(node) if Path(holder.program[-1]).exists()]
    if not (others and EVERYTHING.exists()):
        return []
    entry = {"command": node, "args": [str(EVERYTHING), "stdio"]}
    # Sockets lie in it: their paths have to be short.
    with tempfile.TemporaryDirectory(prefix="held-") as name:
        homes = []
        for number, holder in enumerate((_ours(), *others)):
            folder = Path(name) / str(number)
            environment = environment_with(folder, {"every": {**entry, **holder.entry}})
            # Some daemons are started by a bare `node`.
            environment["PATH"] = f"{Path(node).parent}{os.pathsep}{environment['PATH']}"
            homes.append(Home(holder, folder, environment))
        try:
            ours, *theirs = _medians(effort, homes)
        finally:
            for home in homes:
                _end(home)
    return [
        Figure(
            f"gaia mcp call of a held server / a warm call of {holder.name}",
            ours / took,
            # Of the fastest of them.
            1 / 3,
            remark=f"{ours * 1000:.0f} / {took * 1000:.0f} ms",
        )
        for holder, took in zip(others, theirs, strict=True)
    ]


def _ours() -> Holder:
    call = ["call", "every", "echo", f"message={TEXT}"]
    return Holder("gaia", [GAIA, "mcp"], ["up", "every"], call, ["down", "--all"])


def _others(node: str) -> list[Holder]:
    """Each with the commands of its own manual."""
    mcporter, mcpc, mcpdo = (
        [node, str(peer.folder / "node_modules" / ".bin" / name)]
        for peer, name in ((NPM_HOLDERS, "mcporter"), (NPM_HOLDERS, "mcpc"), (NPM_URL_CLIENTS, "mcpdo"))
    )
    file = ["--config", FILE]
    return [
        Holder(
            "mcporter",
            mcporter,
            hold=[*file, "daemon", "start"],
            call=[*file, "call", "every.echo", f"message={TEXT}"],
            end=[*file, "daemon", "stop"],
            entry={"lifecycle": "keep-alive"},
        ),
        Holder(
            "mcpc",
            mcpc,
            hold=["connect", f"{FILE}:every", "@every"],
            call=["@every", "tools-call", "echo", f"message:={TEXT}"],
            end=["@every", "close"],
        ),
        Holder(
            "mcpdo",
            mcpdo,
            hold=[*file, "connect", "every"],
            call=["@every", "tools/call", "echo", f"message:={TEXT}"],
            end=["daemon", "stop"],
        ),
    ]


def _medians(effort: Effort, homes: Sequence[Home]) -> list[float]:
    """The seconds that a call takes in each home, by a server that was there before the first one."""
    for home in homes:
        home.run(home.holder.hold)
        # The first call may start what is started on demand.
        if TEXT.encode() not in home.run(home.holder.call).stdout:
            raise SystemExit(f"{home.holder.name} does not print what the tool returns")
    before = [home.held() for home in homes]
    found = medians(effort.commands, *(lambda home=home: home.run(home.holder.call).seconds for home in homes))  # type: ignore[misc]
    for home, held in zip(homes, before, strict=True):
        if len(held) != 1 or home.held() != held:
            raise SystemExit(f"{home.holder.name} has not held its server: {held}, then {home.held()}")
    return found


def _end(home: Home) -> None:
    """End a daemon by its own command, and by its id if that does not end it."""
    if home.holder.end:
        with suppress(SystemExit):  # It may not have started.
            home.run(home.holder.end)
    with suppress(AssertionError):
        wait_until(lambda: not pids_with(home.mark))
    for pid, words in pids_with(home.mark).items():
        print(f"{home.holder.name} has left running: {words}", file=sys.stderr)
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
