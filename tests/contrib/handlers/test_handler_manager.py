"""A manager as a provider, and behind a real server."""

from __future__ import annotations

import gc
import logging
import re
import sqlite3
import sys
import threading
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp import MCPClient, __version__, current_call
from gaia_mcp.agents.base.console import AgentConsole
from gaia_mcp.agents.demo import DemoAgent
from gaia_mcp.asking import Call, CallCancelledError
from gaia_mcp.contrib.handlers.adapters import AgentHandler, FullDefinition
from gaia_mcp.contrib.handlers.base import MCPHandler, MCPHandlerConfig, MCPRegistry, MCPToolDefinition, MCPToolResult
from gaia_mcp.contrib.handlers.handler_manager import ManagerProvider, MCPManager
from gaia_mcp.core.errors import CancelledError
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from gaia_mcp.server.provider import Change, Provider, RequestError
from tests.contrib.handlers.handlers_under_test import SCHEMA, Console, ProgrammableHandler, at_once, names, registry_of
from tests.server.talk import WithoutTask
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

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


@pytest.fixture
def console() -> Console:
    return Console()


@pytest.fixture
def manage(console: Console) -> Iterator[Callable[..., MCPManager]]:
    """Makes a manager of handlers, whose handlers are disconnected at the end."""
    with ExitStack() as managers:
        yield lambda *handlers: managers.enter_context(MCPManager(registry_of(*handlers), console))


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """What hangs in a test waits for this, which is set at its end."""
    event = threading.Event()
    yield event
    event.set()


def failing(name: str, *tools: str, **config: Any) -> ProgrammableHandler:
    handler = ProgrammableHandler(name, *tools, **config)
    handler.on_call = handler.fail
    return handler


def test_the_scope_selects_the_listed_tools(manage: Callable[..., MCPManager]) -> None:
    """A3: null means all, an empty list nothing, "all" every stage, and a caller's None passes; both must match."""
    everywhere = ProgrammableHandler("everywhere", "everywhere")
    build = ProgrammableHandler("build", "build", stages=["build"])
    every = ProgrammableHandler("every", "every", stages=["all"])
    coder = ProgrammableHandler("coder", "coder", agents=["coder"])
    both = ProgrammableHandler("both", "both", stages=["build"], agents=["coder"])
    nothing = ProgrammableHandler("nothing", "nothing", stages=[])
    disabled = ProgrammableHandler("disabled", "disabled", enabled=False)
    manager = manage(everywhere, build, every, coder, both, nothing, disabled)

    def listed(**scope: str) -> list[str]:
        return names(manager.get_tools_for_scope(**scope))

    assert listed(stage="build", agent="coder") == ["everywhere", "build", "every", "coder", "both"]
    assert listed(stage="build", agent="cook") == ["everywhere", "build", "every"]
    assert listed(stage="deploy") == ["everywhere", "every", "coder"]
    assert listed(agent="coder") == ["everywhere", "build", "every", "coder", "both", "nothing"]
    assert listed() == ["everywhere", "build", "every", "coder", "both", "nothing"]
    assert disabled.connects == 0


def test_scope_is_enforced_when_a_tool_is_called(manage: Callable[..., MCPManager]) -> None:
    """A3: also in calling when the caller names its stage or agent."""
    handler = ProgrammableHandler("one", "echo", stages=["build"], agents=["coder"])
    manager = manage(handler)

    assert manager.call_tool("echo", {"text": "a"}, stage="build", agent="coder").content == "a"
    assert manager.call_tool("echo", {"text": "b"}).content == "b"
    for scope in ({"stage": "deploy"}, {"agent": "cook"}, {"stage": "build", "agent": "cook"}):
        refused = manager.call_tool("echo", {"text": "c"}, **scope)
        assert refused.is_error
        assert "cannot be used" in refused.error_message
    assert handler.calls == 2
    assert manager._error_counts["one"] == 0


def test_a_handler_out_of_scope_is_not_connected(manage: Callable[..., MCPManager]) -> None:
    """A3, A5: a call connects nothing that it may not use."""
    handler = ProgrammableHandler("one", "echo", stages=["build"])
    manager = manage(handler)

    assert manager.call_tool("echo", {"text": "a"}, stage="deploy").error_message == "Unknown tool: echo"
    assert handler.connects == 0


