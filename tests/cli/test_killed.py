"""SIGKILL of the command, at any moment, and of a server: no process is left, even one that ignores signals."""

from __future__ import annotations

import json
import os
import pty
import random
import signal
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import BIN, descendants, entry_of
from tests.forking.client import SERVER
from tests.processes import children, command_line
from tests.waiting import ENOUGH_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Gaia

# None of them ends with its input while it is asked this, and what each has noted by then.
RESISTING = [
    ("ignores-eof", "tools/call"),
    ("stubborn", "server/discover"),
    ("spins-in-call", "tools/call"),
    ("busy-with-others", "tools/call"),
]
KILLS = 8
# Writing this takes so long that a kill comes in between, if not at once then at one of so many writers.
LONG = "x" * 8_000_000
MOST_WRITERS = 60


def noted(path: Path, word: str, times: int = 1) -> Callable[[], bool]:
    return lambda: path.exists() and path.read_text().count(word) >= times


def use(gaia: Gaia, server: str) -> Path:
    """Configure a server as `x`; the file that it notes in what it has been asked."""
    notes = gaia.cwd / "notes"
    gaia.write({"x": entry_of(server, env={"NOTES": str(notes)})})
    return notes


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def nothing_runs() -> bool:
    """Whether no child of this process but the fork server runs: whatever a command leaves becomes one."""
    return all(str(SERVER) in words for words in filter(None, map(command_line, children())))


@pytest.mark.parametrize(("server", "seen"), RESISTING)
def test_a_killed_command_leaves_no_server(gaia: Gaia, server: str, seen: str) -> None:
    """Ours: neither during a call nor at any moment before; a child of the server does not survive either."""
    notes = use(gaia, server)
    began = time.monotonic()
    process = gaia.popen("call", "x", "echo")
    wait_until(noted(notes, seen), ENOUGH_SECONDS)
    took = time.monotonic() - began
    kill(process)
    seed = random.randrange(1 << 32)
    moments = random.Random(seed)
    for _ in range(KILLS):
        process = gaia.popen("call", "x", "echo")
        try:
            process.wait(moments.uniform(0, took))
        except subprocess.TimeoutExpired:
            kill(process)

    wait_until(nothing_runs, ENOUGH_SECONDS)


@pytest.mark.parametrize("command", [("test-client", "--all"), ("tools",), ("list", "--check")])
def test_a_killed_command_leaves_no_server_of_many(gaia: Gaia, command: tuple[str, ...]) -> None:
    """Ours: one watcher for all."""
    notes = gaia.cwd / "notes"
    gaia.write({f"s{number}": entry_of("stubborn", env={"NOTES": str(notes)}) for number in range(6)})
    process = gaia.popen(*command)
    wait_until(noted(notes, "server/discover", 6), ENOUGH_SECONDS)

    kill(process)

    wait_until(nothing_runs, ENOUGH_SECONDS)


def test_a_killed_command_leaves_no_server_behind_a_server(gaia: Gaia) -> None:
    """Ours: the command in between is killed as well, and its own watcher ends what it has started."""
    notes = use(gaia, "stubborn")
    gaia.write({
        "x": entry_of("stubborn", env={"NOTES": str(notes)}),
        "between": {"command": str(BIN / "gaia"), "args": ["mcp", "record", "x", "--to", str(gaia.cwd / "file")],
                    "env": {"HOME": str(gaia.home)}},
    })  # fmt: skip
    process = gaia.popen("call", "between", "echo")
    wait_until(noted(notes, "server/discover"), ENOUGH_SECONDS)
    (between,) = [pid for pid, words in descendants().items() if "mcp record" in words]

    kill(process)
    os.kill(between, signal.SIGKILL)

    wait_until(nothing_runs, ENOUGH_SECONDS)


