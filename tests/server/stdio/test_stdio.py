from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from gaia_mcp.server.stdio import READ_BYTES, GuardedPipes
from tests.server.talk import DISCOVER, SERVE, Process, call, cancel, initialize, piped, plain, stateless
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    Start = Callable[..., Process]
    from collections.abc import Iterator

LOUD = """
import atexit, os, subprocess, sys, threading
from gaia_mcp import current_call

print("printed at import")
os.write(1, b"written at import\\n")
subprocess.run([sys.executable, "-c", "print('child at import')"])
sys.__stdout__.write("to the real stdout\\n")

class Loud:
    def __init__(self):
        print("printed when made")

    def get_mcp_tool_definitions(self):
        print("printed in the list")
        return [{"name": name} for name in ("shout", "hang", "spin", "leave", "read", "work")]

    def execute_mcp_tool(self, name, arguments):
        return getattr(self, name)()

    def shout(self):
        print("printed in a call", flush=True)
        os.write(1, b"written in a call\\n")
        subprocess.run([sys.executable, "-c", "print('child in a call')"])
        return "shouted"

    def hang(self):
        print("hanging", file=sys.stderr, flush=True)
        threading.Event().wait()

    def spin(self):
        # The command line ends so. The interpreter's own end is fatal where a thread holds the lock of a stream.
        atexit.register(os._exit, 0)
        print("spinning", file=sys.stderr, flush=True)
        while True:
            print("x" * 100)
            print("y" * 100, file=sys.stderr)

    def leave(self):
        sys.exit(3)

    def read(self):
        return repr((sys.stdin.read(), os.read(0, 10)))

    def work(self):
        current_call().progress(1, 2, "half")
        current_call().log("warning", "careful")
        return "worked"
"""

THREADED = """
import threading
from gaia_mcp import current_call

class Threaded:
    def get_mcp_tool_definitions(self):
        return [{"name": "ask"}, {"name": "fail"}]

    def execute_mcp_tool(self, name, arguments):
        thread = threading.Thread(target={"ask": current_call().roots, "fail": lambda: 1 / 0}[name])
        thread.start()
        thread.join()
        return name
"""


# What takes a moment may take seconds on a busy machine.
LONG = 60


def serving(target: str, **options: float) -> list[str]:
    """The command that serves an agent, with options of `StdioServer`."""
    return [sys.executable, str(SERVE), target, *(f"{name}={value}" for name, value in options.items())]


@pytest.fixture
def loud(start_process: Start, tmp_path: Path) -> Process:
    """An agent that writes to stdout in every way, served."""
    (tmp_path / "loud.py").write_text(LOUD)
    return start_process("loud.py", cwd=tmp_path)


def test_an_agent_is_served_and_ends_with_its_input(start_process: Start) -> None:
    """Spec, IO-6: the server exits when its input ends; ours: with status 0."""
    talk = start_process("demo")
    assert talk.result(DISCOVER)["supportedVersions"] == ["2026-07-28"]
    assert talk.result(call(1, "greet", {"name": "Ada"}))["content"][0]["text"] == "Hello, Ada!"

    assert talk.close() == 0
    assert talk.stderr == ""


