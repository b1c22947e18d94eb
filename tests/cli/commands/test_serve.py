"""`gaia mcp serve`."""

from __future__ import annotations

import json
import signal
from typing import TYPE_CHECKING, Any

from tests.server.talk import META
from tests.waiting import wait_until

if TYPE_CHECKING:
    import subprocess

    from tests.cli.conftest import Gaia

AGENT = """
class Agent:
    def __init__(self, word="{word}"):
        self.word = word
    def get_mcp_tool_definitions(self):
        return [{{"name": "{tool}", "inputSchema": {{}}}}]
    def execute_mcp_tool(self, name, arguments):
        print("noise")
        return self.word
"""


def ask(process: subprocess.Popen[bytes], method: str, number: int, **params: Any) -> Any:
    send(process, method, number, **params)
    return next_answer(process)


def send(process: subprocess.Popen[bytes], method: str, number: int | None, **params: Any) -> None:
    assert process.stdin is not None
    message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    if number is None:
        del message["id"]
    process.stdin.write(json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def next_answer(process: subprocess.Popen[bytes]) -> Any:
    assert process.stdout is not None
    while "id" not in (answer := json.loads(process.stdout.readline())):
        continue
    return answer


def initialize(process: subprocess.Popen[bytes]) -> Any:
    client = {"name": "test", "version": "1"}
    return ask(process, "initialize", 1, protocolVersion="2025-11-25", capabilities={}, clientInfo=client)


def test_output_of_an_agent_goes_to_stderr(gaia: Gaia) -> None:
    """Ours: stdout carries nothing but MCP messages, whatever an agent prints."""
    (gaia.cwd / "agent.py").write_text("print('hello from import')\n" + AGENT.format(word="hi", tool="t"))
    process = gaia.popen("serve", "agent.py:Agent")

    initialize(process)
    answer = ask(process, "tools/call", 2, name="t", arguments={})

    assert answer["result"]["content"] == [{"type": "text", "text": "hi"}]
    out, err = process.communicate(timeout=20)
    assert (out, process.returncode) == (b"", 0)
    assert err.decode().splitlines() == ["hello from import", "noise"]


def test_keyword_arguments_reach_the_class(gaia: Gaia) -> None:
    """Ours: as JSON, or as text if it is not JSON."""
    (gaia.cwd / "agent.py").write_text(AGENT.format(word="hi", tool="t"))
    for given, word in (("word=plain", "plain"), ('word="quoted"', "quoted")):
        process = gaia.popen("serve", "agent.py:Agent", "--kwarg", given)
        initialize(process)
        assert ask(process, "tools/call", 2, name="t")["result"]["content"][0]["text"] == word
        process.communicate(timeout=20)


def test_an_agent_that_cannot_be_loaded_exits_with_3(gaia: Gaia) -> None:
    """Ours: two lines name the reason; the traceback is for `--debug`."""
    (gaia.cwd / "broken.py").write_text("import nothing_of_that_name\n")
    (gaia.cwd / "empty.py").write_text("class Nothing: pass\n")
    (gaia.cwd / "mute.py").write_text(AGENT.format(word="x", tool="t").replace("return [", "raise OSError('no') or ["))
    for target in (
        "nobody",
        "broken.py:Agent",
        "mute.py:Agent",
        "empty.py:Nothing",
        "empty.py",
        "nowhere.py:A",
        "json:Nope",
        "json:dumps",
    ):
        ran = gaia("serve", target)
        assert ran.code == 3, (target, ran)
        assert len(ran.errors) == 2, (target, ran)
    assert gaia("serve", "demo", "--kwarg", "no-equals").code == 2
    assert "Traceback" in gaia("serve", "broken.py:Agent", "--debug").stderr


def test_what_an_agent_logs_is_printed_from_a_level_on(gaia: Gaia) -> None:
    """Ours, `--log-level`: as of any program that uses Python's logging; by default warnings are."""
    (gaia.cwd / "logs.py").write_text(
        "import logging\nfrom gaia_mcp import MCPAgent, tool\n\n\nclass Logs(MCPAgent):\n    @tool\n"
        "    def work(self) -> None:\n        'Work.'\n        logging.getLogger('mine').info('at it')\n"
    )
    message = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "work", "_meta": META}})

    quiet = gaia("serve", "logs.py", stdin=f"{message}\n")
    told = gaia("serve", "logs.py", "--log-level", "info", stdin=f"{message}\n")

    assert "at it" not in quiet.stderr
    assert "at it" in told.stderr.splitlines()
    assert gaia("serve", "logs.py", "--log-level", "loud").code == 2