def test_a_handler_that_is_disabled_later_is_not_used(manage: Callable[..., MCPManager]) -> None:
    """A3: `enabled: false` never."""
    handler = ProgrammableHandler("one", "echo")
    manager = manage(handler)
    manager.get_tools_for_scope()

    handler.config.enabled = False

    assert manager.get_tools_for_scope() == []
    assert manager.call_tool("echo", {"text": "a"}).is_error
    assert handler.calls == 0


def test_a_handler_is_connected_when_it_is_first_needed(manage: Callable[..., MCPManager]) -> None:
    """A5: not before, and once."""
    handler = ProgrammableHandler("one", "echo")
    manager = manage(handler)
    assert handler.connects == 0

    assert names(manager.get_tools_for_scope()) == ["echo"]
    manager.get_tools_for_scope()
    manager.call_tool("echo", {"text": "a"})

    assert handler._connected
    assert handler.connects == 1


def test_a_tool_can_be_called_without_any_discovery(manage: Callable[..., MCPManager]) -> None:
    """A5."""
    handler = ProgrammableHandler("one", "echo")

    assert manage(handler).call_tool("echo", {"text": "a"}) == MCPToolResult("a")
    assert handler.connects == 1


def test_eight_discoveries_at_once_connect_a_handler_once(manage: Callable[..., MCPManager]) -> None:
    """A5: also under eight concurrent discoveries, and all of them list everything."""
    handlers = [ProgrammableHandler(f"h{number}", f"tool{number}") for number in range(5)]
    manager = manage(*handlers)

    listed = at_once(8, lambda _: names(manager.get_tools_for_scope()))

    assert listed == [[f"tool{number}" for number in range(5)]] * 8
    assert [handler.connects for handler in handlers] == [1] * 5


def test_a_handler_that_is_being_connected_blocks_no_other(
    manage: Callable[..., MCPManager], released: threading.Event
) -> None:
    """A5: neither a known tool nor one that is looked for; and the handlers are connected at the same time."""
    connecting = threading.Event()
    slow, quick, known = (ProgrammableHandler(name, name) for name in ("slow", "quick", "known"))
    slow.on_connect = lambda: (connecting.set(), released.wait(30))
    manager = manage(slow, quick, known)
    listed: list[list[str]] = []
    listing = threading.Thread(target=lambda: listed.append(names(manager.get_tools_for_scope())))
    listing.start()
    assert connecting.wait(PATIENCE_SECONDS)

    assert manager.call_tool("quick", {"text": "a"}).content == "a"
    assert manager.call_tool("known.known", {"text": "b"}).content == "b"
    assert listed == []
    released.set()
    listing.join(PATIENCE_SECONDS)
    assert listed == [["slow", "quick", "known"]]


def test_a_failed_connection_is_not_tried_again_before_shutdown(
    manage: Callable[..., MCPManager], console: Console
) -> None:
    """A5: one warning with the reason, and the other handlers go on."""
    broken, sound = ProgrammableHandler("broken", "lost"), ProgrammableHandler("sound", "echo")

    def refuse() -> None:
        raise ConnectionRefusedError("nothing listens there")

    broken.on_connect = refuse
    manager = manage(broken, sound)

    assert names(manager.get_tools_for_scope()) == ["echo"]
    assert names(manager.get_tools_for_scope()) == ["echo"]
    assert manager.call_tool("lost", {}).error_message == "Unknown tool: lost"
    assert manager.call_tool("broken.lost", {}).error_message == "Handler 'broken' is unavailable"
    assert manager._failed_handlers == {"broken"}
    assert broken.connects == 1
    assert console.warnings == ["MCP handler 'broken' failed to connect: ConnectionRefusedError: nothing listens there"]

    manager.shutdown_all()
    broken.on_connect = lambda: None
    assert names(manager.get_tools_for_scope()) == ["lost", "echo"]
    assert broken.connects == 2


def test_a_handler_that_does_not_set_connected_has_failed(manage: Callable[..., MCPManager], console: Console) -> None:
    """A5: `_connected` is the attribute that a handler sets in `connect()`."""
    handler = ProgrammableHandler("one", "echo")
    handler.on_connect = lambda: setattr(handler, "_connected", False)
    manager = manage(handler)

    assert manager.get_tools_for_scope() == []
    assert manager._failed_handlers == {"one"}
    assert len(console.warnings) == 1


