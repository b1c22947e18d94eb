"""A manager as a provider, and behind a real server."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from gaia_mcp import MCPClient, __version__, current_call
from gaia_mcp.agents.demo import DemoAgent
from gaia_mcp.asking import Call, CallCancelledError
from gaia_mcp.errors import CancelledError
from gaia_mcp.handlers.base import MCPHandler, MCPHandlerConfig, MCPToolDefinition, MCPToolResult
from gaia_mcp.manager.adapters import AgentHandler, FullDefinition
from gaia_mcp.manager.handler_manager import MCPManager
from gaia_mcp.manager.provider import ManagerProvider
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from gaia_mcp.server.provider import Change, Provider, RequestError
from tests.manager.handlers_under_test import SCHEMA, ProgrammableHandler, registry_of
from tests.server.talk import WithoutTask
from tests.waiting import PATIENCE_SECONDS, wait_until

SERVE = Path(__file__).parent / "serve_handlers.py"
# Handlers that have the tool `echo`, and others; one of these is named as another handler's would be.
CONFLICTS = {"one": ("a",), "two": ("two.echo",), "three": ()}


def provider_of(*handlers: MCPHandler, **options: Any) -> ManagerProvider:
    return ManagerProvider(MCPManager(registry_of(*handlers)), **options)


def answer(provider: Provider, method: str, **params: Any) -> dict[str, Any]:
    return provider.answer(method, params, Call())


def listed(provider: Provider) -> list[str]:
    return [tool["name"] for tool in answer(provider, "tools/list")["tools"]]


def text_of(result: dict[str, Any]) -> str:
    return "".join(block["text"] for block in result["content"])


def refused(provider: Provider, method: str, **params: Any) -> RequestError:
    with pytest.raises(RequestError) as caught:
        answer(provider, method, **params)
    return caught.value


def test_the_tools_in_scope_are_listed() -> None:
    """DESIGN, 1.4, and A3: as MCP defines tools."""
    one, two = ProgrammableHandler("one", "a", stages=["build"]), ProgrammableHandler("two", "b", stages=["deploy"])

    assert answer(provider_of(one, two, stage="build"), "tools/list") == {
        "tools": [{"name": "a", "description": "The tool a.", "inputSchema": SCHEMA}]
    }
    assert listed(provider_of(one, two)) == ["a", "b"]


def test_an_ambiguous_name_is_also_listed_with_each_of_its_handlers() -> None:
    """A6: the plain name is the first one's; the others are called with their handlers."""
    one, two, three = (ProgrammableHandler(name, "echo", *more) for name, more in CONFLICTS.items())
    provider = provider_of(one, two, three)
    two.on_call = lambda *_: MCPToolResult("the second")
    echo = {"arguments": {"text": "the first"}}

    assert listed(provider) == ["echo", "a", "two.echo", "one.echo", "three.echo"]
    assert text_of(answer(provider, "tools/call", name="echo", **echo)) == "the first"
    assert text_of(answer(provider, "tools/call", name="one.echo", **echo)) == "the first"
    assert three.calls == 0
    assert "is not of type" in text_of(answer(provider, "tools/call", name="three.echo", arguments={"text": 5}))
    assert text_of(answer(provider, "tools/call", name="three.echo", **echo)) == "the first"
    assert (two.calls, three.calls) == (0, 1)


def test_qualified_names_are_listed_only_during_a_conflict() -> None:
    """A6, A7: once the first has failed, the next one has the plain name for itself."""
    one, two = ProgrammableHandler("one", "echo"), ProgrammableHandler("two", "echo")
    one.on_call = one.fail
    provider = provider_of(one, two)
    announced: list[Change] = []
    assert listed(provider) == ["echo", "one.echo", "two.echo"]
    provider.on_change(announced.append)

    for _ in range(3):
        answer(provider, "tools/call", name="one.echo", arguments={"text": "x"})

    wait_until(lambda: Change(("tools",)) in announced)
    assert listed(provider) == ["echo"]