def test_the_traceback_of_a_tool_is_printed_only_with_debug(gaia: Gaia) -> None:
    """Ours: it would fill the log of a working server; one line names the tool and the exception."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "fail", "_meta": META}}
    line = "error: tool 'fail' raised RuntimeError: this tool always fails\n"

    quiet = gaia("serve", "demo", stdin=json.dumps(message) + "\n")
    loud = gaia("serve", "demo", "--debug", stdin=json.dumps(message) + "\n")

    for ran in (quiet, loud):
        assert json.loads(ran.stdout)["result"]["isError"] is True
        assert ran.stderr.endswith(line)
    assert quiet.stderr == line
    assert loud.stderr.startswith("Traceback")


def test_an_agent_that_exits_while_listing_its_tools_is_reported(gaia: Gaia) -> None:
    """Ours: the message of its SystemExit is the reason that its author has written."""
    (gaia.cwd / "leaving.py").write_text(
        AGENT.format(word="x", tool="t").replace("return [", "raise SystemExit('no model') or [")
    )

    ran = gaia("serve", "leaving.py:Agent")

    assert (ran.code, len(ran.errors)) == (3, 2), ran
    assert "SystemExit: no model" in ran.errors[0]


def test_an_unusable_schema_is_reported_once_on_stderr(gaia: Gaia) -> None:
    """Ours: the call succeeds, so that only the person who serves the agent can notice it."""
    schema = '{"properties": {"n": {"$ref": "#/nowhere"}}}'
    (gaia.cwd / "agent.py").write_text(AGENT.format(word="hi", tool="t").replace("{}}]", schema + "}]"))
    process = gaia.popen("serve", "agent.py:Agent")
    initialize(process)

    for number in (2, 3):
        ask(process, "tools/list", number * 10)
        assert ask(process, "tools/call", number, name="t", arguments={"n": 1})["result"]["isError"] is False

    _, err = process.communicate(timeout=20)
    (note,) = [line for line in err.decode().splitlines() if line.startswith("note: ")]
    assert note.startswith("note: agent.py:Agent: the input schema of 't' cannot be used: ")


def test_the_atexit_functions_of_an_agent_are_called(gaia: Gaia) -> None:
    """Ours: the program ends at once, but not before an agent could save its data."""
    (gaia.cwd / "agent.py").write_text(
        "import atexit, pathlib\natexit.register(pathlib.Path('done').touch)\n" + AGENT.format(word="hi", tool="t")
    )

    assert gaia("serve", "agent.py:Agent").code == 0
    (gaia.cwd / "done").unlink()
    process = gaia.popen("serve", "agent.py:Agent")
    initialize(process)
    process.terminate()
    assert process.wait(20) == 143
    (gaia.cwd / "done").unlink()


def test_a_repeated_keyword_is_refused(gaia: Gaia) -> None:
    """Ours: neither of its two values is ignored silently."""
    ran = gaia("serve", "demo", "--kwarg", "n=1", "--kwarg", "n=2")

    assert (ran.code, len(ran.errors)) == (2, 2)
    assert "'n'" in ran.errors[0]


def test_a_repeated_key_in_a_keyword_object_is_refused(gaia: Gaia) -> None:
    """Ours: one of its two values would be lost silently."""
    ran = gaia("serve", "demo", "--kwarg", 'n={"a": 1, "a": 2}')

    assert (ran.code, ran.errors[0]) == (2, "error: --kwarg 'n' has the key 'a' twice in one object")


def test_piped_requests_are_answered_before_the_end(gaia: Gaia) -> None:
    """Ours: a script pipes requests and reads the responses, also those that take a moment."""
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "countdown", "arguments": {"seconds": 0.2}},
        },
    ]

    ran = gaia("serve", "demo", stdin="".join(json.dumps(line) + "\n" for line in lines))

    answers = {answer["id"]: answer for answer in map(json.loads, ran.stdout.splitlines())}
    assert answers[1]["result"]["protocolVersion"] == "2025-06-18"
    assert answers[2]["result"]["content"][0]["text"] == "counted down from 5"
    assert ran.code == 0


RAISING_HANDLER = """
from gaia_mcp.handlers import MCPHandler, MCPToolDefinition


class Lent(MCPHandler):
    def connect(self):
        self._connected = True

    def disconnect(self):
        self._connected = False

    def list_tools(self):
        return [MCPToolDefinition("lend", "Lends a book.", {"type": "object"}, self.name)]

    def call_tool(self, name, arguments):
        raise ValueError("it is lent")
"""
LENDING = """
from gaia_mcp import MCPAgent, tool

class Books(MCPAgent):
    @tool
    def lend(self) -> str:
        raise ValueError("it is lent")
