"""The process that runs untrusted code: what it lets the code see, and what it ends."""

from __future__ import annotations

import ctypes
import os
import sys
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.asking import Call
from gaia_mcp.contrib.agentvault.code_runner import CodeRunner, is_cut_off, run
from tests.contrib.agentvault.code_runner.conftest import LIMITS, running_in
from tests.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.story


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


@pytest.mark.parametrize("isolated", [True, False])
def test_the_variables_and_descriptors_of_the_server_are_out_of_reach(isolated: bool) -> None:
    """Ours: through them code could answer in the server's name."""
    reading = f"import os\nopen('/proc/{os.getpid()}/environ').read()"
    writing = f"open('/proc/{os.getpid()}/fd/1', 'w')"

    ran = [run(code, LIMITS._replace(isolated=isolated), Call()) for code in (reading, writing)]

    assert ["PermissionError" in each.stderr for each in ran] == [True, True]
    # For a server that root does not run, this decides: PR_GET_DUMPABLE.
    assert ctypes.CDLL(None).prctl(3, 0, 0, 0, 0) == 0


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