def test_the_text_or_the_error_of_a_handler_is_the_result() -> None:
    """DESIGN, 1.4: an error result is a result."""
    handler = ProgrammableHandler("one", "echo", "fail")
    handler.on_call = lambda name, arguments: MCPToolResult(arguments["text"], name == "fail", name * (name == "fail"))
    provider = provider_of(handler)

    assert answer(provider, "tools/call", name="echo", arguments={"text": "a"}) == {
        "content": [{"type": "text", "text": "a"}],
        "isError": False,
    }
    assert answer(provider, "tools/call", name="fail", arguments={"text": "a"}) == {
        "content": [{"type": "text", "text": "a\nfail"}],
        "isError": True,
    }


def test_unknown_tools_and_invalid_requests_are_refused() -> None:
    """Specification, server/tools: an unknown tool is invalid parameters; one out of scope is not there either."""
    provider = provider_of(ProgrammableHandler("one", "a", stages=["deploy"]), stage="build")

    for name in ("a", "b", "one.a"):
        error = refused(provider, "tools/call", name=name)
        assert (error.code, str(error)) == (INVALID_PARAMS, f"Unknown tool: {name}")
    assert refused(provider, "tools/call").code == INVALID_PARAMS
    assert refused(provider, "tools/call", name="a", arguments=[]).code == INVALID_PARAMS
    assert refused(provider, "tools/list", cursor="next").code == INVALID_PARAMS
    assert refused(provider, "prompts/list").code == METHOD_NOT_FOUND


def test_arguments_are_checked_before_a_handler_is_called() -> None:
    """Specification, server/tools: servers must validate inputs; a model's mistake does not trip the handler."""
    handler = ProgrammableHandler("one", "echo")
    provider = provider_of(handler)

    for _ in range(5):
        result = answer(provider, "tools/call", name="echo", arguments={"text": 5})
        assert result["isError"]
        assert "Expected tool schema:" in text_of(result)

    assert handler.calls == 0
    assert text_of(answer(provider, "tools/call", name="echo", arguments={"text": "a"})) == "a"


def test_an_argument_sent_as_text_reaches_a_handler_as_what_it_is() -> None:
    """Ours: as in a served agent."""
    handler = ProgrammableHandler("one")
    handler.on_list = lambda: [MCPToolDefinition("add", "", {"properties": {"n": {"type": "integer"}}}, "one")]
    handler.on_call = lambda _, arguments: MCPToolResult(str(arguments["n"] + 1))

    assert text_of(answer(provider_of(handler), "tools/call", name="add", arguments={"n": "5"})) == "6"


def test_an_invalid_input_schema_is_reported_once() -> None:
    """Ours: the tool can be called all the same."""
    handler = ProgrammableHandler("one")
    schema = {"properties": {"text": {"pattern": "["}}}
    handler.on_list = lambda: [MCPToolDefinition("echo", "", schema, "one")]
    problems: list[str] = []
    provider = provider_of(handler, report=problems.append)

    for _ in range(2):
        assert text_of(answer(provider, "tools/call", name="echo", arguments={"text": "a"})) == "a"

    (problem,) = problems
    assert problem.startswith("the input schema of 'echo' cannot be used: ")


def test_a_definition_that_is_not_json_is_left_out() -> None:
    """A8: the other tools are there, and the reason is reported once."""
    handler = ProgrammableHandler("one")
    bad = MCPToolDefinition("bad", "", {"default": {1, 2}}, "one")
    handler.on_list = lambda: [bad, MCPToolDefinition("good", "", {}, "one")]
    problems: list[str] = []
    provider = provider_of(handler, report=problems.append)

    assert listed(provider) == listed(provider) == ["good"]
    assert problems == [
        "tool 'bad' is left out: its definition is not JSON: Object of type set is not JSON serializable"
    ]


def test_metadata_may_hold_content_and_structured_content() -> None:
    """DESIGN, 1.4: also of a plain handler; what is not JSON is an error."""
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    handler = ProgrammableHandler("one", "a", "bad")
    handler.on_call = lambda name, _: MCPToolResult(
        "", metadata={"content": [image], "structuredContent": {"a": 1} if name == "a" else object()}
    )
    provider = provider_of(handler)

    assert answer(provider, "tools/call", name="a") == {
        "content": [image],
        "isError": False,
        "structuredContent": {"a": 1},
    }
    bad = answer(provider, "tools/call", name="bad")
    assert bad["isError"]
    assert "not JSON: structuredContent is of type object" in text_of(bad)