def test_a_tool_of_two_disjoint_scopes_is_usable_in_both(manage: Callable[..., MCPManager], console: Console) -> None:
    """A6: without a warning, since no caller meets both."""
    build, deploy = (ProgrammableHandler(stage, "run", stages=[stage]) for stage in ("build", "deploy"))
    build.on_call, deploy.on_call = (lambda *_: MCPToolResult("built")), (lambda *_: MCPToolResult("deployed"))
    manager = manage(build, deploy)

    assert [tool.handler_name for tool in manager.get_tools_for_scope(stage="build")] == ["build"]
    assert [tool.handler_name for tool in manager.get_tools_for_scope(stage="deploy")] == ["deploy"]
    assert [tool.handler_name for tool in manager.get_tools_for_scope()] == ["build"]
    assert manager.call_tool("run", {}, stage="build").content == "built"
    assert manager.call_tool("run", {}, stage="deploy").content == "deployed"
    assert manager.call_tool("run", {}).content == "built"
    assert console.warnings == []


def test_the_first_handler_of_a_scope_is_used_with_one_warning(
    manage: Callable[..., MCPManager], console: Console
) -> None:
    """A6: under eight concurrent listings too."""
    first, second = ProgrammableHandler("first", "echo"), ProgrammableHandler("second", "echo", "other")
    first.on_call = lambda *_: MCPToolResult("first")
    manager = manage(first, second)

    listed = at_once(8, lambda _: [(tool.name, tool.handler_name) for tool in manager.get_tools_for_scope()])

    assert listed == [[("echo", "first"), ("other", "second")]] * 8
    assert manager.call_tool("echo", {"text": "a"}).content == "first"
    assert manager._tool_map == {"echo": "first", "other": "second"}
    assert manager.call_tool("second.echo", {"text": "a"}).content == "a"
    both = "MCP handlers 'first' and 'second' both have the tool 'echo'"
    assert console.warnings == [f"{both}: the first one is used; the other is 'second.echo'"]


def test_the_first_handler_is_used_without_any_discovery(manage: Callable[..., MCPManager]) -> None:
    """A5, A6: whichever of them is connected sooner."""
    for _ in range(20):
        first, second = ProgrammableHandler("first", "echo"), ProgrammableHandler("second", "echo")
        manager = manage(first, second)
        manager.call_tool("echo", {"text": "a"})
        assert (first.calls, second.calls) == (1, 0)


def test_the_next_handler_is_used_after_the_first_has_tripped(manage: Callable[..., MCPManager]) -> None:
    """A6."""
    first, second = failing("first", "echo"), ProgrammableHandler("second", "echo")
    manager = manage(first, second)
    for _ in range(3):
        assert manager.call_tool("echo", {"text": "a"}).is_error

    assert manager.call_tool("echo", {"text": "a"}).content == "a"
    assert [tool.handler_name for tool in manager.get_tools_for_scope()] == ["second"]
    assert manager._tool_map == {"echo": "second"}
    assert manager.call_tool("first.echo", {"text": "a"}).error_message == "Handler 'first' is unavailable"


def test_exactly_three_consecutive_errors_trip_a_handler(manage: Callable[..., MCPManager], console: Console) -> None:
    """A7: then its tools are hidden, and calls are answered without traffic, after one warning that names it."""
    handler, other = failing("one", "fail"), ProgrammableHandler("other", "echo")
    manager = manage(handler, other)

    for count in (1, 2):
        assert manager.call_tool("fail", {}).error_message == "it failed"
        assert manager._error_counts["one"] == count
        assert manager._failed_handlers == set()
        assert "fail" in names(manager.get_tools_for_scope())
    assert manager.call_tool("fail", {}).error_message == "it failed"

    assert manager._failed_handlers == {"one"}
    assert names(manager.get_tools_for_scope()) == ["echo"]
    assert manager.call_tool("fail", {}) == manager.call_tool("fail", {})
    assert manager.call_tool("fail", {}).error_message == "Handler 'one' is unavailable"
    assert (handler.calls, manager._error_counts["one"]) == (3, 3)
    assert console.warnings == ["MCP handler 'one' is disabled after 3 consecutive errors"]


