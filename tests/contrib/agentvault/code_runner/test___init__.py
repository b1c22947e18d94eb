"""The built-in agent `code-runner`: real code, in real processes."""

from __future__ import annotations

import ctypes
import os
import re
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gaia_mcp import MCPClient
from gaia_mcp.asking import Call
from gaia_mcp.contrib.agentvault.code_runner import CodeRunner, Limits, is_cut_off, run
from gaia_mcp.core.errors import CancelledError
from gaia_mcp.testing import client_for
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.story

# Long enough for every run that is to end by itself, on a machine that is busy.
LIMITS = Limits(PATIENCE_SECONDS)


def running_in(folder: Path) -> list[str]:
    """The processes that work below a folder, which may be gone."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if str((process / "cwd").readlink()).startswith(str(folder)):
                found.append(process.name)
    return found


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the runs have their folders. Of a run that has ended there is no folder and no process."""
    # Python looks up TMPDIR once, and may have done so.
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    yield tmp_path
    wait_until(lambda: not [*tmp_path.iterdir(), *running_in(tmp_path)])


def test_the_output_of_the_code_is_the_result() -> None:
    """Spec, C5."""
    with client_for(CodeRunner(PATIENCE_SECONDS)) as client:
        assert [tool.name for tool in client.list_tools()] == ["code.runPython"]
        code = "import sys\nprint('ü', 2 + 2)\nprint('oh', file=sys.stderr)\nsys.exit(3)"
        result = client.call("code.runPython", {"code": code})

    assert result["structuredContent"] == {"stdout": "ü 4\n", "stderr": "oh\n", "exit_status": 3}
    assert "isError" not in result or result["isError"] is False


@pytest.mark.parametrize(
    ("code", "status", "stderr"),
    [
        ("1 / 0", 1, 'File "<code>", line 1, in <module>\n    1 / 0'),
        ("def f(:", 1, "SyntaxError"),
        ("import os; os.kill(os.getpid(), 9)", 137, ""),
        ("raise KeyboardInterrupt", 1, "KeyboardInterrupt"),
        ("x = bytearray(2 << 30)", 1, "MemoryError"),
        ("open('/dev/full', 'w').write('x' * 10000)", 1, "No space left on device"),
        ("open('big', 'wb').write(bytes(65 << 20))", 1, "File too large"),
        ("input()", 1, "EOFError"),
    ],
)
def test_failing_code_has_an_exit_status_and_stderr(code: str, status: int, stderr: str) -> None:
    """Ours: as Python itself would."""
    ran = run(code, LIMITS, Call())

    assert (ran.exit_status, ran.problem) == (status, "")
    assert stderr in ran.stderr
    assert "confined.py" not in ran.stderr


def test_code_has_an_empty_folder_and_no_variable_of_ours(monkeypatch: pytest.MonkeyPatch, folders: Path) -> None:
    """Spec, C5: a key of the server's user is not for the code; nor is what an earlier run has left."""
    monkeypatch.setenv("SECRET_TOKEN", "hunter2")
    code = "import os\nprint(sorted(os.environ), os.listdir('.'), os.getcwd())\nopen('left', 'w').write('x')"

    first, second = (run(code, LIMITS, Call()).stdout for _ in range(2))

    assert "SECRET_TOKEN" not in first
    assert f" [] {folders}/gaia-mcp-code-" in first
    assert f" [] {folders}/gaia-mcp-code-" in second


CATCHING = "import signal, time\nfor n in {*signal.valid_signals()} - {9, 19}: signal.signal(n, signal.SIG_IGN)"
# What does not end by itself, or takes too much; and why it is ended.
ENDED = {
    "sleeps": ("import time\nprint('begun')\ntime.sleep(600)", "it timed out after 1 s"),
    "is busy": ("while True: pass", "it timed out after 1 s"),
    "catches every signal": (f"{CATCHING}\nwhile True: time.sleep(1)", "it timed out after 1 s"),
    "floods": ("while True: print('x' * 10000)", "it wrote more than 1024 KiB"),
    "floods its errors": ("import os\nwhile True: os.write(2, bytes(10000))", "it wrote more than 1024 KiB"),
    "forks": ("import os\nwhile True: os.fork()", "it started more than 64 processes"),
    "fills its folder": (
        "for n in range(10 ** 6): open(str(n), 'wb').write(bytes(20 << 20))",
        "it wrote files of more than 64 MiB",
    ),
    "deletes files that it holds open": (
        "import os\nh = []\nwhile True: h.append(open('x', 'wb', 0)); os.unlink('x'); h[-1].write(bytes(8 << 20))",
        "it wrote files of more than 64 MiB",
    ),
    "makes files in memory": (
        "import os\nwhile True: os.write(os.memfd_create('x'), bytes(8 << 20))",
        "it wrote files of more than 64 MiB",
    ),
    "nests folders": (
        "import os, time\nfor _ in range(3000): os.mkdir('a'); os.chdir('a')\ntime.sleep(600)",
        "it made folders too deep to be counted",
    ),
    "makes files": ("for n in range(10 ** 7): open(str(n), 'wb')", "it made more than 10000 files"),
}


@pytest.mark.parametrize("what", ENDED)
def test_code_beyond_a_limit_is_ended_with_its_child_processes(what: str, folders: Path) -> None:
    """Spec, C5: limits on time, memory, processes and output."""
    code, reason = ENDED[what]
    seconds = 1 if "timed out" in reason else PATIENCE_SECONDS

    ran = run(f"# {what}\n{code}", LIMITS._replace(seconds=seconds), Call())

    assert (ran.exit_status, ran.problem) == (None, reason)
    assert not running_in(folders)