def test_an_invalid_result_is_a_tool_error() -> None:
    """Specification, MS-16: of a tool with an output schema, and of every other."""
    handler = ProgrammableHandler("one", max_result_bytes=10_000)
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    handler.on_list = lambda: [FullDefinition("a", "", {}, "one", {"outputSchema": schema})]
    provider = provider_of(handler)
    rows: list[tuple[dict[str, Any], str]] = [
        ({}, "no structured content, which its output schema requires"),
        ({"structuredContent": {"x": "1"}}, "structured content that does not fit its output schema: x: "),
        ({"structuredContent": {"x": 1}, "_meta": 5}, "an invalid result: _meta is not an object"),
        ({"structuredContent": {"x": 1}, "content": [{"type": "text"}]}, "an invalid result: content[0]"),
    ]

    for metadata, problem in rows:
        handler.on_call = lambda *_, metadata=metadata: MCPToolResult("text", metadata=metadata)
        result = answer(provider, "tools/call", name="a")
        assert result["isError"] is True, metadata
        assert text_of(result).startswith(f"tool 'a' returned {problem}")
        handler.on_call = lambda *_: MCPToolResult("text", metadata={"structuredContent": {"x": 1}})
        assert answer(provider, "tools/call", name="a")["structuredContent"] == {"x": 1}


def test_a_tool_that_must_run_as_a_task_is_refused_without_one() -> None:
    """Specification 2025-11-25, LS-8."""
    handler = ProgrammableHandler("one")
    handler.on_list = lambda: [FullDefinition("a", "", {}, "one", {"execution": {"taskSupport": "required"}})]

    with pytest.raises(RequestError) as caught:
        provider_of(handler).answer("tools/call", {"name": "a"}, WithoutTask())

    assert caught.value.code == METHOD_NOT_FOUND


def test_an_invalid_output_schema_is_reported_once() -> None:
    """Ours: the result is worth more than the schema."""
    handler = ProgrammableHandler("one")
    handler.on_list = lambda: [FullDefinition("a", "", {}, "one", {"outputSchema": {"type": "nonsense"}})]
    handler.on_call = lambda *_: MCPToolResult("text", metadata={"structuredContent": 5})
    problems: list[str] = []
    provider = provider_of(handler, report=problems.append)

    for _ in range(2):
        assert answer(provider, "tools/call", name="a")["structuredContent"] == 5

    (problem,) = problems
    assert problem.startswith("the output schema of 'a' cannot be used: ")


def test_an_agent_behind_a_manager_answers_as_if_it_were_served_alone() -> None:
    """DESIGN, 1.4: definitions and results are those of the agent served by itself."""
    from gaia_mcp.server.agent import AgentProvider

    through = provider_of(AgentHandler(DemoAgent(), MCPHandlerConfig("demo", max_result_bytes=10**6)))
    itself = AgentProvider(DemoAgent())

    assert answer(through, "tools/list") == answer(itself, "tools/list")
    for name, arguments in (("add", {"a": 1, "b": 2}), ("picture", {}), ("attach", {}), ("fail", {}), ("greet", {})):
        asked = {"name": name, "arguments": arguments}
        assert answer(through, "tools/call", **asked) == answer(itself, "tools/call", **asked)


def test_the_instructions_are_those_of_the_handlers() -> None:
    """Ours: instructions for a model, as far as they are known; those that are given come first."""
    one, two = ProgrammableHandler("one", "a"), ProgrammableHandler("two", "b")
    one.description, two.description = "Prices.", "Logs."

    described = provider_of(one, two, name="ours").describe()

    assert described.info == {"name": "ours", "version": __version__}
    assert described.capabilities == {"tools": {"listChanged": True}, "logging": {}}
    assert described.instructions == "one: Prices.\n\ntwo: Logs."
    assert provider_of(one).describe().instructions == "Prices."
    assert provider_of(one, instructions="Be quick.").describe().instructions == "Be quick."
    assert provider_of(ProgrammableHandler("none")).describe().instructions == ""
    assert one.connects == 0