def test_a_success_resets_the_errors(manage: Callable[..., MCPManager]) -> None:
    """A7: only consecutive errors count."""
    handler = ProgrammableHandler("one", "maybe")
    answers = [True, True, False, True, True, False]
    handler.on_call = lambda *_: MCPToolResult("", is_error=answers.pop(0))
    manager = manage(handler)

    counts = []
    while answers:
        manager.call_tool("maybe", {})
        counts.append(manager._error_counts["one"])

    assert counts == [1, 2, 0, 1, 2, 0]


def test_an_unknown_tool_does_not_count(manage: Callable[..., MCPManager]) -> None:
    """A7: nor do arguments that are no object."""
    handler = ProgrammableHandler("one", "echo")
    manager = manage(handler)

    for _ in range(5):
        assert manager.call_tool("none", {}).error_message == "Unknown tool: none"
        assert manager.call_tool("one.none", {}).error_message == "Unknown tool: one.none"
        assert manager.call_tool("echo", ["a"]).is_error  # type: ignore[arg-type]
    assert manager._error_counts["one"] == 0
    assert handler.calls == 0


def test_concurrent_errors_cause_one_warning(manage: Callable[..., MCPManager], console: Console) -> None:
    """A7: one warning naming the handler even under concurrency, and no more than three errors are counted."""
    handler = failing("one", "fail")
    manager = manage(handler)
    manager.get_tools_for_scope()

    results = at_once(32, lambda _: manager.call_tool("fail", {}))

    assert {result.error_message for result in results} <= {"it failed", "Handler 'one' is unavailable"}
    assert manager._error_counts["one"] == 3
    assert console.warnings == ["MCP handler 'one' is disabled after 3 consecutive errors"]


def test_shutdown_resets_the_circuit_breakers_and_the_connections(manage: Callable[..., MCPManager]) -> None:
    """A7: a tripped handler is used again, and is connected anew."""
    handler = failing("one", "fail")
    manager = manage(handler)
    for _ in range(3):
        manager.call_tool("fail", {})

    manager.shutdown_all()

    assert not handler._connected
    assert (handler.connects, handler.disconnects) == (1, 1)
    assert manager._tool_map == {}
    assert manager._failed_handlers == set()
    assert manager._error_counts == {"one": 0}
    assert names(manager.get_tools_for_scope()) == ["fail"]
    assert manager.call_tool("fail", {}).error_message == "it failed"
    assert handler.connects == 2


def test_a_manager_is_a_context_manager_that_disconnects() -> None:
    """A7, and the document: a clean shutdown when the session ends; twice is once."""
    handler = ProgrammableHandler("one", "echo")

    with MCPManager(registry_of(handler)) as manager:
        manager.get_tools_for_scope()
        assert handler._connected

    manager.shutdown_all()
    assert (handler.connects, handler.disconnects) == (1, 1)


def test_a_handler_that_cannot_be_disconnected_does_not_affect_the_others(caplog: pytest.LogCaptureFixture) -> None:
    """A8: the others go on."""
    broken, sound = ProgrammableHandler("broken", "a"), ProgrammableHandler("sound", "b")
    broken.on_disconnect = lambda: 1 / 0

    with MCPManager(registry_of(broken, sound)) as manager, caplog.at_level(logging.WARNING):
        manager.get_tools_for_scope()

        manager.shutdown_all()

    assert (broken.disconnects, sound.disconnects) == (1, 1)
    assert "'broken' could not be disconnected: ZeroDivisionError" in caplog.text


def test_warnings_are_logged_without_a_console(caplog: pytest.LogCaptureFixture) -> None:
    """Ours: never silence."""
    with MCPManager(registry_of(failing("one", "fail"))) as manager:
        for _ in range(3):
            manager.call_tool("fail", {})
    assert [record.getMessage() for record in caplog.records] == [
        "MCP handler 'one' is disabled after 3 consecutive errors"
    ]


class Printer:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def print(self, line: str) -> None:
        self.lines.append(line)


def test_a_console_may_be_any_object_that_prints() -> None:
    """Ours: with `print_warning`, or with `print` alone."""
    console = Printer()

    with MCPManager(registry_of(failing("one", "fail")), console) as manager:
        for _ in range(3):
            manager.call_tool("fail", {})

    assert console.lines == ["MCP handler 'one' is disabled after 3 consecutive errors"]