@pytest.mark.parametrize("isolated", [True, False])
@pytest.mark.parametrize("ends", ["", "\nimport time\ntime.sleep(600)"])
def test_child_processes_left_behind_are_ended(folders: Path, isolated: bool, ends: str) -> None:
    """Spec, C5: also a process in a session of its own, without a variable of ours; where the system has no namespaces
    too, and after a run that is ended.
    """
    code = "import os\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n"
    code += f"        os.execve('/bin/sleep', ['sleep', '98765.4'], {{}})\n    os._exit(0){ends}"

    ran = run(code, LIMITS._replace(isolated=isolated, seconds=1 if ends else LIMITS.seconds), Call())

    assert ran.exit_status == (None if ends else 0)
    assert not running_in(folders)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the parent is the test")
@pytest.mark.parametrize("isolated", [True, False])
def test_code_that_kills_its_parent_is_ended(folders: Path, isolated: bool) -> None:
    """Ours: the parent holds its processes together. In a namespace of its own, code cannot end the first process."""
    code = "import os\nos.kill(os.getppid(), 9)\nos.execve('/bin/sleep', ['sleep', '98765.4'], {})"

    ran = run(code, LIMITS._replace(isolated=isolated, seconds=1 if isolated else LIMITS.seconds), Call())

    survives = isolated and is_cut_off()
    assert (ran.exit_status, ran.problem) == ((None, "it timed out after 1 s") if survives else (137, ""))
    wait_until(lambda: not running_in(folders))


def test_the_folder_of_deeply_nested_folders_is_removed(folders: Path) -> None:
    """Ours: they are made faster than the limits are checked. The fixture waits for the end of the folder."""
    code = "import os\nfor _ in range(1500): os.mkdir('a'); os.chdir('a')\nos.chmod('.', 0)"

    run(code, LIMITS, Call())

    assert [*folders.iterdir()] == []


@pytest.mark.parametrize("isolated", [True, False])
def test_the_variables_and_descriptors_of_the_server_are_out_of_reach(isolated: bool) -> None:
    """Ours: through them code could answer in the server's name."""
    reading = f"import os\nopen('/proc/{os.getpid()}/environ').read()"
    writing = f"open('/proc/{os.getpid()}/fd/1', 'w')"

    ran = [run(code, LIMITS._replace(isolated=isolated), Call()) for code in (reading, writing)]

    assert ["PermissionError" in each.stderr for each in ran] == [True, True]
    # For a server that root does not run, this decides: PR_GET_DUMPABLE.
    assert ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 0


def test_a_cancelled_run_is_ended(folders: Path) -> None:
    """Ours: the client has gone."""
    with client_for(CodeRunner(PATIENCE_SECONDS)) as client:
        deadline = client.deadline()

        def cancel() -> None:
            wait_until(lambda: running_in(folders))
            deadline.cancel()

        threading.Thread(target=cancel).start()
        with pytest.raises(CancelledError):
            client.call("code.runPython", {"code": "import time\ntime.sleep(600)"}, deadline)


def test_code_has_no_network_where_the_system_supports_that() -> None:
    """Spec, C5: and the server says which of both it is."""
    reached = run("import socket; print([name for _, name in socket.if_nameindex()])\n"
                  "socket.create_connection(('127.0.0.1', 9))", LIMITS, Call())  # fmt: skip
    said = CodeRunner().get_mcp_server_info()["instructions"]

    expected = "has no network" if is_cut_off() else "can use the network"
    assert expected in said
    assert "no sandbox" in said
    assert ("Network is unreachable" in reached.stderr) is is_cut_off()


@pytest.mark.parametrize(
    "made",
    [
        "socket.socket(socket.AF_UNIX)",
        "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)",
        "socket.socket(socket.AF_VSOCK)",
    ],
)
def test_code_without_network_has_no_sockets_of_the_system(made: str) -> None:
    """Ours: a Unix socket is a file, behind which Docker or a keyring may be. Pairs of the process itself remain."""
    pair = "import asyncio, socket\nprint(asyncio.run(asyncio.sleep(0, 'slept')))\n"

    ran = run(pair + made, LIMITS, Call())

    assert ran.stdout == "slept\n"
    assert ("PermissionError" in ran.stderr) is is_cut_off()


def test_an_error_result_contains_the_shortened_output() -> None:
    """Ours: a model reads it, and pays for each word."""
    with client_for(CodeRunner(PATIENCE_SECONDS)) as client:
        endless = "while True: print('y' * 10000, end='')"
        (block,) = client.call_tool("code.runPython", {"code": endless})["content"]

    assert re.match(r"the code was ended: it wrote more than 1024 KiB\nstdout:\ny+…y+", block["text"])
    assert len(block["text"]) < 2200


def test_an_invalid_timeout_is_refused() -> None:
    """Ours: without a limit, code that never ends would run for ever."""
    cases = [("5", TypeError), (True, TypeError), (0, ValueError), (601, ValueError)]

    accepted = []
    for timeout, error in cases:
        with suppress(error):
            CodeRunner(timeout)
            accepted.append((timeout, error))

    assert not accepted


def test_a_long_program_is_run_whole() -> None:
    """Ours: 5 MB of code is more than a pipe or a command line takes."""
    assert run(f"x = '{'z' * (5 << 20)}'\nprint(len(x))", LIMITS, Call()).stdout == f"{5 << 20}\n"


def test_it_is_served_by_its_name() -> None:
    """Spec, C5: as a user types it."""
    words = ["-m", "gaia_mcp", "mcp", "serve", "code-runner", "--kwarg", "timeout=30"]
    with MCPClient.from_config("code", {"command": sys.executable, "args": words}) as client:
        assert client.call("code.runPython", {"code": "print(1)"})["structuredContent"]["stdout"] == "1\n"
