"""The hub as a client sees it: three tools, their results, cancellation, progress, and many requests at once."""

from __future__ import annotations

import json
import threading
from typing import Any

import jsonschema_rs
import pytest

from gaia_mcp.agents import load_agent
from gaia_mcp.asking import Call, CallCancelledError
from gaia_mcp.contrib.hub import AgentsHub
from gaia_mcp.core.errors import AgentError
from gaia_mcp.server.agent import AgentProvider
from tests.contrib.hub.conftest import Agents, call, execute
from tests.waiting import wait_until

pytestmark = pytest.mark.story

EXECUTE, LIST, REGISTER = "execute_agent_request", "list_available_agents", "register_tool_with_agent"
DOCUMENTED = {
    EXECUTE: (
        {
            "agent_name": "string",
            "prompt": "string",
            "context": "object",
            "capabilities": "array",
            "timeout": "integer",
            "config": "object",
        },
        ["agent_name", "prompt"],
    ),
    LIST: ({"capability_filter": "string", "include_status": "boolean"}, None),
    REGISTER: ({"tool_name": "string", "tool_spec": "object", "agent_name": "string"}, ["tool_name", "tool_spec"]),
}


def tools() -> dict[str, dict[str, Any]]:
    return {tool["name"]: tool for tool in AgentsHub().get_mcp_tool_definitions()}


def fits(tool: str, structured: Any) -> bool:
    """Whether a structured result fits the output schema of the tool."""
    return jsonschema_rs.is_valid(tools()[tool]["outputSchema"], structured)


def test_the_built_in_agent_has_exactly_three_tools(agents: Agents) -> None:
    """B: and their parameters, types and required lists are those of the document (B1)."""
    assert isinstance(load_agent("agents"), AgentsHub)
    found = {
        name: (
            {key: member["type"] for key, member in tool["inputSchema"]["properties"].items()},
            tool["inputSchema"].get("required"),
        )
        for name, tool in tools().items()
    }
    assert found == DOCUMENTED


def test_every_result_is_structured_and_the_same_json_as_text(agents: Agents) -> None:
    """B1: and an error exactly when its status is one; both fit the output schema."""
    agents.write("answer('ok')\n")
    cases: list[tuple[str, dict[str, Any], bool]] = [
        (EXECUTE, {"agent_name": "claude", "prompt": "hi"}, False),
        (EXECUTE, {"agent_name": "nobody", "prompt": "hi"}, True),
        (EXECUTE, {"agent_name": "claude", "prompt": ""}, True),
        (LIST, {}, False),
        (LIST, {"capability_filter": "telepathy"}, False),
        (LIST, {"include_status": True}, False),
        (REGISTER, {"tool_name": "t", "tool_spec": {}}, True),
    ]

    wrong = []
    for tool, arguments, is_error in cases:
        found = call(agents.hub(), tool, **arguments)
        structured, texts = found["structuredContent"], [json.loads(block["text"]) for block in found["content"]]
        has_failed = structured.get("status") == "error"
        if texts != [structured] or not found["isError"] == is_error == has_failed or not fits(tool, structured):
            wrong.append((tool, arguments, found))

    assert not wrong


def test_invalid_arguments_are_an_error_result(agents: Agents) -> None:
    """B1, B6: of the same form as any other, and nothing is run."""
    agents.write(f"open({str(agents.folder / 'ran')!r}, 'w')\n")
    cases: list[dict[str, Any]] = [
        {},
        {"agent_name": "claude"},
        {"agent_name": "claude", "prompt": 7},
        {"agent_name": ["claude"], "prompt": "hi"},
        {"agent_name": "claude", "prompt": "hi", "timeout": 0},
        {"agent_name": "claude", "prompt": "hi", "timeout": -1},
        {"agent_name": "claude", "prompt": "hi", "timeout": 1.5},
        {"agent_name": "claude", "prompt": "hi", "timeout": 10**9},
        {"agent_name": "claude", "prompt": "hi", "timeout": True},
        {"agent_name": "claude", "prompt": "hi", "context": "text"},
        {"agent_name": "claude", "prompt": "hi", "capabilities": "vision"},
        {"agent_name": "claude", "prompt": "hi", "capabilities": [1]},
        {"agent_name": "claude", "prompt": "hi", "config": []},
    ]

    wrong = []
    for arguments in cases:
        found = call(agents.hub(), EXECUTE, **arguments)
        structured, texts = found["structuredContent"], [json.loads(block["text"]) for block in found["content"]]
        is_error = (found["isError"], structured["status"], texts) == (True, "error", [structured])
        if not is_error or not fits(EXECUTE, structured):
            wrong.append((arguments, found))

    assert not wrong
    assert not (agents.folder / "ran").exists()


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [(LIST, {"include_status": "yes"}), (REGISTER, {"tool_name": 7, "tool_spec": {}}), (REGISTER, {"tool_spec": []})],
)
def test_each_tool_refuses_invalid_arguments_in_its_own_format(
    agents: Agents, tool: str, arguments: dict[str, Any]
) -> None:
    """B1, B6: each has an output schema of its own, which an error fits too."""
    found = call(agents.hub(), tool, **arguments)

    assert found["isError"] is True
    jsonschema_rs.validate(tools()[tool]["outputSchema"], found["structuredContent"])
    assert (found["structuredContent"]["status"], found["structuredContent"].get("registered_with", [])) == (
        "error",
        [],
    )