def test_a_command_whose_terminal_is_closed_leaves_no_server(gaia: Gaia) -> None:
    """Ours: the system sends SIGHUP, and nothing can be printed any more."""
    notes = use(gaia, "busy-with-others")
    ours, theirs = pty.openpty()
    streams = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
    command = gaia.popen("call", "x", "echo", env={"TERM": "xterm", **gaia.environ}, terminal=True, **streams)
    os.close(theirs)
    wait_until(noted(notes, "tools/call"), ENOUGH_SECONDS)

    os.close(ours)

    assert command.wait(ENOUGH_SECONDS) == 128 + signal.SIGHUP
    wait_until(nothing_runs, ENOUGH_SECONDS)


def test_a_stopped_command_continues_with_its_server(demo: Gaia) -> None:
    """Ours: a stopped command is not dead, so its watcher must wait; SIGKILL ends a stopped command too."""
    # Else all of its process group, this process too, gets a SIGHUP when one whose parent is in another group ends.
    group = {"process_group": 0}
    process = demo.popen("call", "demo", "countdown", "steps=2", "seconds=0.5", **group)
    wait_until(lambda: any("serve demo" in words for words in descendants().values()), ENOUGH_SECONDS)
    process.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)
    # Longer than the watcher waits after our death.
    time.sleep(2.5)
    process.send_signal(signal.SIGCONT)
    out, err = process.communicate(timeout=ENOUGH_SECONDS)
    assert (process.returncode, out, err) == (0, b"counted down from 2\n", b"")

    notes = use(demo, "busy-with-others")
    process = demo.popen("call", "x", "echo", **group)
    wait_until(noted(notes, "tools/call"), ENOUGH_SECONDS)
    process.send_signal(signal.SIGSTOP)
    kill(process)
    wait_until(nothing_runs, ENOUGH_SECONDS)


def test_a_server_killed_in_a_call_leaves_no_child(gaia: Gaia) -> None:
    """Ours: by the OOM killer, for example. The command reports it, and ends the server's children."""
    notes = use(gaia, "busy-with-others")
    process = gaia.popen("call", "x", "echo")
    wait_until(noted(notes, "tools/call"), ENOUGH_SECONDS)
    server = int(next(line for line in notes.read_text().splitlines() if line.startswith("pid ")).split()[1])

    os.kill(server, signal.SIGKILL)

    _, err = process.communicate(timeout=ENOUGH_SECONDS)
    assert process.returncode == 4
    assert b"SIGKILL" in err
    wait_until(nothing_runs, ENOUGH_SECONDS)


def temporary_files(gaia: Gaia) -> list[str]:
    return [name for name in os.listdir(gaia.config.parent) if name.endswith(".tmp")]  # noqa: PTH208


def test_killed_writers_leave_a_complete_file(gaia: Gaia) -> None:
    """Ours: every entry reported as saved is in it, and the next writer removes temporary files."""
    gaia.config.parent.mkdir()
    gaia.config.write_text(json.dumps({"mcpServers": {}, "notes": LONG}))
    saved = set()
    left = number = 0
    while number < KILLS or (not left and number < MOST_WRITERS):
        process = gaia.popen("add", f"s{number}", "--no-check", "--", "node", "server.js", stdin=subprocess.DEVNULL)
        before = set(temporary_files(gaia))
        while process.poll() is None and set(temporary_files(gaia)) <= before:
            time.sleep(0.0005)
        if number % 2:
            time.sleep(random.uniform(0, 0.1))
        process.kill()
        process.communicate()
        left += len(temporary_files(gaia)) > 0
        if process.returncode == 0:
            saved.add(f"s{number}")
        assert len(temporary_files(gaia)) <= 1
        number += 1

    assert left
    assert gaia("add", "last", "--no-check", "--", "node", "server.js").code == 0

    assert os.listdir(gaia.config.parent) == [gaia.config.name]  # noqa: PTH208
    written = json.loads(gaia.config.read_text())
    assert written["notes"] == LONG
    assert {*saved, "last"} <= {*written["mcpServers"]}