def test_the_console_of_an_agent_shows_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    """Ours: `AgentConsole` is such an object."""
    with MCPManager(registry_of(failing("one", "fail")), AgentConsole()) as manager:
        for _ in range(3):
            manager.call_tool("fail", {})

    assert capsys.readouterr().out == "warning: MCP handler 'one' is disabled after 3 consecutive errors\n"


def test_a_console_that_fails_does_not_affect_calls(caplog: pytest.LogCaptureFixture) -> None:
    """Ours: the warning is logged then."""
    with MCPManager(registry_of(failing("one", "fail")), Printer) as manager:
        for _ in range(3):
            assert manager.call_tool("fail", {}).is_error
    assert "MCP handler 'one' is disabled after 3 consecutive errors" in caplog.messages


def exits() -> None:
    raise SystemExit(3)


MISTAKES: list[tuple[Callable[..., Any], str]] = [
    (lambda *_: {}["key"], "tool 'bad' of handler 'one' failed: KeyError: 'key'"),
    (lambda *_: exits(), "tool 'bad' of handler 'one' failed: SystemExit was raised: 3"),
    (lambda *_: "text", "tool 'bad' of handler 'one' returned str, not an MCPToolResult"),
    (lambda *_: None, "tool 'bad' of handler 'one' returned NoneType, not an MCPToolResult"),
    (lambda *_: MCPToolResult(None), "returned a result whose content is NoneType, not str"),  # type: ignore[arg-type]
    (lambda *_: MCPToolResult({"a": 1}), "returned a result whose content is dict, not str"),  # type: ignore[arg-type]
]


def test_an_exception_or_an_invalid_result_is_an_error_that_counts(manage: Callable[..., MCPManager]) -> None:
    """A8: what it raises, `SystemExit` too, and what is not an `MCPToolResult`; the others go on."""
    for mistake, reason in MISTAKES:
        handler, other = ProgrammableHandler("one", "bad"), ProgrammableHandler("other", "echo")
        handler.on_call = mistake
        manager = manage(handler, other)

        for _ in range(3):
            result = manager.call_tool("bad", {})
            assert result.is_error, reason
            assert reason in result.error_message

        assert manager._failed_handlers == {"one"}, reason
        assert manager.call_tool("echo", {"text": "a"}).content == "a"


def test_an_exception_of_a_tool_is_reported_to_its_author(caplog: pytest.LogCaptureFixture) -> None:
    """Ours: with the exception, whose traceback names the line, and without the secrets in the settings."""
    handler = ProgrammableHandler("one", "bad", settings={"api_key": "pr1vate-w0rds"})
    handler.on_call = lambda *_: {}["no pr1vate-w0rds"]
    reported: list[tuple[str, BaseException]] = []

    with MCPManager(registry_of(handler), on_failure=lambda what, error: reported.append((what, error))) as manager:
        assert manager.call_tool("bad", {}).is_error
    with caplog.at_level(logging.DEBUG), MCPManager(registry_of(handler)) as manager:
        assert manager.call_tool("bad", {}).is_error

    ((what, error),) = reported
    assert what == "tool 'bad' raised KeyError: 'no ****'"
    assert isinstance(error, KeyError)
    (record,) = [record for record in caplog.records if "raised" in record.getMessage()]
    assert record.exc_info is not None
    assert record.exc_info[0] is KeyError


def test_a_call_that_hangs_is_abandoned(
    manage: Callable[..., MCPManager], released: threading.Event, caplog: pytest.LogCaptureFixture
) -> None:
    """A8: an error result that counts, a warning that names the handler and the tool; the others go on."""
    handler, other = ProgrammableHandler("one", "hang", "echo"), ProgrammableHandler("other", "other")
    handler.on_call = lambda name, _: (name == "hang" and released.wait(30), MCPToolResult(name))[1]
    manager = manage(handler, other)
    manager.get_tools_for_scope()

    # Only while it hangs: on a busy machine everything else may take longer.
    handler.config.timeout = 0.1
    result = manager.call_tool("hang", {})
    handler.config.timeout = 30

    assert result.is_error
    assert result.error_message == "tool 'hang' of handler 'one' timed out: it did not return within 0.1 s"
    assert manager._error_counts["one"] == 1
    assert [record.getMessage() for record in caplog.records] == [
        "MCP handler 'one' hangs in tool 'hang': it did not return within 0.1 s; its thread is left behind"
    ]
    assert manager.call_tool("other", {"text": "a"}).content == "a"
    assert manager.call_tool("echo", {}).content == "echo"


