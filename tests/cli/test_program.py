"""The entry point: the names of the program, its streams, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.program import _watch_threads
from tests.cli.conftest import BIN

if TYPE_CHECKING:
    from tests.cli.conftest import Gaia


@pytest.mark.parametrize("named", ["typing", "gaia_mcp.cli.signals", "threading"])
def test_ctrl_c_during_imports_prints_nothing(gaia: Gaia, named: str) -> None:
    """Ours: also while the module with the signal handlers is loaded."""
    code = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"named = ('import', {named!r})\n"
        "sys.addaudithook(lambda event, given: (event, *given[:1]) == named and os.kill(os.getpid(), signal.SIGINT))\n"
        "from gaia_mcp.cli.program import main\n"
        "main()\n"
    )
    ran = subprocess.run([sys.executable, "-c", code, "list"], capture_output=True, env=gaia.environ, timeout=30)

    # A shell shows 130 for it, as for the program's own exit after a Ctrl-C.
    assert (ran.returncode, ran.stdout, ran.stderr) == (-signal.SIGINT, b"", b"")


CLOSED = pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])


def run_in_shell(gaia: Gaia, command: str) -> subprocess.CompletedProcess[bytes]:
    """`gaia mcp …` with redirections. The outer streams are pipes, so that a test would see what goes astray."""
    return subprocess.run(
        ["bash", "-c", f"{BIN}/gaia mcp {command}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        cwd=gaia.cwd,
        env=gaia.environ,
        timeout=30,
        check=False,
    )


@CLOSED
def test_only_a_closed_stdout_is_an_error(demo: Gaia, closed: str) -> None:
    """Ours, bad input: a closed stdin or stderr. A closed stdout takes no answer, which is an error."""
    ran = run_in_shell(demo, f"call demo greet name=Ada {closed}")

    is_lost = ">&-" in closed.split()
    assert ran.returncode == (1 if is_lost else 0)
    assert bool(ran.stderr) is (is_lost and "2>&-" not in closed)


@pytest.mark.parametrize("arguments", ["--args -", "name=@-"])
def test_a_closed_stdin_is_read_as_empty(demo: Gaia, arguments: str) -> None:
    """Ours, bad input: the missing arguments are reported, not the stream."""
    ran = run_in_shell(demo, f"call demo greet {arguments} <&-")

    assert ran.returncode in (2, 7)
    assert len(ran.stderr.splitlines()) == 2


@CLOSED
def test_serve_with_a_closed_stream_exits_silently(gaia: Gaia, closed: str) -> None:
    """Ours, bad input: without stdin or stdout there is no client."""
    ran = run_in_shell(gaia, f"serve demo {closed}")

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"", b"")


def test_a_closed_stderr_does_not_redirect_the_log_to_stdout(gaia: Gaia) -> None:
    """Ours, bad input: `--debug` shows it on stderr or nowhere."""
    gaia.use("floods-stderr")

    ran = run_in_shell(gaia, "call floods-stderr echo --debug 2>&-")

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"{}\n", b"")


@pytest.mark.parametrize(
    ("command", "code", "problem"),
    [
        (("call", "demo", "greet", "name=Ada"), 1, "standard output cannot be written: No space left on device"),
        (("list",), 1, "standard output cannot be written: No space left on device"),
        (("list", "--json"), 1, "standard output cannot be written: No space left on device"),
        (("--help",), 1, "standard output cannot be written: No space left on device"),
        (("list", "--help"), 1, "standard output cannot be written: No space left on device"),
        (("remove", "nobody", "--json"), 3, "no server 'nobody'"),
        (("lsit", "--json"), 2, "no such command 'lsit'"),
    ],
)
def test_a_full_disk_behind_stdout_is_an_error(demo: Gaia, command: tuple[str, ...], code: int, problem: str) -> None:
    """Ours, bad input: what could not be written must not look like success, and what failed before counts first."""
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        process = demo.popen(*command, stdout=full)
        _, err = process.communicate(timeout=30)

    assert process.returncode == code
    error, _ = err.decode().splitlines()
    assert error.lower().startswith(f"error: {problem}".lower())


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("call", "demo", "greet", "name=Ada"), 0),
        (("call", "demo", "fail"), 9),
        (("list", "--json"), 0),
        (("remove", "nobody", "--json"), 3),
        (("test-client", "gone"), 4),
        (("--help",), 0),
    ],
)
def test_a_closed_pipe_does_not_change_the_exit_code(demo: Gaia, command: tuple[str, ...], code: int) -> None:
    """Ours: `| true` is not an error, and hides no error."""
    servers = json.loads(demo.config.read_text())["mcpServers"]
    demo.write({**servers, "gone": {"command": "no-such-program-anywhere"}})
    reading, writing = os.pipe()
    os.close(reading)
    try:
        process = demo.popen(*command, stdout=writing)
    finally:
        os.close(writing)

    _, err = process.communicate(timeout=30)

    assert process.returncode == code
    assert len(err.splitlines()) == (2 if code else 0)


def test_the_program_starts_under_each_of_its_names(demo: Gaia) -> None:
    """Ours: AMD's `gaia` may replace ours, and `python -m` works without a script."""
    for program in ([BIN / "gaia", "mcp"], [BIN / "gmcp"], [BIN / "gmcp", "mcp"], [sys.executable, "-m", "gaia_mcp"]):
        ran = subprocess.run([*program, "list"], capture_output=True, cwd=demo.cwd, env=demo.environ, check=True)
        assert ran.stdout.startswith(b"demo ")


def test_a_thread_that_dies_of_a_shortage_ends_the_program(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Ours: others may wait for it. The first one is reported; any other exception ends only its thread."""
    received: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: received.append(number))
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)  # Restored at the end.
    dead: list[BaseException] = []

    def die(error: Exception) -> None:
        raise error

    try:
        _watch_threads(dead)
        for error in (KeyError("ours"), MemoryError(), OSError(24, os.strerror(24))):
            thread = threading.Thread(target=die, args=(error,))
            thread.start()
            thread.join()
    finally:
        signal.signal(signal.SIGTERM, before)

    assert [type(each) for each in dead] == [MemoryError]
    assert received == [signal.SIGTERM]
    printed = capfd.readouterr().err
    assert ("KeyError: 'ours'" in printed, printed.count("error: ")) == (True, 1)
    assert "error: out of memory\nhint: end other programs" in printed
