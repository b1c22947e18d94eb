"""Ctrl-C, SIGTERM, closed pipes: whenever they come, the server is stopped and the exit code tells."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import BIN, entry_of
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Gaia


def noted(path: Path, word: str) -> Callable[[], bool]:
    return lambda: path.exists() and word in path.read_text()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
@pytest.mark.parametrize(("server", "seen"), [("hangs-at-start", "server/discover"), ("hangs-in-call", "tools/call")])
def test_a_signal_stops_the_server_first(gaia: Gaia, number: int, code: int, server: str, seen: str) -> None:
    """Ours: at every stage."""
    notes = gaia.cwd / "notes"
    gaia.write({"x": entry_of(server, env={"NOTES": str(notes)})})
    process = gaia.popen("call", "x", "echo")
    wait_until(noted(notes, seen))

    process.send_signal(number)

    out, err = process.communicate(timeout=10)
    assert process.returncode == code
    assert out == b""
    assert b"Traceback" not in err


@pytest.mark.parametrize("command", [("list", "--check"), ("tools",), ("test-client", "--all")])
def test_a_signal_stops_all_servers_that_run_at_once(gaia: Gaia, command: tuple[str, ...]) -> None:
    """Ours."""
    notes = gaia.cwd / "notes"
    gaia.write({name: entry_of("hangs-at-start", env={"NOTES": str(notes)}) for name in ("a", "b", "c")})
    process = gaia.popen(*command)
    wait_until(lambda: notes.exists() and notes.read_text().count("server/discover") == 3)

    process.send_signal(signal.SIGINT)

    process.communicate(timeout=10)
    assert process.returncode == 130


def test_a_second_signal_does_not_leave_a_stubborn_server(gaia: Gaia) -> None:
    """Ours: no more patience, but nothing left behind either."""
    notes = gaia.cwd / "notes"
    gaia.write({"x": entry_of("ignores-sigterm", env={"NOTES": str(notes)})})
    process = gaia.popen("call", "x", "hang")
    wait_until(noted(notes, "tools/"))

    for _ in range(3):
        process.send_signal(signal.SIGINT)
        select.select([], [], [], 0.05)

    process.communicate(timeout=10)
    assert process.returncode in (0, 7, 130)


def test_a_reader_that_goes_away_is_no_error(demo: Gaia) -> None:
    """Ours: `| head` is not an error."""
    demo.write({"huge": entry_of("huge-result", "3"), "many": entry_of("many-pages")})
    for command in ("mcp call huge echo", "mcp tools many", "mcp list"):
        ran = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {BIN}/gaia {command} | head -c 10 >/dev/null; echo ${{PIPESTATUS[0]}}"],
            capture_output=True,
            cwd=demo.cwd,
            env=demo.environ,
            timeout=30,
            check=True,
        )
        assert (ran.stdout, ran.stderr) == (b"0\n", b""), command


def test_closed_standard_streams_do_no_harm(demo: Gaia) -> None:
    """Ours, bad input: a closed stdout, stdin or stderr."""
    for closed in (">&-", "<&-", "2>&-", "<&- >&- 2>&-"):
        ran = subprocess.run(
            ["bash", "-c", f"{BIN}/gaia mcp call demo greet name=Ada {closed}"],
            capture_output=True,
            cwd=demo.cwd,
            env=demo.environ,
            timeout=30,
            check=False,
        )
        assert ran.returncode == 0, (closed, ran)
        assert ran.stderr == b""


def test_a_full_disk_behind_stdout_is_an_error(demo: Gaia) -> None:
    """Ours, bad input: what could not be written must not look like success."""
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        process = demo.popen("call", "demo", "greet", "name=Ada", stdout=full)
        _, err = process.communicate(timeout=30)

    assert process.returncode == 1
    assert err.decode().splitlines()[0] == "error: No space left on device"
    assert b"bug of ours" not in err


def run_on_terminal(gaia: Gaia, *arguments: str, typed: bytes = b"", after: bytes = b"") -> tuple[str, int]:
    """Run with a terminal as stdin, stdout and stderr; type something once `after` has been printed."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(gaia.cwd)
        os.execve(BIN / "gaia", ["gaia", "mcp", *arguments], {**gaia.environ, "TERM": "xterm"})
    seen = b""
    pending = typed
    while True:
        ready, _, _ = select.select([terminal], [], [], 15)
        assert ready, seen
        try:
            data = os.read(terminal, 4096)
        except OSError:  # the terminal's other side has been closed
            break
        if not data:
            break
        seen += data
        if pending and after in seen:
            os.write(terminal, pending)
            pending = b""
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return seen.decode(), os.waitstatus_to_exitcode(status)


def test_a_question_is_asked_on_a_terminal(gaia: Gaia) -> None:
    """Elicitation in both eras: asked, answered, and the answer reaches the tool."""
    for name in ("good-handshake", "good-stateless"):
        gaia.use(name)

        seen, code = run_on_terminal(gaia, "call", name, "ask", typed=b"y\nOslo\n", after=b"Answer?")

        assert code == 0, seen
        assert "accept" in seen
        assert "Oslo" in seen


def test_a_question_may_be_refused(gaia: Gaia) -> None:
    """Elicitation: no is an answer."""
    gaia.use("good-handshake")

    seen, code = run_on_terminal(gaia, "call", "good-handshake", "ask", typed=b"n\n", after=b"Answer?")

    assert code == 0
    assert "decline" in seen


def test_ctrl_c_at_a_question_stops_the_server(gaia: Gaia) -> None:
    """Ours."""
    gaia.use("good-handshake")

    _, code = run_on_terminal(gaia, "call", "good-handshake", "ask", typed=b"\x03", after=b"Answer?")

    assert code == 130


def test_progress_is_shown_on_a_terminal(demo: Gaia) -> None:
    """Ours: for calls that take long."""
    seen, code = run_on_terminal(demo, "call", "demo", "countdown", "steps=4", "seconds=2")

    assert code == 0
    assert "to go" in seen
    assert "counted down from 4\r\n" in seen


def test_text_is_cleaned_for_a_terminal(gaia: Gaia) -> None:
    """Ours: no control character of a server's reaches the terminal."""
    gaia.use("good-handshake")

    seen, _ = run_on_terminal(gaia, "call", "good-handshake", "echo", "text=a\x1b[2Jb")

    assert "\x1b[2J" not in seen
    assert "\\x1b[2J" in seen or "\\u001b[2J" in seen