def test_a_handler_that_hangs_in_connect_or_list_tools_is_left_out(
    manage: Callable[..., MCPManager], released: threading.Event, console: Console
) -> None:
    """A8: the others are listed; the reason is shown."""
    connects, lists, sound = (ProgrammableHandler(name, name) for name in ("connects", "lists", "sound"))
    connects.config.timeout = 0.1
    connects.on_connect = lambda: released.wait(30)
    lists.on_connect = lambda: setattr(lists.config, "timeout", 0.1)
    lists.on_list = lambda: released.wait(30)

    assert names(manage(connects, lists, sound).get_tools_for_scope()) == ["sound"]
    assert sorted(console.warnings) == [
        "MCP handler 'connects' failed to connect: it did not return within 0.1 s",
        "MCP handler 'lists' did not list its tools: it did not return within 0.1 s",
    ]


@pytest.mark.parametrize("listed", [None, 5, "raise"])
def test_a_handler_that_does_not_list_its_tools_is_left_out(
    manage: Callable[..., MCPManager], console: Console, listed: Any
) -> None:
    """A8: that counts as an error as well; the others go on."""
    handler, other = ProgrammableHandler("one", "lost"), ProgrammableHandler("other", "echo")
    handler.on_list = lambda: 1 / 0 if listed == "raise" else listed
    manager = manage(handler, other)

    for _ in range(4):
        assert names(manager.get_tools_for_scope()) == ["echo"]

    assert handler.lists == 3
    assert manager._failed_handlers == {"one"}
    assert [warning.partition(":")[0] for warning in console.warnings] == [
        *["MCP handler 'one' did not list its tools"] * 3,
        "MCP handler 'one' is disabled after 3 consecutive errors",
    ]


def test_invalid_definitions_are_left_out_with_a_warning(manage: Callable[..., MCPManager], console: Console) -> None:
    """A8: shown once, and the usable ones of the same handler are there; a generator is a list too."""
    handler = ProgrammableHandler("one")
    odd = MCPToolDefinition("odd", None, None, "another")  # type: ignore[arg-type]
    handler.on_list = lambda: iter([None, "tool", MCPToolDefinition("", "", {}, ""), *[odd] * 2])
    manager = manage(handler)

    assert manager.get_tools_for_scope() == [MCPToolDefinition("odd", "", {}, "one")]
    manager.get_tools_for_scope()

    assert console.warnings == [
        *[f"MCP handler 'one': tool {n} is not an MCPToolDefinition with a name, and is left out" for n in (1, 2, 3)],
        "MCP handler 'one': tool 'odd' is listed twice; the first one is used",
    ]


def test_the_types_of_a_result_are_normalised(manage: Callable[..., MCPManager]) -> None:
    """Ours: callers get the types that the contract names."""
    handler = ProgrammableHandler("one", "loose")
    handler.on_call = lambda *_: MCPToolResult("a", 1, None, None)  # type: ignore[arg-type]

    assert manage(handler).call_tool("loose", {}) == MCPToolResult("a", True, "", {})


def test_a_handler_always_runs_in_the_same_thread(manage: Callable[..., MCPManager]) -> None:
    """Ours: what was opened in `connect()` may be bound to its thread, as SQLite's connections are."""
    handler = ProgrammableHandler("one", "count")
    opened: list[sqlite3.Connection] = []
    handler.on_connect = lambda: opened.append(sqlite3.connect(":memory:"))
    handler.on_call = lambda *_: MCPToolResult(str(opened[0].execute("select 1 + 1").fetchone()[0]))
    handler.on_disconnect = lambda: opened.pop().close()
    manager = manage(handler)

    for _ in range(3):
        manager.get_tools_for_scope()
        assert manager.call_tool("count", {}).content == "2"
    manager.shutdown_all()
    assert opened == []


