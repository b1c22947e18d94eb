"""SIGINT and SIGTERM at random moments of every command, whatever the server or the file: each ends soon, in order."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.fuzz.children import adopt_orphans, ends_within, reap_rest, status_of
from tests.fuzz.oracles import Fault

BIN = Path(sys.executable).parent
SERVERS = Path(__file__).parents[1] / "servers"
# A command is let run at most so long before its signal comes.
LONGEST_RUN_SECONDS = 3.0
# What is promised, on a machine that does nothing else.
PROMISED_SECONDS = 1.0
CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}
# The exit codes of a command that has ended by itself.
OWN_CODES = range(10)
# The line of the installed script below which a traceback lies as long as `main` has not begun.
LOADING = "from gaia_mcp.cli.program import main"

HOSTILE = (
    "asks-without-end", "does-not-read", "endless-cursor", "floods-stderr", "floods-stdout", "garbage-answer",
    "hangs-at-start", "hangs-in-call", "hangs-in-list", "huge-result", "ignores-eof", "ignores-sigterm",
    "leaves-grandchild", "long-line", "many-pages", "pings-without-reading", "silent-on-probe", "slow-start",
    "stubborn",
)  # fmt: skip
# An alias that stands for nine others, thirteen times over, in a few hundred bytes.
BOMB = "a0: &a0 x\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 14))


class Row(NamedTuple):
    """A command, in a folder that `prepare` makes; `reads` says whether its output is read."""

    words: list[str]
    reads: bool = True

    def __str__(self) -> str:
        return f"{' '.join(self.words)}{'' if self.reads else ' (output not read)'}"


def rows() -> list[Row]:
    """Every command with a good server, and those that use a server with each hostile one."""
    good = [
        ["list"], ["list", "--check"], ["show", "good"], ["remove", "good"], ["edit", "good", "--request-timeout", "9"],
        ["enable", "good"], ["disable", "good"], ["add", "new", "--", sys.executable, str(SERVERS / "slow_start.py")],
        ["import", "pasted.json"], ["import", "bomb.yaml", "--dry-run"], ["import", "dashes.json", "--dry-run"],
        ["export", "good", "--to", "cursor"], ["export", "good", "--to", "bomb.yaml"], ["tools"], ["tools", "good"],
        ["search", "echo"], ["call", "good", "echo"], ["prompts", "offers"], ["prompt", "offers", "x"],
        ["resources", "offers"], ["read", "offers", "file:///a"], ["watch", "good"], ["guide", "good"],
        ["logs", "good", "--follow"], ["test-client", "--all"], ["lock", "good"], ["record", "good", "--to", "r.jsonl"],
        ["init", "agent.py"], ["serve", "demo"], ["serve", "costly.py"], ["completion", "bash"], ["trust"],
        ["call", "demo", "countdown", "seconds=30"], ["call", "costly", "f", "x=aaa"], ["test-client", "costly"],
    ]  # fmt: skip
    used = [["call", "{}", "echo"], ["tools", "{}"], ["test-client", "{}"], ["lock", "{}"], ["prompts", "{}"]]
    bad = [[word.format(name) for word in words] for name in HOSTILE for words in used]
    unread = [["call", "huge-result", "echo"], ["tools", "many-pages"], ["call", "floods-stdout", "echo"]]
    return [*map(Row, good + bad), *(Row(words, reads=False) for words in unread)]


COSTLY = """
from gaia_mcp import MCPAgent

DEFS = {"d0": {"type": "string"}}
for n in range(1, 34):
    DEFS[f"d{n}"] = {"allOf": [{"$ref": f"#/$defs/d{n - 1}"}, {"$ref": f"#/$defs/d{n - 1}"}]}
SCHEMA = {"type": "object", "properties": {"x": {"$ref": "#/$defs/d33"}}, "$defs": DEFS}


class Costly(MCPAgent):
    def get_mcp_tool_definitions(self):
        return [{"name": "f", "description": "f", "inputSchema": SCHEMA}]

    def execute_mcp_tool(self, tool_name, arguments):
        return "done"
