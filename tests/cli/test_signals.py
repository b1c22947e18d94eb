"""Ctrl-C, SIGTERM and closed pipes: whenever they come, the server is stopped and the exit code is right."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.conftest import BIN, entry_of, run_on_terminal
from tests.waiting import ENOUGH_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.conftest import Gaia


def noted(path: Path, word: str) -> Callable[[], bool]:
    return lambda: path.exists() and word in path.read_text()


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)],
)
@pytest.mark.parametrize(("server", "seen"), [("hangs-at-start", "server/discover"), ("hangs-in-call", "tools/call")])
def test_a_signal_stops_the_server_before_the_command_exits(
    gaia: Gaia, number: int, code: int, server: str, seen: str
) -> None:
    """Ours: while the server starts and during a call."""
    notes = gaia.cwd / "notes"
    gaia.write({"x": entry_of(server, env={"NOTES": str(notes)})})
    process = gaia.popen("call", "x", "echo")
    wait_until(noted(notes, seen))

    process.send_signal(number)

    out, err = process.communicate(timeout=ENOUGH_SECONDS)
    assert process.returncode == code
    assert out == b""
    assert b"Traceback" not in err


@pytest.mark.parametrize("names", ["abc", "a"])
@pytest.mark.parametrize("command", [("list", "--check"), ("tools",), ("test-client", "--all"), ("prompts",)])
def test_a_signal_stops_all_servers_that_run_at_once(gaia: Gaia, command: tuple[str, ...], names: str) -> None:
    """Ours: also a single one."""
    notes = gaia.cwd / "notes"
    gaia.write({name: entry_of("hangs-at-start", env={"NOTES": str(notes)}) for name in names})
    process = gaia.popen(*command)
    wait_until(lambda: notes.exists() and notes.read_text().count("server/discover") == len(names))

    process.send_signal(signal.SIGINT)

    process.communicate(timeout=ENOUGH_SECONDS)
    assert process.returncode == 130


def test_a_second_signal_does_not_leave_a_stubborn_server(gaia: Gaia) -> None:
    """Ours: it ends the waiting, not the cleaning up."""
    notes = gaia.cwd / "notes"
    gaia.write({"x": entry_of("ignores-sigterm", env={"NOTES": str(notes)})})
    process = gaia.popen("call", "x", "hang")
    wait_until(noted(notes, "tools/"))

    for _ in range(3):
        process.send_signal(signal.SIGINT)
        select.select([], [], [], 0.05)

    process.communicate(timeout=ENOUGH_SECONDS)
    assert process.returncode in (0, 7, 130)


@pytest.mark.parametrize("command", [("tools",), ("test-client", "--all")])
@pytest.mark.parametrize("numbers", [(signal.SIGINT, signal.SIGINT, signal.SIGTERM), (signal.SIGTERM, signal.SIGINT)])
def test_more_signals_leave_no_stubborn_server_running(
    gaia: Gaia, command: tuple[str, ...], numbers: tuple[int, ...]
) -> None:
    """Ours: more signals may follow; the first decides the exit code."""
    notes = gaia.cwd / "notes"
    gaia.write({f"s{number}": entry_of("stubborn", env={"NOTES": str(notes)}) for number in range(6)})
    process = gaia.popen(*command)
    wait_until(lambda: notes.exists() and notes.read_text().count("server/discover") == 6)

    for number in numbers:
        process.send_signal(number)
        select.select([], [], [], 0.1)

    _, err = process.communicate(timeout=ENOUGH_SECONDS)
    assert process.returncode == (130 if numbers[0] == signal.SIGINT else 143)
    assert b"Traceback" not in err


def test_after_a_ctrl_c_no_further_server_is_started(gaia: Gaia) -> None:
    """Ours: servers that wait for their turn must not start while the others are being stopped."""
    notes = gaia.cwd / "notes"
    gaia.write({f"s{number}": entry_of("hangs-at-start", env={"NOTES": str(notes)}) for number in range(24)})
    process = gaia.popen("tools")
    wait_until(lambda: notes.exists() and notes.read_text().count("server/discover") == 16)

    process.send_signal(signal.SIGINT)

    process.communicate(timeout=ENOUGH_SECONDS)
    assert process.returncode == 130
    assert notes.read_text().count("server/discover") == 16


def test_a_pipe_closed_by_its_reader_is_not_an_error(demo: Gaia) -> None:
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


def test_an_elicitation_is_answered_on_a_terminal(gaia: Gaia) -> None:
    """Spec, elicitation, in both eras: the answer reaches the tool."""
    for name in ("good-handshake", "good-stateless"):
        gaia.use(name)

        seen, code = run_on_terminal(gaia, "call", name, "ask", typed=b"y\nOslo\n", after=b"Answer?")

        assert code == 0, seen
        assert "accept" in seen
        assert "Oslo" in seen


def test_an_elicitation_may_be_declined(gaia: Gaia) -> None:
    """Spec, elicitation: `decline` is one of three actions."""
    gaia.use("good-handshake")

    seen, code = run_on_terminal(gaia, "call", "good-handshake", "ask", typed=b"n\n", after=b"Answer?")

    assert code == 0
    assert "decline" in seen


@pytest.mark.parametrize("server", ["good-handshake", "good-stateless"])
def test_ctrl_c_at_an_elicitation_stops_the_server(gaia: Gaia, server: str) -> None:
    """Ours: exit code 130, as a shell has it, and no process is left."""
    gaia.use(server)

    _, code = run_on_terminal(gaia, "call", server, "ask", typed=b"\x03", after=b"Answer?")

    assert code == 130


def test_progress_is_shown_on_a_terminal(demo: Gaia) -> None:
    """Ours: for calls that take long."""
    seen, code = run_on_terminal(demo, "call", "demo", "countdown", "steps=4", "seconds=2")

    assert code == 0
    assert "to go" in seen
    assert "counted down from 4\r\n" in seen


def test_control_characters_of_a_result_are_escaped_on_a_terminal(gaia: Gaia) -> None:
    """Ours: no control character of a server's reaches the terminal."""
    gaia.use("good-handshake")

    seen, _ = run_on_terminal(gaia, "call", "good-handshake", "echo", "text=a\x1b[2Jb")

    assert "\x1b[2J" not in seen
    assert "\\x1b[2J" in seen or "\\u001b[2J" in seen