def test_results_are_truncated_to_max_result_bytes(manage: Callable[..., MCPManager]) -> None:
    """A9: by bytes of UTF-8 on a character boundary, marked; errors too."""
    for text, limit, cut in [
        ("abcd", 4, "abcd"),
        ("abcde", 4, "abcd...(truncated)"),
        ("aéb", 2, "a...(truncated)"),
        ("é", 0, "...(truncated)"),
    ]:
        handler = ProgrammableHandler("one", "echo", "fail", max_result_bytes=limit)
        handler.on_call = lambda name, _, text=text: MCPToolResult(*([text] if name == "echo" else ["", True, text]))
        manager = manage(handler)

        assert manager.call_tool("echo", {}).content == cut
        assert manager.call_tool("fail", {}).error_message == cut


HOSTILE_NAMES = [
    "filesystem.readFile", "filesystem_readFile", "filesystem/readFile", "файл.читать", "файл.писать", "读取文件",
    "a b", "x" * 64, "x" * 65, "y" * 200, "y" * 199 + "z", "-", "...", "emoji🙂", "tab\t", "ok",
]  # fmt: skip


def test_every_tool_becomes_a_function_that_openai_allows(manage: Callable[..., MCPManager]) -> None:
    """A10: names match OpenAI's pattern, are unique, and map back on call, also in a new manager."""
    handler = ProgrammableHandler("one", *HOSTILE_NAMES)
    handler.on_call = lambda name, _: MCPToolResult(name)
    manager = manage(handler)

    functions = [tool["function"]["name"] for tool in manager.get_tools_as_openai_schema()]

    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name) for name in functions)
    assert len(set(functions)) == len(HOSTILE_NAMES)
    assert [manager.call_tool(name, {}).content for name in functions] == HOSTILE_NAMES
    assert functions[1] == "filesystem_readFile"
    again = manage(handler)
    assert [again.call_tool(name, {}).content for name in functions] == HOSTILE_NAMES


def test_a_tool_keeps_its_name_as_a_function_where_it_can(manage: Callable[..., MCPManager]) -> None:
    """A10: and a dot becomes an underscore where that is free."""
    handler = ProgrammableHandler("one", "filesystem.readFile", "lookup-price")
    manager = manage(handler)

    functions = [tool["function"]["name"] for tool in manager.get_tools_as_openai_schema()]

    assert functions == ["filesystem_readFile", "lookup-price"]
    assert manager.call_tool("filesystem_readFile", {"text": "a"}).content == "a"
    assert manager.call_tool("filesystem.readFile", {"text": "b"}).content == "b"


def test_an_empty_schema_becomes_an_object_schema(manage: Callable[..., MCPManager]) -> None:
    """A10: an empty schema is that of an object without properties."""
    handler = ProgrammableHandler("one")
    schemas: list[Any] = [{}, None, {"type": "object"}, {"properties": {"a": {}}}, {"type": "object", "properties": {}}]
    handler.on_list = lambda: [MCPToolDefinition(f"t{n}", "What.", schema, "one") for n, schema in enumerate(schemas)]

    tools = manage(handler).get_tools_as_openai_schema()

    empty = {"type": "object", "properties": {}}
    assert [tool["function"]["parameters"] for tool in tools] == [
        empty, empty, empty, {"type": "object", "properties": {"a": {}}}, empty,
    ]  # fmt: skip
    assert tools[0] == {"type": "function", "function": {"name": "t0", "description": "What.", "parameters": empty}}


def test_a_qualified_name_selects_the_handler(manage: Callable[..., MCPManager]) -> None:
    """Ours: as `call` writes it, and as GAIA does; only that handler is connected."""
    for name in ("calc.add", "mcp_calc_add", "calc-2.add", "mcp_calc-2_add", "mcp_calc_2_add", "calc_2.add"):
        other, calc, second = (ProgrammableHandler(each, "add") for each in ("other", "calc", "calc-2"))
        for handler in (other, calc, second):
            handler.on_call = lambda *_, handler=handler: MCPToolResult(handler.name)
        manager = manage(other, calc, second)

        assert manager.call_tool(name, {}).content == ("calc-2" if "2" in name else "calc"), name
        assert other.connects == 0, name


def test_a_tool_is_found_without_calling_it(manage: Callable[..., MCPManager]) -> None:
    """Ours: for what must know beforehand whether a name can be routed."""
    handler = ProgrammableHandler("one", "echo", stages=["build"])
    manager = manage(handler)

    found = manager.find_tool("mcp_one_echo", stage="build")

    assert found == handler.definitions()[0]
    assert manager.find_tool("one.none") is None
    assert manager.find_tool("echo", stage="deploy") is None
    assert handler.calls == 0