def test_progress_and_logs_of_a_handler_reach_the_client() -> None:
    """DESIGN, 1.4: its progress and log messages go to the client."""
    sent: list[Any] = []
    handler = ProgrammableHandler("one", "work")

    def work(*_: object) -> MCPToolResult:
        current_call().progress(1, 2, "half")
        current_call().log("info", "so far")
        return MCPToolResult("done")

    handler.on_call = work
    call = Call(lambda *report: sent.append(report), lambda *log: sent.append(log))

    provider_of(handler).answer("tools/call", {"name": "work"}, call)

    assert sent == [(1, 2, "half"), ("info", "so far")]
    assert current_call() is not call


def test_a_cancelled_call_does_not_wait_for_its_handler() -> None:
    """A8: its thread is left behind, as it is after the timeout; that counts neither way."""
    ended, begun = threading.Event(), threading.Event()
    handler = ProgrammableHandler("one", "hang")
    handler.on_call = lambda *_: (begun.set(), ended.wait(30), MCPToolResult(""))[2]
    manager = MCPManager(registry_of(handler))
    call = Call()
    threading.Thread(target=lambda: (begun.wait(PATIENCE_SECONDS), call.cancel())).start()

    with pytest.raises(CallCancelledError):
        ManagerProvider(manager).answer("tools/call", {"name": "hang"}, call)

    assert manager._error_counts == {"one": 0}
    ended.set()


def test_changes_are_announced_after_the_tools_were_listed() -> None:
    """DESIGN, 1.4: when the breaker trips, and after new discoveries; not by listing alone."""
    flaky, late = ProgrammableHandler("flaky", "fail"), ProgrammableHandler("late", "late")
    flaky.on_call = flaky.fail
    registry = registry_of(flaky)
    manager = MCPManager(registry)
    provider = ManagerProvider(manager)
    heard: list[Change] = []
    forget = provider.on_change(lambda change: heard.append(change) if change.lists else None)

    assert listed(provider) == listed(provider) == ["fail"]
    assert heard == []
    for _ in range(3):
        answer(provider, "tools/call", name="fail", arguments={})
    wait_until(lambda: heard == [Change(("tools",))])
    assert listed(provider) == []
    registry.register_custom(late)
    answer(provider, "tools/call", name="late", arguments={"text": ""})
    wait_until(lambda: heard == [Change(("tools",))] * 2)

    forget()
    manager.shutdown_all()
    assert heard == [Change(("tools",))] * 2


def test_close_disconnects_the_handlers() -> None:
    """DESIGN, STYLE: the code that opens a connection closes it."""
    handler = ProgrammableHandler("one", "a")
    provider = provider_of(handler)
    listed(provider)

    provider.close()

    assert not handler._connected


@pytest.mark.story
def test_handlers_and_a_remote_server_are_served_to_a_real_client() -> None:
    """DESIGN, 1.4: scope, images, structured content, progress, cancellation, and a list that changes."""
    changes: list[str] = []
    with MCPClient.from_config("handlers", {"command": sys.executable, "args": [str(SERVE)]}) as client:
        client.on_list_changed = changes.append
        tools = {tool.name: tool for tool in client.list_tools()}
        assert "hidden" not in tools
        assert tools["add"].output_schema is not None
        assert "hidden" in client.call_tool("hidden", {"text": "a"})["error"]

        assert client.call_tool("add", {"a": 1, "b": 2})["structuredContent"] == {"sum": 3}
        assert client.call_tool("picture", {})["content"][0]["type"] == "image"
        progress: list[float] = []
        counted = client.call_tool(
            "countdown", {"steps": 3, "seconds": 0.01}, on_progress=lambda report: progress.append(report.progress)
        )
        assert (counted["isError"], progress[-1]) == (False, 3)
        deadline = client.deadline()
        threading.Timer(0.2, deadline.cancel).start()
        with pytest.raises(CancelledError):
            client.call("countdown", {"steps": 3, "seconds": 60}, deadline)

        for _ in range(3):
            assert client.call_tool("flaky", {})["isError"]
        wait_until(lambda: changes == ["tools"])
        assert "flaky" not in [tool.name for tool in client.list_tools()]
        assert text_of(client.call_tool("flaky", {})) == "Handler 'flaky' is unavailable"
        assert client.call_tool("greet", {"name": "Ada"})["content"][0]["text"] == "Hello, Ada!"