def is_writing(process: subprocess.Popen[bytes]) -> bool:
    """Whether it is held up in writing to its standard output."""
    number, *arguments = (Path("/proc") / str(process.pid) / "syscall").read_text().split()
    return number in ("1", "64") and arguments[0] == "0x1"


def test_a_signal_ends_a_blocked_write(demo: Gaia) -> None:
    """Ours: a full pipe must not keep the program alive; a second signal is ignored for a while."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 1024)
    os.set_blocking(writer, True)
    process = demo.popen("list", stdout=writer)
    wait_until(lambda: is_writing(process))

    process.terminate()

    _, err = process.communicate(timeout=ENOUGH_SECONDS)
    assert (process.returncode, err) == (143, b"")
    os.close(reader)
    os.close(writer)


@pytest.mark.story
def test_a_signal_during_a_weakref_callback_is_not_lost(tmp_path: Path) -> None:
    """Ours: Python ignores an exception in such a callback, and imports use them."""
    program = (
        "import os, signal, sys, time, weakref\n"
        "from gaia_mcp.cli.signals import Terminated, listen_to_signals\n"
        "class Thing: pass\n"
        "listen_to_signals()\n"
        "def fall(_): os.kill(os.getpid(), int(sys.argv[1])); time.sleep(0)\n"
        "try:\n"
        "    thing = Thing()\n"
        "    reference = weakref.ref(thing, fall)\n"
        "    del thing\n"
        "    time.sleep(20)\n"
        "except (Terminated, KeyboardInterrupt) as caught:\n"
        "    print(type(caught).__name__)\n"
    )

    for number, name in ((signal.SIGTERM, "Terminated"), (signal.SIGINT, "KeyboardInterrupt")):
        words = [sys.executable, "-c", program, str(int(number))]
        done = subprocess.run(words, capture_output=True, text=True, timeout=10, check=False)
        assert (done.stdout, done.stderr) == (f"{name}\n", "")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("where", ["_watch_threads", "Engine.open"])
@pytest.mark.story
def test_a_signal_within_a_lock_of_python_is_no_bug(gaia: Gaia, where: str, number: int, code: int) -> None:
    """Ours: before a command and in it. Releasing the lock fails, with the signal as the context of its error."""
    gaia.use("hangs-at-start")
    program = (
        "import signal, sys\n"
        "from gaia_mcp.cli.program import main\n"
        "def trace(frame, event, _):\n"
        f"    if frame.f_code.co_qualname == {where!r}:\n"
        "        sys.settrace(None)\n"
        "        try:\n"
        f"            signal.raise_signal({int(number)})\n"
        "        finally:\n"
        "            raise RuntimeError('release unlocked lock')\n"
        "sys.argv = ['gaia', 'mcp', 'watch', 'hangs-at-start']\n"
        "sys.settrace(trace)\n"
        "main()\n"
    )

    words = [sys.executable, "-c", program]
    done = subprocess.run(words, env=gaia.environ, capture_output=True, timeout=ENOUGH_SECONDS, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (code, b"", b"")


@pytest.mark.parametrize(("number", "name"), [(signal.SIGTERM, "Terminated"), (signal.SIGINT, "KeyboardInterrupt")])
@pytest.mark.story
def test_a_signal_delivered_to_another_thread_reaches_the_main_thread(number: int, name: str) -> None:
    """Ours: a signal may arrive just before the main thread blocks. Here another thread receives it."""
    program = (
        "import signal, sys, threading\n"
        "from gaia_mcp.cli.signals import Terminated, listen_to_signals\n"
        "listen_to_signals()\n"
        "lock = threading.Lock()\n"
        "lock.acquire()\n"
        "def send(): signal.pthread_kill(threading.get_ident(), int(sys.argv[1]))\n"
        "threading.Timer(0.2, send).start()\n"
        "try:\n"
        "    lock.acquire()\n"
        "except (Terminated, KeyboardInterrupt) as caught:\n"
        "    print(type(caught).__name__)\n"
    )

    words = [sys.executable, "-c", program, str(int(number))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=10, check=False)

    assert (done.stdout, done.stderr) == (f"{name}\n", "")


@pytest.mark.story
def test_a_signal_to_a_forked_process_does_not_end_its_parent() -> None:
    """Ours: an agent may end its workers."""
    program = (
        "import os, signal, sys, time\n"
        "from gaia_mcp.cli.signals import listen_to_signals\n"
        "listen_to_signals()\n"
        "read, write = os.pipe()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os.write(write, b'.')\n"
        "    while True: time.sleep(60)\n"
        "os.read(read, 1)\n"
        "os.kill(child, signal.SIGTERM)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        # Longer than a signal may go unnoticed.
        "time.sleep(0.3)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=30, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"-15\n", b"")


@pytest.mark.story
def test_signal_handlers_of_an_agent_are_respected() -> None:
    """Ours: it may handle other signals, and replace one of our handlers."""
    program = (
        "import os, signal, threading\n"
        "from gaia_mcp.cli.signals import listen_to_signals\n"
        "listen_to_signals()\n"
        "heard = []\n"
        "for number in (signal.SIGUSR1, signal.SIGTERM):\n"
        "    signal.signal(number, lambda number, _: heard.append(number))\n"
        "    os.kill(os.getpid(), number)\n"
        "threading.Event().wait(0.3)\n"
        "print(len(heard))\n"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=10, check=False)

    assert (done.stdout, done.stderr) == ("2\n", "")