def test_an_invalid_name_is_an_unknown_tool(manage: Callable[..., MCPManager]) -> None:
    """Ours: a model may send anything."""
    manager = manage(ProgrammableHandler("one", "echo"))
    given: list[Any] = ["", None, 5]

    assert [manager.call_tool(name, {}).error_message for name in given] == [f"Unknown tool: {name}" for name in given]


def test_with_qualified_names_all_tools_of_one_name_can_be_used() -> None:
    """Ours: servers of many makers have a `search`."""
    one, two = ProgrammableHandler("one", "search"), ProgrammableHandler("my.two", "search")
    with MCPManager(registry_of(one, two), qualified_names=True) as manager:
        one.on_call, two.on_call = (
            (lambda name, _: MCPToolResult(f"1 {name}")),
            (lambda name, _: MCPToolResult(f"2 {name}")),
        )

        assert names(manager.get_tools_for_scope()) == ["one.search", "my.two.search"]
        functions = [tool["function"]["name"] for tool in manager.get_tools_as_openai_schema()]
        assert functions == ["mcp_one_search", "mcp_my_two_search"]
        found = [manager.call_tool(name, {}).content for name in [*functions, "one.search", "my.two.search", "search"]]
        assert found == ["1 search", "2 search", "1 search", "2 search", "1 search"]


def test_a_handler_that_replaces_another_is_used_at_once(manage: Callable[..., MCPManager]) -> None:
    """A4: a custom handler wins over the built-in one, also after that was used; both are disconnected."""
    builtin, custom = ProgrammableHandler("one", "echo", "old"), ProgrammableHandler("one", "echo")
    custom.on_call = lambda *_: MCPToolResult("custom")
    registry = MCPRegistry()
    registry.register_builtin(builtin)
    with MCPManager(registry) as manager:
        assert manager.call_tool("echo", {"text": "a"}).content == "a"
        registry.register_custom(custom)

        assert manager.call_tool("echo", {"text": "a"}).content == "custom"
        assert manager.call_tool("old", {}).error_message == "Unknown tool: old"
        assert names(manager.get_tools_for_scope()) == ["echo"]

    assert (builtin.disconnects, custom.disconnects) == (1, 1)


def test_a_handler_that_is_registered_later_is_found(manage: Callable[..., MCPManager]) -> None:
    """Ours: nothing is fixed by the first use."""
    registry = registry_of(ProgrammableHandler("one", "echo"))
    with MCPManager(registry) as manager:
        manager.get_tools_for_scope()

        registry.register_custom(ProgrammableHandler("two", "late"))

        assert manager.call_tool("late", {"text": "a"}).content == "a"


def test_concurrent_calls_get_their_own_results(manage: Callable[..., MCPManager]) -> None:
    """Ours: 64 threads through one manager; each answer is that to its own call."""
    handlers: list[MCPHandler] = [ProgrammableHandler(f"h{number}", f"tool{number}") for number in range(8)]
    manager = manage(*handlers)

    def work(thread: int) -> int:
        wrong = 0
        for number in range(30):
            text = f"{thread}-{number}"
            wrong += manager.call_tool(f"tool{(thread + number) % 8}", {"text": text}) != MCPToolResult(text)
        return wrong

    assert at_once(64, work) == [0] * 64
    assert sum(handler.calls for handler in handlers if isinstance(handler, ProgrammableHandler)) == 64 * 30
    assert set(manager._error_counts.values()) == {0}


def call_echo(manager: MCPManager, _: int) -> MCPToolResult:
    return manager.call_tool("echo", {"text": "a"})


def test_no_thread_is_left_after_the_last_use() -> None:
    """Ours: neither after `shutdown_all`, nor when a manager is just dropped."""

    def running() -> list[str]:
        return [thread.name for thread in threading.enumerate() if "of-this-test" in thread.name]

    manager = MCPManager(registry_of(ProgrammableHandler("of-this-test", "echo")))
    at_once(8, partial(call_echo, manager))
    assert running()
    manager.shutdown_all()
    wait_until(lambda: not running())

    manager.call_tool("echo", {"text": "a"})
    assert running()
    del manager
    gc.collect()
    wait_until(lambda: not running())