def test_stdio_needs_no_token(start_process: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """AS-5: the client has started the server; a token for HTTP in the environment is ignored."""
    monkeypatch.setenv("GAIA_MCP_TOKEN", "s3cret")
    talk = start_process("demo")

    assert talk.result(call(1, "greet", {"name": "Ada"}))["content"][0]["text"] == "Hello, Ada!"
    assert talk.close() == 0


def test_output_of_an_agent_does_not_reach_the_protocol(loud: Process) -> None:
    """Spec, IO-2: only messages on stdout. Prints, raw writes and child processes, at import, when made, in calls."""
    loud.result(DISCOVER)
    loud.result(stateless(1, "tools/list"))
    assert loud.result(call(2, "shout"))["content"][0]["text"] == "shouted"

    assert loud.close() == 0

    for words in ("printed at import", "written at import", "child at import", "to the real stdout",
                  "printed when made", "printed in the list",
                  "printed in a call", "written in a call", "child in a call"):  # fmt: skip
        assert words in loud.stderr
    assert [message["id"] for message in loud.seen] == ["discover", 1, 2]


def test_an_agent_that_reads_stdin_gets_end_of_file(loud: Process) -> None:
    """Ours: what the client sends is not for the agent."""
    loud.send(call(1, "read"), plain(2, "ping"))

    assert loud.answer(1)["result"]["content"][0]["text"] == repr(("", b""))
    assert loud.answer(2)["result"] == {}


def test_progress_and_log_messages_are_sent_while_the_call_runs(loud: Process) -> None:
    """Spec: both before the answer."""
    loud.send(call(1, "work", progressToken=1, **{"io.modelcontextprotocol/logLevel": "info"}))

    assert loud.next()["params"]["message"] == "half"
    assert loud.next()["params"]["data"] == "careful"
    assert loud.next()["id"] == 1


def test_a_tool_that_exits_leaves_the_server_running(loud: Process) -> None:
    """Ours: it is the tool's failure."""
    assert loud.result(call(1, "leave"))["isError"] is True
    assert loud.result(plain(2, "ping")) == {}
    assert loud.close() == 0


@pytest.mark.parametrize("tool", ["hang", "spin"])
def test_a_tool_that_never_returns_does_not_keep_the_process_alive(loud: Process, tool: str) -> None:
    """Spec, IO-6: after the end of input the calls get a second, then the process ends, with status 0."""
    loud.send(call(1, tool))
    loud.wait_for_stderr("ing\n")

    assert loud.close() == 0
    assert "Fatal Python error" not in loud.stderr


def test_a_call_that_runs_at_the_end_of_input_is_still_answered(start_process: Start) -> None:
    """Ours: a script may write its requests, close, and read the answers."""
    talk = start_process("demo", command=serving("demo", finish_seconds=LONG))
    talk.result(DISCOVER)
    talk.send(call(1, "countdown", {"steps": 1, "seconds": 0.1}))

    assert talk.close() == 0

    assert talk.answer(1)["result"]["isError"] is False


def test_a_cancelled_call_is_not_answered(start_process: Start) -> None:
    """Spec, MS-18."""
    talk = start_process("demo")
    talk.send(call(1, "countdown", {"seconds": 30}), cancel(1), call(2, "greet", {"name": "Ada"}))
    talk.answer(2)

    assert talk.close() == 0
    assert [message["id"] for message in talk.seen] == [2]


def test_the_number_of_running_calls_is_limited(start_process: Start) -> None:
    """Ours: the next one waits, and a note is printed."""
    talk = start_process("demo", command=serving("demo", max_calls=1))
    talk.send(call(1, "countdown", {"steps": 1, "seconds": 0.3}), call(2, "greet", {"name": "Ada"}))
    talk.answer(2)

    assert [message["id"] for message in talk.seen] == [1, 2]
    assert talk.close() == 0
    assert talk.stderr == "note: the limit of 1 running calls is reached; further calls wait\n"


def test_a_system_without_poll_events_can_serve(start_process: Start) -> None:
    """Ours: there, a client that stops reading is not noticed."""
    lacking = "import select, sys; del select.POLLHUP, select.POLLRDHUP\n"
    served = f"import runpy; sys.argv = [{str(SERVE)!r}, 'demo']; runpy.run_path({str(SERVE)!r})"
    talk = start_process("demo", command=[sys.executable, "-c", lacking + served])

    assert talk.result(call(1, "greet", {"name": "Ada"}))["content"][0]["text"] == "Hello, Ada!"

    assert talk.close() == 0
    assert talk.stderr == ""


def test_a_probe_is_answered_during_a_slow_import(start_process: Start, tmp_path: Path) -> None:
    """Ours: discover is answered without the agent, and calls once it has loaded."""
    (tmp_path / "slow.py").write_text(
        "import pathlib, threading\n"
        "pause = threading.Event()\n"
        "while not pathlib.Path('go').exists():\n"
        "    pause.wait(0.01)\n" + LOUD
    )
    talk = start_process("slow.py", cwd=tmp_path)

    # As a client that has given up on its probe.
    talk.send(DISCOVER, initialize())
    assert talk.answer(DISCOVER["id"])["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "slow.py"
    assert talk.answer(initialize()["id"])["result"]["serverInfo"]["name"] == "slow.py"
    talk.send(call(1, "shout"))
    (tmp_path / "go").touch()
    assert talk.answer(1)["result"]["isError"] is False


def test_an_input_request_in_a_thread_of_a_tool_is_not_a_failure(start_process: Start, tmp_path: Path) -> None:
    """Ours: the question ends the thread and the run. Python's report is for other ends of threads."""
    (tmp_path / "threaded.py").write_text(THREADED)
    talk = start_process("threaded.py", cwd=tmp_path)
    able = {"io.modelcontextprotocol/clientCapabilities": {"roots": {}}}

    assert talk.result(call(1, "ask", **able))["resultType"] == "input_required"
    assert talk.result(call(2, "fail"))["resultType"] == "complete"
    assert talk.close() == 0

    assert talk.stderr.count("Traceback") == 1
    assert "ZeroDivisionError" in talk.stderr


@pytest.mark.parametrize(
    ("at_exit", "seconds"), [("pathlib.Path('done').touch()", LONG), ("threading.Event().wait()", 1)]
)
def test_the_end_of_input_ends_a_process_that_still_imports(
    start_process: Start, tmp_path: Path, at_exit: str, seconds: float
) -> None:
    """Spec, IO-6: an import cannot be cancelled, but its client has gone. Exit functions run, for a limited time."""
    (tmp_path / "endless.py").write_text(
        "import atexit, pathlib, sys, threading\n"
        f"atexit.register(lambda: {at_exit})\n"
        "print('begun', file=sys.stderr, flush=True)\n"
        "threading.Event().wait()\n"
    )
    talk = start_process("", cwd=tmp_path, command=serving("endless.py", exit_seconds=seconds))
    talk.wait_for_stderr("begun")

    assert talk.close() == 0
    assert (tmp_path / "done").exists() == ("done" in at_exit)


def test_an_agent_that_cannot_be_imported_ends_the_process(start_process: Start, tmp_path: Path) -> None:
    """Ours: the client sees the end of the stream, the person the reason."""
    (tmp_path / "broken.py").write_text("raise RuntimeError('no luck')\n")
    talk = start_process("broken.py", cwd=tmp_path)
    talk.send(DISCOVER)

    assert talk.wait() == 1
    assert "no luck" in talk.stderr


def test_a_client_that_closes_stdout_ends_the_process(start_process: Start) -> None:
    """Ours: with status 0 and without a traceback, also while its input is still open."""
    process = subprocess.Popen(
        [sys.executable, str(SERVE), "demo"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    process.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    process.stdin.flush()

    assert process.wait(PATIENCE_SECONDS) == 0
    assert process.stderr.read() == b""
    process.stderr.close()
    process.stdin.close()


@pytest.mark.story
def test_a_non_blocking_socket_can_be_stdin_and_stdout() -> None:
    """Ours: node hands sockets to its children, and other parents leave them without blocking."""
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    process = subprocess.Popen(
        [sys.executable, str(SERVE), "demo"], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE
    )
    theirs.close()
    ours.settimeout(PATIENCE_SECONDS)
    assert process.stderr is not None
    stream = ours.makefile("rb")

    # More than the socket holds, read only afterwards: its writing has to wait.
    for _ in range(2):
        ours.sendall(b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n')
        assert b"error" in stream.readline()
    ours.sendall(b'{"jsonrpc":"2.0","id":"' + b"x" * 3_000_000 + b'","method":"ping"}\n')
    assert len(stream.readline()) > 3_000_000
    # Closed with something unread on the way: a reset, which is an end like any other.
    ours.sendall(b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n' * 100)
    stream.close()
    ours.close()

    assert process.wait(PATIENCE_SECONDS) == 0
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.parametrize(
    ("at_exit", "seconds"),
    [("pathlib.Path('done').touch()", LONG), ("threading.Event().wait()", 1), ("1 / 0", LONG)],
)
def test_exit_functions_run_and_do_not_keep_the_process_alive(
    start_process: Start, tmp_path: Path, at_exit: str, seconds: float
) -> None:
    """Ours: exit functions run before the program can end at once, and one that hangs gets a limited time."""
    (tmp_path / "leaving.py").write_text(
        f"import atexit, pathlib, threading\natexit.register(lambda: {at_exit})\n{LOUD}"
    )
    program = tmp_path / "ending.py"
    program.write_text(
        f"import os, runpy, sys\nsys.argv = {serving('leaving.py', exit_seconds=seconds)[1:]!r}\n"
        f"runpy.run_path({str(SERVE)!r})\nos._exit(7)\n"
    )
    talk = start_process("", cwd=tmp_path, command=[sys.executable, str(program)])
    talk.result(DISCOVER)
    talk.result(plain(1, "ping"))

    assert talk.close() == 7
    assert (tmp_path / "done").exists() == ("done" in at_exit)
    assert ("ZeroDivisionError" in talk.stderr) == (at_exit == "1 / 0")


def test_a_signal_does_not_interrupt_the_exit_functions(start_process: Start, tmp_path: Path) -> None:
    """Ours: a client sends SIGTERM when a server takes long to end, and what ends its children needs that time."""
    (tmp_path / "leaving.py").write_text(
        "import atexit, pathlib, threading\nhas_come = threading.Event()\n"
        f"def leave():\n    print('leaving', file=sys.stderr, flush=True)\n    has_come.wait(20)\n"
        f"    threading.Event().wait(0.2)\n    pathlib.Path('done').touch()\natexit.register(leave)\n{LOUD}"
    )
    program = tmp_path / "ending.py"
    program.write_text(
        "import os, runpy, signal, sys\n"
        "def end(number, frame):\n    sys.modules['leaving'].has_come.set()\n    raise SystemExit(9)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        f"sys.argv = {serving('leaving.py', exit_seconds=LONG)[1:]!r}\ntry:\n    runpy.run_path({str(SERVE)!r})\n"
        "except SystemExit as left:\n    os._exit(left.code)\n"
    )
    talk = start_process("", cwd=tmp_path, command=[sys.executable, str(program)])
    talk.result(DISCOVER)
    talk.end_input()
    talk.wait_for_stderr("leaving")
    talk.process.terminate()

    assert talk.wait() == 9
    assert (tmp_path / "done").exists()


def test_a_signal_during_the_start_of_the_exit_functions_does_not_interrupt_them(
    start_process: Start, tmp_path: Path
) -> None:
    """Ours: they may have begun when a signal's exception is raised there."""
    (tmp_path / "leaving.py").write_text(
        "import atexit, pathlib, threading\nhas_come = threading.Event()\n"
        "def leave():\n    has_come.wait(20)\n    threading.Event().wait(0.2)\n    pathlib.Path('done').touch()\n"
        f"atexit.register(leave)\n{LOUD}"
    )
    program = tmp_path / "ending.py"
    program.write_text(
        "import _thread, os, runpy, sys, threading\n"
        "start = _thread.start_new_thread\n"
        "def interrupted(function, given):\n    start(function, given)\n    if 'exit' in function.__name__:\n"
        "        sys.modules['leaving'].has_come.set()\n        raise SystemExit(9)\n"
        "_thread.start_new_thread = interrupted\n"
        f"sys.argv = {serving('leaving.py', exit_seconds=LONG)[1:]!r}\ntry:\n    runpy.run_path({str(SERVE)!r})\n"
        "except SystemExit as left:\n    os._exit(left.code)\n"
    )
    talk = start_process("", cwd=tmp_path, command=[sys.executable, str(program)])
    talk.result(DISCOVER)

    assert talk.close() == 9
    assert (tmp_path / "done").exists()


def test_a_signal_that_leaves_a_lock_held_does_not_keep_the_process_alive(start_process: Start, tmp_path: Path) -> None:
    """Ours: a handler of Python's may run while `Event.wait` has its lock, which nobody releases then."""
    (tmp_path / "leaving.py").write_text(
        f"import atexit, pathlib\natexit.register(lambda: pathlib.Path('done').touch())\n{LOUD}"
    )
    program = tmp_path / "ending.py"
    program.write_text(
        "import os, runpy, sys, threading\n"
        "wait = threading.Event.wait\n"
        "def interrupted(event, timeout=None):\n"
        "    if threading.current_thread() is threading.main_thread() and 'leaving' in sys.modules and timeout:\n"
        "        event._cond.acquire()\n        raise SystemExit(9)\n    return wait(event, timeout)\n"
        "threading.Event.wait = interrupted\n"
        f"sys.argv = {serving('leaving.py')[1:]!r}\ntry:\n    runpy.run_path({str(SERVE)!r})\n"
        "except SystemExit as left:\n    os._exit(left.code)\nos._exit(7)\n"
    )
    talk = start_process("", cwd=tmp_path, command=[sys.executable, str(program)])
    talk.result(DISCOVER)

    assert talk.close() == 7
    assert (tmp_path / "done").exists()


def test_output_of_an_agent_is_flushed_at_once(start_process: Start, tmp_path: Path) -> None:
    """Ours: it is not lost when the process is killed just after, and in order with the output to stderr."""
    (tmp_path / "steps.py").write_text(
        "import os, sys\n"
        "class Steps:\n"
        "    def get_mcp_tool_definitions(self): return [{'name': 'step'}]\n"
        "    def execute_mcp_tool(self, name, arguments):\n"
        "        print('step 1')\n"
        "        print('step 2', file=sys.stderr)\n"
        "        os.kill(os.getpid(), 9)\n"
    )
    talk = start_process("steps.py", cwd=tmp_path)
    talk.send(call(1, "step"))

    assert talk.wait() == -9
    assert talk.stderr.splitlines() == ["step 1", "step 2"]


def test_the_agent_of_a_running_server_can_be_replaced(start_process: Start, tmp_path: Path) -> None:
    """Ours: for an agent whose files have changed."""
    program = tmp_path / "replacing.py"
    program.write_text(
        "import threading\n"
        "from gaia_mcp.agents import load_agent\n"
        "from gaia_mcp.server.agent import AgentProvider\n"
        "from gaia_mcp.server.stdio import StdioServer\n"
        "class Replacing:\n"
        "    def get_mcp_tool_definitions(self): return [{'name': 'replace'}]\n"
        "    def execute_mcp_tool(self, name, arguments):\n"
        "        provider.replace_agent(load_agent('demo'))\n"
        "provider = AgentProvider(Replacing(), list_changes=True)\n"
        "StdioServer('demo').run(lambda: provider)\n"
    )
    talk = start_process("", command=[sys.executable, str(program)])
    talk.result(initialize())
    talk.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    assert [tool["name"] for tool in talk.result(plain(1, "tools/list"))["tools"]] == ["replace"]

    talk.result(plain(2, "tools/call", {"name": "replace", "arguments": {}}))

    while {"method": "notifications/tools/list_changed", "jsonrpc": "2.0"} not in talk.seen:
        talk.next()
    assert "greet" in [tool["name"] for tool in talk.result(plain(3, "tools/list"))["tools"]]


def test_children_of_an_agent_do_not_inherit_the_protocol_descriptors(start_process: Start, tmp_path: Path) -> None:
    """Ours: a child that outlives the server must not hold the client's pipes open."""
    (tmp_path / "parent.py").write_text(
        "import subprocess\n"
        "class Parent:\n"
        "    def get_mcp_tool_definitions(self): return [{'name': 'start'}]\n"
        "    def execute_mcp_tool(self, name, arguments):\n"
        "        command = ['sleep', '60']\n"
        "        return str(subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,\n"
        "            stdout=subprocess.DEVNULL, close_fds=False).pid)\n"
    )
    talk = start_process("parent.py", cwd=tmp_path)
    child = int(talk.result(call(1, "start"))["content"][0]["text"])
    try:
        talk.close()
        wait_until(lambda: not any(thread.is_alive() for thread in talk._threads))
    finally:
        os.kill(child, 9)


@pytest.mark.story
def test_a_client_that_closes_stdin_and_stops_reading_ends_the_process() -> None:
    """Ours: whether a call or the write of a response is blocked, and however much it had sent before."""
    for messages in ([call(number, "greet", {"name": "x" * 4000}) for number in range(100)],
                     [plain(number, "ping") for number in range(5000)]):  # fmt: skip
        server = subprocess.Popen(serving("demo", taking_seconds=1), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert server.stdin is not None
        assert server.stdout is not None
        sent = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
        os.set_blocking(server.stdin.fileno(), False)
        end = time.monotonic() + 5
        while sent and time.monotonic() < end:
            try:
                sent = sent[os.write(server.stdin.fileno(), sent) :]
            except BlockingIOError:
                end = min(end, time.monotonic() + 1)
        server.stdin.close()
        try:
            assert server.wait(60) == 0
        finally:
            server.kill()
            server.stdout.close()


def memory_of(pid: int) -> int:
    """The memory that a process has in use, in bytes."""
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) * 1024


CHANGING = """
import threading
from gaia_mcp import MCPAgent, resource, tool
class Changing(MCPAgent):
    is_closed = False
    def closed(self):
        # A thread that computes on keeps Python, and what measures coverage, from ending in order.
        self.is_closed = True
    def change(self):
        while not self.is_closed:
            self.tools_changed()
            self.resource_updated("a://a")
    @tool
    def begin(self) -> None:
        "Begin to change without end."
        threading.Thread(target=self.change, daemon=True).start()
    @resource("a://a")
    def a(self) -> str:
        return "a"
    @resource("b://{b}")
    def b(self, b: str) -> str:
        return b
"""


@pytest.mark.story
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads memory where Linux reports it")
def test_1000_subscriptions_take_little_memory_and_end_with_their_client(start_process: Start, tmp_path: Path) -> None:
    """Ours: at most 50 MB, while an agent announces changes as fast as it can, each to its own subscribers."""
    (tmp_path / "changing.py").write_text(CHANGING)
    talk = start_process(f"{tmp_path / 'changing.py'}:Changing")
    talk.result(stateless("list", "tools/list"))
    before = memory_of(talk.process.pid)
    for number in range(1000):
        wanted = {"toolsListChanged": number % 2 == 0, "resourceSubscriptions": ["a://a", f"b://{number}"]}
        talk.send(stateless(number, "subscriptions/listen", {"notifications": wanted}))
        assert talk.next()["method"] == "notifications/subscriptions/acknowledged"

    talk.result(call("begin", "begin"))
    waiting = {number: {"updated", *(["list_changed"] if number % 2 == 0 else [])} for number in range(1000)}
    while any(waiting.values()):
        message = talk.next()
        subscription = message["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"]
        kind = message["method"].rpartition("/")[2]
        assert message["params"].get("uri", "a://a") == "a://a"
        assert kind != "list_changed" or subscription % 2 == 0
        waiting[subscription].discard(kind)

    assert memory_of(talk.process.pid) - before < 50e6
    assert talk.close() == 0
    ended = [json.loads(line) for line in talk.rest()]
    assert {message["id"] for message in ended if "id" in message} == set(range(1000))


@pytest.mark.story
def test_a_write_error_on_stdout_is_an_error() -> None:
    """Ours: a full disk is not a client that has gone."""
    with Path("/dev/full").open("wb") as full:
        server = subprocess.Popen(
            [sys.executable, str(SERVE), "demo"], stdin=subprocess.PIPE, stdout=full, stderr=subprocess.PIPE
        )
        _, stderr = server.communicate(json.dumps(DISCOVER).encode() + b"\n", timeout=30)

    assert server.returncode == 1
    assert b"OSError: [Errno 28] No space left on device: 'standard output'" in stderr


MUCH = 3_000_000


class Guarded(NamedTuple):
    """Guarded pipes, the client's end of them, and what has been written to stderr meanwhile."""

    pipes: GuardedPipes
    client: socket.socket
    log: int

    def stderr(self) -> list[bytes]:
        """The lines of the log."""
        return os.pread(self.log, 65536, 0).splitlines()


@contextmanager
def guarded(*, blocking: bool = True) -> Iterator[Guarded]:
    """Put a socket in the place of stdin and stdout and a file in that of stderr, and guard them. Used within a test,
    for pytest puts its own files there between its phases.
    """
    kept = [os.dup(number) for number in range(3)]
    stdout = sys.stdout
    client, server = socket.socketpair()
    client.settimeout(PATIENCE_SECONDS)
    server.setblocking(blocking)
    with client, tempfile.TemporaryFile() as log:
        try:
            for number, new in enumerate((server.fileno(), server.fileno(), log.fileno())):
                os.dup2(new, number)
            server.close()
            sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False))
            pipes = GuardedPipes()
            yield Guarded(pipes, client, log.fileno())
            os.close(pipes._input)
            os.close(pipes._output)
        finally:
            sys.stdout = stdout
            for number, old in enumerate(kept):
                os.dup2(old, number)
                os.close(old)


def test_the_pipes_can_be_read_and_written() -> None:
    """Ours: under other numbers, as they came."""
    with guarded() as (pipes, client, _):
        client.sendall(b"question\n")
        assert pipes.read() == b"question\n"

        pipes.write(b"answer\n")
        assert client.recv(100) == b"answer\n"


def test_other_output_to_stdout_goes_to_stderr() -> None:
    """Spec, IO-2: only messages on stdout. A print is out after each line, for the process may be killed."""
    with guarded() as one:
        print("printed")
        os.write(1, b"written\n")
        one.pipes.write(b"message\n")
        logged, received = one.stderr(), one.client.recv(100)

    assert logged == [b"printed", b"written"]
    assert received == b"message\n"


def test_other_readers_of_stdin_get_end_of_file() -> None:
    """Ours: what the client sends is not for the agent."""
    with guarded() as (pipes, client, _):
        client.sendall(b"question\n")
        others, ours = os.read(0, 100), pipes.read()

    assert others == b""
    assert ours == b"question\n"


def test_the_private_descriptors_are_not_inheritable() -> None:
    """Ours: a child that outlives the server must not hold the client's pipes open."""
    with guarded() as (pipes, _, _):
        inherited = [os.get_inheritable(number) for number in (pipes._input, pipes._output)]

    assert inherited == [False, False]


def test_a_stdout_that_is_not_a_text_stream_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: an object that another program put there has no lines to flush."""
    with guarded() as (_, client, _):
        monkeypatch.setattr(sys, "stdout", io.StringIO())
        os.dup2(client.fileno(), 1)
        pipes = GuardedPipes()
        os.close(pipes._input)
        os.close(pipes._output)
        print("printed")
        monkeypatch.undo()


def test_the_end_of_input_is_read_as_empty_bytes() -> None:
    """Ours: as of a file."""
    with guarded() as (pipes, client, _):
        client.shutdown(socket.SHUT_WR)
        assert pipes.read() == b""


def test_a_non_blocking_socket_is_waited_for() -> None:
    """Ours: node hands sockets to its children, and other parents leave them without blocking."""
    received = bytearray()
    with guarded(blocking=False) as (pipes, client, _):

        def receive() -> None:
            while len(received) < MUCH:
                received.extend(client.recv(READ_BYTES))

        sender = threading.Timer(0.02, client.sendall, [b"question\n"])
        sender.start()
        assert pipes.read() == b"question\n"
        receiver = threading.Timer(0.02, receive)
        receiver.start()
        pipes.write(b"x" * MUCH)
        receiver.join(PATIENCE_SECONDS)
        sender.join(PATIENCE_SECONDS)

    assert len(received) == MUCH


def test_a_connection_reset_is_the_end_of_input() -> None:
    """Ours: a socket that is closed with something unread on the way is reset."""
    with guarded() as (pipes, client, _):
        pipes.write(b"unread\n")
        client.close()

        assert pipes.read() == b""
        with pytest.raises(BrokenPipeError):
            pipes.write(b"message\n")


def test_a_client_that_closes_stdin_and_does_not_read_is_noticed() -> None:
    """Ours: of a pipe, and of a socket, of which one half is closed. Until then it is waited for."""
    with piped() as (pipes, to_server, from_server):
        found: list[bool] = []
        watching = threading.Thread(target=lambda: found.append(pipes.await_abandonment(0.01)))
        writing = threading.Thread(target=pipes.write, args=(b"x" * MUCH,))
        for thread in (watching, writing):
            thread.start()
        watching.join(0.05)
        assert watching.is_alive()

        os.close(to_server)
        watching.join(PATIENCE_SECONDS)
        assert found == [True]

        with os.fdopen(from_server, "rb", buffering=0) as client:
            left = MUCH
            while left:
                left -= len(client.read(left))
        writing.join(PATIENCE_SECONDS)
        assert not writing.is_alive()


def test_a_client_without_pending_output_is_not_abandoned() -> None:
    """Ours: a call may last. It has closed half of a socket."""
    with guarded() as (pipes, client, _):
        client.shutdown(socket.SHUT_WR)
        watching = threading.Thread(target=pipes.await_abandonment, args=(0.01,), daemon=True)
        watching.start()
        watching.join(0.05)
        assert watching.is_alive()

        writing = threading.Thread(target=pipes.write, args=(b"x" * MUCH,))
        writing.start()
        watching.join(PATIENCE_SECONDS)
        assert not watching.is_alive()
        left = MUCH
        while left:
            left -= len(client.recv(left))
        writing.join(PATIENCE_SECONDS)


def test_abandonment_is_not_detected_without_poll_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: nor anything on a system that cannot poll."""
    import select

    with guarded() as (pipes, _, _):
        monkeypatch.delattr(select, "POLLHUP")
        monkeypatch.delattr(select, "POLLRDHUP")
        assert not pipes.await_abandonment(0.01)


def test_has_input_reports_unread_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: also the end; not where the system has no way to tell."""
    with guarded() as (pipes, client, _):
        found = [pipes.has_input()]
        client.sendall(b"more")
        found.append(pipes.has_input())
        pipes.read()
        found.append(pipes.has_input())
        client.shutdown(socket.SHUT_WR)
        found.append(pipes.has_input())
        monkeypatch.delattr("select.poll")
        found.append(pipes.has_input())

    assert found == [False, True, False, True, False]
