"""The built-in agent `code-runner`: real code, in real processes."""

from __future__ import annotations

import re
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from gaia_mcp import MCPClient
from gaia_mcp.asking import Call
from gaia_mcp.contrib.agentvault.code_runner import CodeRunner, run
from gaia_mcp.core.errors import CancelledError
from gaia_mcp.testing import client_for
from tests.contrib.agentvault.code_runner.conftest import LIMITS, running_in
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.story


def test_the_output_of_the_code_is_the_result() -> None:
    """Spec, C5."""
    with client_for(CodeRunner(PATIENCE_SECONDS)) as client:
        assert [tool.name for tool in client.list_tools()] == ["code.runPython"]
        code = "import sys\nprint('ü', 2 + 2)\nprint('oh', file=sys.stderr)\nsys.exit(3)"
        result = client.call("code.runPython", {"code": code})

    assert result["structuredContent"] == {"stdout": "ü 4\n", "stderr": "oh\n", "exit_status": 3}
    assert "isError" not in result or result["isError"] is False


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


def test_the_folder_of_deeply_nested_folders_is_removed(folders: Path) -> None:
    """Ours: they are made faster than the limits are checked. The fixture waits for the end of the folder."""
    code = "import os\nfor _ in range(1500): os.mkdir('a'); os.chdir('a')\nos.chmod('.', 0)"

    run(code, LIMITS, Call())

    assert [*folders.iterdir()] == []


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