"""


def prepare(folder: Path) -> dict[str, str]:
    """A home and a working folder with everything that the rows name. Returns the environment for them."""
    home, work = folder / "home", folder / "work"
    (home / ".gaia").mkdir(parents=True)
    work.mkdir()
    entries = {name: {"command": sys.executable, "args": [str(SERVERS / f"{name.replace('-', '_')}.py")]}
               for name in HOSTILE}  # fmt: skip
    entries["offers"] = {"command": sys.executable, "args": [str(SERVERS / "offers.py"), "2025-11-25"]}
    entries["good"] = {"command": sys.executable, "args": [str(SERVERS / "good_stateless.py")]}
    gaia = str(BIN / "gaia")
    entries["demo"] = {"command": gaia, "args": ["mcp", "serve", "demo"]}
    entries["costly"] = {"command": gaia, "args": ["mcp", "serve", str(work / "costly.py")]}
    (home / ".gaia" / "mcp_servers.json").write_text(json.dumps({"mcpServers": entries}))
    (work / "pasted.json").write_text(json.dumps({"mcpServers": {"p": {"command": "true"}}}))
    (work / "dashes.json").write_text(json.dumps({"mcpServers": {"d": {"command": "x", "args": ["-" * 20_000]}}}))
    (work / "bomb.yaml").write_text(BOMB)
    (work / "costly.py").write_text(COSTLY)
    return {"HOME": str(home), "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "LANG": "C.UTF-8"}


class Ended(NamedTuple):
    """How a command has ended: `seconds` after its signal, None if it had ended by itself before."""

    code: int
    seconds: float | None


def interrupted(row: Row, number: signal.Signals, after: float) -> Ended:
    """Run the command of a row, and send it a signal after so many seconds. Raises `Fault`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        environ = prepare(folder)
        said = folder / "stderr"
        output = subprocess.DEVNULL if row.reads else subprocess.PIPE
        with said.open("wb") as errors:
            child = subprocess.Popen([BIN / "gaia", "mcp", *row.words], stdin=subprocess.PIPE, stdout=output,
                                     stderr=errors, cwd=folder / "work", env=environ)  # fmt: skip
        try:
            if ends_within(child.pid, after):
                code, seconds = status_of(child.pid), None
            else:
                child.send_signal(number)
                began = time.monotonic()
                code = status_of(child.pid)
                seconds = time.monotonic() - began
            child.returncode = code
            reap_rest()
        finally:
            for pipe in (child.stdin, child.stdout):
                if pipe is not None:
                    pipe.close()
        stderr = said.read_text("utf-8", "replace")
    if seconds is not None:
        check_end(number, code, stderr)
    return Ended(code, seconds)


def check_end(number: signal.Signals, code: int, stderr: str) -> None:
    """How a command ends that gets this signal. Raises `Fault`."""
    if code not in (CODES[number], -number, *OWN_CODES):
        raise Fault(f"it ended with {code}: {stderr[-1500:]}")
    # Until `main` begins, Ctrl-C is Python's, which prints one of its own.
    too_early = LOADING in stderr and stderr.endswith("KeyboardInterrupt\n")
    if "Traceback" in stderr and "gaia_mcp" in stderr and not too_early:
        raise Fault(f"it printed a traceback: {stderr[-1500:]}")


def tried(count: int, seed: int, chosen: list[Row]) -> Iterator[tuple[Row, Ended | Fault]]:
    """Interrupt each row in turn, `count` times in all, at moments of its usual time."""
    random = Random(seed)
    adopt_orphans()
    usual: dict[Row, float] = {}
    for turn in range(count):
        row = chosen[turn % len(chosen)]
        number = random.choice((signal.SIGINT, signal.SIGTERM))
        after = random.random() * usual.get(str(row), LONGEST_RUN_SECONDS / 2)
        began = time.monotonic()
        try:
            ended = interrupted(row, number, after)
        except Fault as fault:
            yield row, Fault(f"{row}, {number.name} after {after:.3f} s: {fault}")
            continue
        if ended.seconds is None:
            usual[str(row)] = max(0.02, time.monotonic() - began)
        yield row, ended


def report(count: int, seed: int) -> int:
    """Interrupt every command, and print how long each took to end. Returns how many faults there were; that one takes
    longer than is promised is none, for the machine may be busy.
    """
    chosen = rows()
    Random(seed).shuffle(chosen)
    found, codes, seconds, late = 0, dict[int, int](), list[float](), 0
    for row, ended in tried(count, seed, chosen):
        if isinstance(ended, Fault):
            found += 1
            print(f"signals: {ended}", flush=True)
            continue
        codes[ended.code] = codes.get(ended.code, 0) + 1
        if ended.seconds is None:
            continue
        seconds.append(ended.seconds)
        if ended.seconds > PROMISED_SECONDS:
            late += 1
            print(f"signals: {row}: ended after {ended.seconds:.2f} s with {ended.code}", flush=True)
    print(f"signals: {count} commands, {len(seconds)} ended by a signal; exit codes {dict(sorted(codes.items()))}")
    if len(seconds) > 1:
        steps = statistics.quantiles(seconds, n=100)
        print(f"signals: seconds to the end: median {steps[49]:.3f}, 90 % {steps[89]:.3f}, 99 % {steps[98]:.3f}, "
              f"longest {max(seconds):.3f}; {late} took longer than {PROMISED_SECONDS:g} s")  # fmt: skip
    print(f"signals: {found} faults", flush=True)
    return found