def test_an_unexpected_exception_is_an_error_result(
    agents: Agents, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """B1, B6: a context that is nested too deeply for Python. The log has a line, at its level of detail the traceback;
    both without secrets.
    """
    monkeypatch.setenv("SOME_TOKEN", "RecursionError")
    agents.write("answer('ok')\n")
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"a": deep}

    found = execute(agents.hub(), context=deep)

    assert found["error"].startswith("execute_agent_request failed: ****: ")
    assert "execute_agent_request failed: ****: " in caplog.text
    assert "Traceback" not in caplog.text
    caplog.set_level("DEBUG", "gaia_mcp")
    execute(agents.hub(), context=deep)
    assert "Traceback" in caplog.text
    assert "RecursionError" not in caplog.text


@pytest.mark.usefixtures("agents")
def test_an_invalid_max_concurrent_is_refused() -> None:
    """Ours: as many programs at once as the machine can run, and no more."""
    accepted = []
    for number in (0, -1, 1001, "16", 1.5, True):
        try:
            accepted.append((number, load_agent("agents", {"max_concurrent": number})))
        except AgentError as error:
            assert "max_concurrent" in str(error)  # noqa: PT017

    assert not accepted


def test_the_hub_does_not_start_with_an_invalid_file(agents: Agents) -> None:
    """Ours: the person who starts it learns which member is wrong."""
    agents.configure({"local": {"endpoint": "ftp://x"}})

    with pytest.raises(AgentError, match="agent 'local': 'endpoint'"):
        load_agent("agents", {"config": str(agents.config)})


def test_a_cancelled_request_ends_the_agent(agents: Agents) -> None:
    """Ours: with its process group, and without an answer."""
    agents.write_shell(f"echo x >> {agents.folder}/begun\nsleep 600 & sleep 600\n")
    running = Call()
    ends: list[BaseException] = []

    def run() -> None:
        try:
            call(agents.hub(), EXECUTE, running, agent_name="claude", prompt="hi", timeout=600)
        except BaseException as end:
            ends.append(end)

    thread = threading.Thread(target=run)
    thread.start()
    wait_until((agents.folder / "begun").exists)
    running.cancel()
    thread.join()

    assert [type(end) for end in ends] == [CallCancelledError]
    assert agents.left() == []


def test_a_long_request_reports_progress(agents: Agents) -> None:
    """Ours: until the agent answers."""
    agents.write(f"sys.stdin.read()\nwhile not os.path.exists({str(agents.folder / 'seen')!r}): time.sleep(0.05)\n"
                 "answer('ok')\n")  # fmt: skip
    seen: list[tuple[float, float | None, str]] = []

    def on_progress(done: float, total: float | None, text: str) -> None:
        seen.append((done, total, text))
        if len(seen) == 2:
            (agents.folder / "seen").touch()

    found = call(agents.hub(), EXECUTE, Call(on_progress), agent_name="claude", prompt="hi", timeout=600)

    assert found["structuredContent"]["content"] == "ok"
    assert 0 < seen[0][0] < seen[1][0]
    assert seen[0][1] == 600
    assert seen[0][2].startswith("claude is working")


def test_sixteen_agents_run_at_once_and_the_next_is_refused_at_once(agents: Agents) -> None:
    """B6 and the figure: each gets its own answer; the seventeenth does not wait for any of them."""
    agents.write(f"""
prompt = sys.stdin.read()
open({str(agents.folder)!r} + "/begun-" + prompt, "w")
while not os.path.exists({str(agents.folder / "go")!r}): time.sleep(0.05)
answer(prompt)
""")
    agents.configure({"claude": {"max_concurrent": 100}})
    hub = agents.hub()
    found: dict[str, Any] = {}
    threads = [
        threading.Thread(target=lambda name: found.update({name: execute(hub, name, timeout=600)}), args=(str(number),))
        for number in range(16)
    ]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(list(agents.folder.glob("begun-*"))) == 16, seconds=60)

    refused = execute(hub, "17")
    (agents.folder / "go").touch()
    for thread in threads:
        thread.join()

    assert refused["status"] == "error"
    assert "16 agents are running" in refused["error"]
    assert {name: each["content"] for name, each in found.items()} == {str(n): str(n) for n in range(16)}
    assert execute(hub, "again")["content"] == "again"
    assert agents.left() == []


def test_a_hundred_cancelled_requests_leave_no_process(agents: Agents) -> None:
    """The figure: sixteen at a time, each cancelled at another moment of its run."""
    agents.write_shell("trap '' TERM\nsleep 600 &\nsetsid sleep 600 &\ncat > /dev/null\nsleep 600\n")
    agents.configure({"claude": {"max_concurrent": 16, "per_minute": 1000}})
    provider = AgentProvider(agents.hub())
    places = threading.Semaphore(16)
    ends: list[str] = []

    def run(number: int) -> None:
        running = Call()
        timer = threading.Timer(0.02 * (number % 16), running.cancel)
        timer.start()
        arguments = {"agent_name": "claude", "prompt": "hi", "timeout": 600}
        try:
            provider.answer("tools/call", {"name": EXECUTE, "arguments": arguments}, running)
        except CallCancelledError:
            ends.append("cancelled")
        finally:
            timer.cancel()
            places.release()

    threads = []
    for number in range(100):
        places.acquire()
        threads.append(threading.Thread(target=run, args=(number,)))
        threads[-1].start()
    for thread in threads:
        thread.join()

    assert ends == ["cancelled"] * 100
    assert agents.left() == []