"""


def test_a_call_of_a_local_agent_names_the_line_that_raised(gaia: Gaia) -> None:
    """Ours: its author needs the line, and the traceback with --debug; the result does not contain it."""
    (gaia.cwd / "books.py").write_text(LENDING)
    line = LENDING.splitlines().index('        raise ValueError("it is lent")') + 1
    place = f"{gaia.cwd / 'books.py'}:{line}"

    ran = gaia("call", "./books.py", "lend")
    traced = gaia("call", "./books.py", "lend", "--debug", "--json")
    logged = gaia("logs", "./books.py")

    assert (ran.code, ran.errors) == (
        9,
        [
            "error: tool 'lend' of './books.py' failed: it is lent",
            f"hint: it was raised at {place}; show the traceback with: gaia mcp call ./books.py lend --debug",
        ],
    )
    assert place not in traced.stdout
    assert "Traceback (most recent call last)" in traced.stderr
    assert f"error: tool 'lend' raised ValueError: it is lent, at {place}" in logged.stdout


def test_a_call_of_a_local_handler_names_the_line_that_raised(gaia: Gaia) -> None:
    """Ours: as for an agent."""
    (gaia.cwd / "lent_handler.py").write_text(RAISING_HANDLER)
    line = RAISING_HANDLER.splitlines().index('        raise ValueError("it is lent")') + 1
    place = f"{gaia.cwd / 'lent_handler.py'}:{line}"

    ran = gaia("call", "./lent_handler.py", "lend")
    traced = gaia("call", "./lent_handler.py", "lend", "--debug", "--json")
    logged = gaia("logs", "./lent_handler.py")

    how = f"hint: it was raised at {place}; show the traceback with: gaia mcp call ./lent_handler.py lend --debug"
    assert (ran.code, ran.errors[-1]) == (9, how)
    assert place not in traced.stdout
    assert "Traceback (most recent call last)" in traced.stderr
    assert f"error: tool 'lend' raised ValueError: it is lent, at {place}" in logged.stdout


ASYNCHRONOUS = """
import asyncio, time
from pathlib import Path
from gaia_mcp import MCPAgent, tool

class Slow(MCPAgent):
    @tool
    async def wait(self) -> str:
        try:
            Path("waiting").touch()
            await asyncio.Event().wait()
        finally:
            Path("cancelled").touch()

    @tool
    async def block(self) -> str:
        Path("blocking").touch()
        while not Path("unblock").exists():
            time.sleep(0.01)
        return "unblocked"

    @tool
    def plain(self) -> str:
        return "plain"
"""


def test_a_blocked_event_loop_delays_no_other_request(gaia: Gaia) -> None:
    """Ours: other tools, pings and cancellations are handled; a cancellation reaches the task."""
    (gaia.cwd / "agent.py").write_text(ASYNCHRONOUS)
    process = gaia.popen("serve", "agent.py")
    initialize(process)
    send(process, "tools/call", 2, name="wait")
    wait_until((gaia.cwd / "waiting").exists)
    send(process, "notifications/cancelled", None, requestId=2)
    wait_until((gaia.cwd / "cancelled").exists)

    send(process, "tools/call", 3, name="block")
    wait_until((gaia.cwd / "blocking").exists)
    assert ask(process, "ping", 4)["result"] == {}
    assert ask(process, "tools/call", 5, name="plain")["result"]["content"][0]["text"] == "plain"
    (gaia.cwd / "unblock").touch()
    answer = next_answer(process)

    assert (answer["id"], answer["result"]["structuredContent"]) == (3, {"result": "unblocked"})
    assert process.communicate(timeout=20)[0] == b""
    assert process.returncode == 0


def test_sigterm_cancels_the_task_of_an_async_tool(gaia: Gaia) -> None:
    """Ours: clients send it to a server that does not end by itself; the task may clean up."""
    (gaia.cwd / "agent.py").write_text(ASYNCHRONOUS)
    process = gaia.popen("serve", "agent.py")
    initialize(process)
    send(process, "tools/call", 2, name="wait")
    wait_until((gaia.cwd / "waiting").exists)

    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)

    assert process.returncode == 143
    assert (gaia.cwd / "cancelled").exists()


def test_ctrl_c_in_a_call_cancels_the_task_of_an_async_tool(gaia: Gaia) -> None:
    """Ours: the task may clean up before the server ends."""
    (gaia.cwd / "agent.py").write_text(ASYNCHRONOUS)
    process = gaia.popen("call", "./agent.py", "wait")
    wait_until((gaia.cwd / "waiting").exists)

    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)

    assert process.returncode == 130
    assert (gaia.cwd / "cancelled").exists()
