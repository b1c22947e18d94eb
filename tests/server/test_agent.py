from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp import MCPAgent, tool
from gaia_mcp.agents import built_in, load_agent
from gaia_mcp.asking import Call, CallCancelledError, current_call
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.provider import Change, InsufficientScopeError, RequestError
from gaia_mcp.toolspec.validation import InvalidArgumentsError
from tests.schema_support import twice
from tests.server.agents_under_test import Full, Plain, answer, refusal, tools_of
from tests.server.talk import WithoutTask
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from pathlib import Path

# Descriptions.


def test_an_agent_with_only_the_two_methods_is_described() -> None:
    """Ours, duck typing: by the name of its class."""
    described = AgentProvider(Plain()).describe()

    assert described.info == {"name": "Plain", "version": ""}
    assert described.capabilities == {"tools": {}, "logging": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}}
    assert described.instructions == ""


def test_an_agent_with_skills_declares_the_extension(tmp_path: Path) -> None:
    """Extension: and the resources by which the files are read."""
    agent = Full()
    agent.get_mcp_skills = lambda: [tmp_path]  # type: ignore[attr-defined]
    capabilities = AgentProvider(agent).describe().capabilities

    assert capabilities["extensions"]["io.modelcontextprotocol/skills"] == {"directoryRead": True}
    assert "resources" in capabilities


def test_the_agents_own_description_is_used() -> None:
    """Spec, Implementation: name, title, version, description, websiteUrl, icons; instructions stand beside it."""
    agent = Full()
    agent.info = {"name": "n", "title": "t", "version": 3, "description": "d", "websiteUrl": "", "instructions": "do",
                  "secret": "x"}  # fmt: skip

    described = AgentProvider(agent).describe()

    assert described.info == {"name": "n", "title": "t", "version": "3", "description": "d"}
    assert described.instructions == "do"


def test_an_agent_with_an_invalid_description_gets_the_defaults() -> None:
    """Ours: an invalid description must not keep the tools from being used."""
    agent = Full()

    for info in (None, {}, "text", ["x"], {"name": None, "version": ""}):
        agent.info = info
        assert AgentProvider(agent).describe().info == {"name": "Full", "version": ""}, info


def test_prompts_and_resources_are_declared_when_the_agent_has_some() -> None:
    """Spec: a capability is declared when the feature is there."""
    agent = Full()
    assert set(AgentProvider(agent).describe().capabilities) == {"tools", "logging", "extensions"}

    agent.prompts, agent.resources = [{"name": "p"}], [{"uri": "x://a"}]
    assert set(AgentProvider(agent).describe().capabilities) == {
        "tools",
        "logging",
        "extensions",
        "prompts",
        "resources",
    }

    agent.complete_mcp_argument = lambda *_: []  # type: ignore[attr-defined]
    assert AgentProvider(agent).describe().capabilities["completions"] == {}


def test_a_provider_whose_agent_may_be_replaced_declares_list_changes() -> None:
    """Spec: a server that announces changes declares `listChanged`."""
    agent = Full()
    agent.prompts = [{"name": "p"}]

    capabilities = AgentProvider(agent, list_changes=True).describe().capabilities

    assert capabilities["tools"] == capabilities["prompts"] == {"listChanged": True}


def test_an_unknown_method_is_refused() -> None:
    """Spec, JSON-RPC: -32601, whatever its params are."""
    agent = Full()
    agent.resources = [{"uri": "x://a", "text": "hi"}]
    methods = ("completion/complete", "resources/subscribe", "ping", "", "answer")

    codes = {method: refusal(agent, method, {"uri": "x://a", "name": "a"}).code for method in methods}
    assert codes == dict.fromkeys(methods, METHOD_NOT_FOUND)


def test_current_call_is_the_running_call() -> None:
    """Ours: so it can report progress; afterwards the thread belongs to no call."""
    seen: list[Call] = []
    call = Call()

    def run(_: Any) -> None:
        seen.append(current_call())
        raise CallCancelledError

    with pytest.raises(CallCancelledError):
        AgentProvider(Plain({"name": "a"}, run=run)).answer("tools/call", {"name": "a"}, call)

    assert seen == [call]
    assert current_call() is not call


def test_every_list_has_the_ttl_and_cache_scope_of_its_agent() -> None:
    """Spec, MS-11: the same on all pages, and of a revision before only what that knows."""
    agent = Full({"name": "a"})
    agent.prompts, agent.resources = [{"name": "p"}], [{"uri": "x://a"}]
    agent.list_ttl_ms = {"tools": 1, "prompts": 2, "resources": 3, "templates": 4}  # type: ignore[attr-defined]
    agent.list_cache_scope = "public"  # type: ignore[attr-defined]
    provider = AgentProvider(agent)

    results = [
        answer(provider, method, {})
        for method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
    ]

    assert [(one["ttlMs"], one["cacheScope"]) for one in results] == [(number, "public") for number in (1, 2, 3, 4)]


# What an agent announces.


class Changing(MCPAgent):
    """An agent whose resources come later."""

    def __init__(self) -> None:
        super().__init__(silent_mode=True)
        self.resources: list[dict[str, Any]] = []

    @tool
    def nothing(self) -> None:
        """A tool."""

    def get_mcp_resources(self) -> list[dict[str, Any]]:
        return self.resources


def test_an_agent_that_announces_changes_declares_list_changed() -> None:
    """Spec: `listChanged` and `subscribe`, from the beginning also for a list that is empty and may not stay so."""
    changes = {"listChanged": True}

    assert AgentProvider(Changing()).describe().capabilities == {
        "tools": changes,
        "resources": {"subscribe": True, **changes},
        "logging": {},
        "extensions": {"io.modelcontextprotocol/tasks": {}},
    }
    assert AgentProvider(Full()).describe().capabilities["tools"] == {}


def test_a_changed_list_of_an_agent_is_announced() -> None:
    """Ours: from any thread."""
    for kind in ("tools", "prompts", "resources"):
        agent = Changing()
        provider = AgentProvider(agent)
        announced: list[Change] = []
        provider.on_change(announced.append)
        threading.Thread(target=getattr(agent, f"{kind}_changed")).start()
        wait_until(lambda announced=announced, kind=kind: announced == [Change((kind,))])
        provider.close()


def test_an_updated_resource_of_an_agent_is_announced_to_its_subscribers() -> None:
    """Ours: a client that has not subscribed to it gets no notification."""
    agent = Changing()
    provider = AgentProvider(agent)
    announced: list[Change] = []
    provider.on_change(announced.append, {"a://a"})

    agent.resource_updated("b://b")
    agent.resource_updated("a://a")

    wait_until(lambda: announced == [Change(uris=("a://a",))])
    provider.close()
    agent.resource_updated("a://a")
    assert len(announced) == 1


def test_an_agent_may_announce_a_change_while_it_holds_a_lock() -> None:
    """Ours: nothing of the agent runs in the thread that announces."""
    lock = threading.Lock()

    class Locking(Changing):
        def get_mcp_resources(self) -> list[dict[str, Any]]:
            with lock:
                return self.resources

    agent = Locking()
    provider = AgentProvider(agent)
    described: list[Any] = []
    provider.on_change(lambda _: described.append(provider.describe().info["name"]))

    with lock:
        agent.resources_changed()
        assert described == []

    wait_until(lambda: described == ["GAIA Locking"])
    provider.close()


def test_a_replaced_agent_announces_no_more_changes() -> None:
    """Ours: a call of it may still run; the lists are those of the other one."""
    before, after = Changing(), Changing()
    provider = AgentProvider(before)
    announced: list[Change] = []
    provider.on_change(announced.append, {"a://a", "b://b"})
    provider.replace_agent(after)
    wait_until(lambda: len(announced) == 1)

    before.resource_updated("a://a")
    after.resource_updated("b://b")

    wait_until(lambda: announced[1:] == [Change(uris=("b://b",))])
    provider.close()


# Another agent in its place.


def test_a_replacement_agent_is_announced_and_served() -> None:
    """Ours: for an agent whose files have changed. All its lists may differ."""
    provider = AgentProvider(Plain({"name": "a"}), list_changes=True)
    announced: list[Change] = []
    stop = provider.on_change(announced.append)

    provider.replace_agent(Plain({"name": "b"}))
    wait_until(lambda: announced == [Change(("tools", "prompts", "resources"))])
    assert [tool["name"] for tool in answer(provider, "tools/list", {})["tools"]] == ["b"]

    stop()
    provider.replace_agent(Plain())
    assert len(announced) == 1


class Wanted(set[str]):
    """URIs that a client has subscribed to."""

    session = None

    def on_change(self) -> None:
        """They do not change here."""

    def uris(self) -> set[str]:
        return self


def test_replacing_an_agent_announces_every_subscribed_resource() -> None:
    """Ours, `--reload`: each that a client has subscribed to."""
    provider = AgentProvider(Changing())
    heard: list[Change] = []
    provider.on_change(heard.append, Wanted({"a://a"}))

    provider.replace_agent(Changing())

    wait_until(lambda: heard == [Change(("tools", "prompts", "resources"), ("a://a",))])
    provider.close()


def test_an_agent_whose_description_fails_does_not_replace_the_current_one() -> None:
    """Ours: a version with a mistake in it must not end the service of the previous one."""

    class Broken(Full):
        def get_mcp_server_info(self) -> Any:
            raise RuntimeError("no luck")

    provider = AgentProvider(Plain({"name": "a"}))
    announced: list[Change] = []
    provider.on_change(announced.append)

    with pytest.raises(RuntimeError, match="no luck"):
        provider.replace_agent(Broken({"name": "b"}))

    assert announced == []
    assert [tool["name"] for tool in answer(provider, "tools/list", {})["tools"]] == ["a"]


def test_the_problems_of_a_replacement_agent_are_reported_again() -> None:
    """Ours: its author wants to know what is still wrong."""
    reported: list[str] = []
    provider = AgentProvider(Plain({}), report=reported.append)

    provider.replace_agent(Plain({}))

    assert reported == ["tool 1 has no name and is left out"] * 2
    assert len(provider.problems) == 1


class Asynchronous(Full):
    """An agent whose methods are all coroutines."""

    async def execute_mcp_tool(self, name: str, arguments: dict[str, Any]) -> Any:  # type: ignore[override]
        await asyncio.sleep(0)
        current_call().progress(1)
        return arguments

    async def get_mcp_prompt(self, name: str, arguments: dict[str, str]) -> str:
        return f"about {name}"

    async def read_mcp_resource(self, uri: str) -> str:
        return f"at {uri}"


def test_an_agent_may_be_asynchronous() -> None:
    """Ours: tools, prompts and resources; within a tool, the call is the current one."""
    agent = Asynchronous({"name": "t"})
    agent.prompts = [{"name": "p"}]
    provider = AgentProvider(agent)
    reported: list[float] = []
    call = Call(lambda done, total, text: reported.append(done))

    result = provider.answer("tools/call", {"name": "t", "arguments": {"a": 1}}, call)
    prompt = answer(provider, "prompts/get", {"name": "p"})
    resource = answer(provider, "resources/read", {"uri": "x://a"})
    provider.close()

    assert result["structuredContent"] == {"a": 1}
    assert reported == [1]
    assert prompt["messages"][0]["content"]["text"] == "about p"
    assert resource["contents"] == [{"uri": "x://a", "text": "at x://a"}]
    wait_until(lambda: all(thread.name != "event loop" for thread in threading.enumerate()))


def test_the_event_loop_of_a_replaced_agent_ends() -> None:
    """Ours: `--reload` must not gather threads."""
    provider = AgentProvider(Asynchronous({"name": "t"}))
    answer(provider, "tools/call", {"name": "t"})

    provider.replace_agent(Plain({"name": "t"}))

    wait_until(lambda: all(thread.name != "event loop" for thread in threading.enumerate()))


def test_an_invalid_cursor_is_refused() -> None:
    """Spec, pagination: -32602."""
    methods = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")

    codes = {method: refusal(Full(), method, {"cursor": ""}).code for method in methods}
    assert codes == dict.fromkeys(methods, INVALID_PARAMS)


# What lives as long as the server.


class Lasting(MCPAgent):
    """Notes what happens to it."""

    def __init__(self, problem: Exception | None = None) -> None:
        super().__init__(silent_mode=True)
        self.happened: list[str] = []
        self.problem = problem
        self.may_end = threading.Event()

    @tool
    def work(self) -> str:
        """Work until it may end."""
        self.happened.append("work")
        self.may_end.wait(PATIENCE_SECONDS)
        self.happened.append("done")
        return "done"

    def opened(self) -> None:
        self.happened.append("opened")

    async def closed(self) -> None:
        self.happened.append("closed")
        if self.problem is not None:
            raise self.problem


def test_an_agent_is_opened_and_closed_once() -> None:
    """Ours: for what lives as long as the server, also in `async` code. One that was not opened is not closed."""
    agent, unused = Lasting(), Lasting()
    provider = AgentProvider(agent)

    provider.open()
    provider.close()
    provider.close()
    AgentProvider(unused).close()

    assert agent.happened == ["opened", "closed"]
    assert unused.happened == []


def test_a_second_close_waits_for_the_first() -> None:
    """Ours: a signal and the end of the input may come at once; the second must not end the loop of the first."""
    began, may_end, happened = threading.Event(), threading.Event(), []

    class Slow(Lasting):
        async def closed(self) -> None:
            began.set()
            await asyncio.to_thread(may_end.wait, PATIENCE_SECONDS)
            happened.append("closed")

    provider = AgentProvider(Slow())
    provider.open()
    first = threading.Thread(target=provider.close)
    first.start()
    assert began.wait(PATIENCE_SECONDS)
    # Opened when the second close waits; should it not wait, nothing has happened yet when it returns.
    threading.Timer(0.2, may_end.set).start()

    provider.close()

    assert happened == ["closed"]
    first.join()


def test_an_exception_of_closed_is_reported() -> None:
    """Ours: the server ends all the same."""
    failures: list[str] = []
    provider = AgentProvider(Lasting(RuntimeError("stuck")), on_failure=lambda what, _: failures.append(what))

    provider.open()
    provider.close()

    assert failures == ["closing the agent raised RuntimeError: stuck"]


def test_a_replaced_agent_is_closed_after_its_last_call() -> None:
    """Ours: `--reload`. The new one is opened before it is served; one that cannot be opened replaces nothing."""
    first, second = Lasting(), Lasting()
    provider = AgentProvider(first)
    provider.open()
    calling = threading.Thread(target=answer, args=(provider, "tools/call", {"name": "work"}))
    calling.start()
    wait_until(lambda: first.happened[-1] == "work")

    provider.replace_agent(second)
    assert (first.happened, second.happened) == (["opened", "work"], ["opened"])
    first.may_end.set()
    calling.join()
    assert first.happened == ["opened", "work", "done", "closed"]

    class Unopened(Lasting):
        def opened(self) -> None:
            raise RuntimeError("no luck")

    with pytest.raises(RuntimeError, match="no luck"):
        provider.replace_agent(Unopened())
    assert second.happened == ["opened"]
    provider.replace_agent(Lasting())
    assert second.happened == ["opened", "closed"]
    provider.close()


def test_tools_named_opened_and_closed_are_only_tools() -> None:
    """Ours: agents that were written before may have one."""

    class Tickets(MCPAgent):
        happened = ()

        @tool
        def opened(self, number: int) -> str:
            """Open a ticket."""
            return f"opened {number}"

        @tool
        def closed(self, number: int) -> str:
            """Close a ticket."""
            return f"closed {number}"

    failures: list[str] = []
    provider = AgentProvider(Tickets(), on_failure=lambda what, _: failures.append(what))
    provider.open()

    called = answer(provider, "tools/call", {"name": "closed", "arguments": {"number": 1}})
    provider.close()

    assert called["content"][0]["text"] == "closed 1"
    assert failures == []


def test_missing_scopes_are_refused_before_the_arguments_are_validated() -> None:
    """Spec, AS-3: whatever its arguments are; where callers have no scopes, they restrict nothing."""
    agent = Plain({"name": "a", "inputSchema": {"required": ["x"]}}, {"name": "b"})
    agent.get_mcp_tool_scopes = lambda: {"a": ["write", "read"], "c": ["other"]}  # type: ignore[attr-defined]
    provider, call = AgentProvider(agent), Call()

    call.scopes = frozenset({"read"})
    with pytest.raises(InsufficientScopeError) as caught:
        provider.answer("tools/call", {"name": "a"}, call)
    assert caught.value.scopes == ("write", "read")
    assert provider.answer("tools/call", {"name": "b"}, call)["isError"] is False
    call.scopes = frozenset({"read", "write"})
    assert "required" in provider.answer("tools/call", {"name": "a"}, call)["content"][0]["text"]
    call.scopes = None
    assert provider.answer("tools/call", {"name": "a"}, call)["isError"] is True


def test_an_empty_input_schema_and_a_missing_description_are_completed() -> None:
    """Ours, GAIA's agents leave things out: `{"inputSchema": {}}` is served as an object, no description as ""."""
    assert tools_of(Plain({"name": "a", "inputSchema": {}})) == [
        {"name": "a", "description": "", "inputSchema": {"type": "object", "properties": {}}}
    ]


def test_an_input_schema_without_the_type_object_is_replaced() -> None:
    """Spec, B-4: `"type": "object"` at the root."""
    for schema in (None, "text", [], {"type": "string"}, {"type": ["object", "null"]}):
        (tool,) = tools_of(Plain({"name": "a", "description": 7, "inputSchema": schema}))
        assert tool["inputSchema"] == {"type": "object", "properties": {}}, schema
        assert tool["description"] == ""


def test_other_members_of_a_tool_are_passed_through() -> None:
    """Ours: title, output schema, annotations and icons are defined by the agent; None means that one is missing."""
    schema = {"properties": {"a": {"type": "string"}}, "required": ["a"]}
    given = {"name": "a", "title": "A", "inputSchema": schema, "annotations": {"readOnlyHint": True}, "icons": None}

    (tool,) = tools_of(Plain(given))

    assert tool["title"] == "A"
    assert tool["annotations"] == {"readOnlyHint": True}
    assert "icons" not in tool
    assert tool["inputSchema"] == {"type": "object", **schema}
    assert given["inputSchema"] == {"properties": {"a": {"type": "string"}}, "required": ["a"]}


def test_every_tool_of_the_built_in_agents_has_properties() -> None:
    """Ours: smolagents ends the connection without."""
    tools = {name: tools_of(load_agent(name, {"root": "."} if name == "filesystem" else {})) for name in built_in()}

    assert [name for name, its_tools in tools.items() if not its_tools] == []
    assert [
        (name, tool["name"])
        for name, its_tools in tools.items()
        for tool in its_tools
        if "properties" not in tool["inputSchema"]
    ] == []


def test_a_member_of_a_wrong_type_is_reported() -> None:
    """Ours: clients would drop the whole list for it."""
    agent = Full({"name": "a", "annotations": "safe"})
    agent.info, agent.prompts, agent.resources = {"title": 1}, [{"name": "p", "title": 2}], [{"uri": "x:", "size": ""}]
    reported: list[str] = []
    provider = AgentProvider(agent, report=reported.append)

    provider.describe()
    answer(provider, "prompts/list", {})
    answer(provider, "prompts/list", {})
    answer(provider, "resources/list", {})

    assert reported == [
        "tool 'a': annotations is not an object, and is left out",
        "server 'Full': title is not a text, and is left out",
        "prompt 'p': title is not a text, and is left out",
        "resource 'x:': size is not a whole number, and is left out",
    ]


def test_an_invalid_definition_does_not_hide_the_others() -> None:
    """Ours: each is read by itself, and its problem is reported."""
    agent = AgentProvider(
        Plain(
            "text",
            {},
            {"name": ""},
            {"name": "a"},
            {"name": "a", "title": "2"},
            {"name": "b", "x": object()},
            {"name": "c"},
        )
    )

    assert [tool["name"] for tool in answer(agent, "tools/list", {})["tools"]] == ["a", "c"]
    assert len(agent.problems) == 5
    assert "tool 1 has no name" in agent.problems[0]
    assert "defined twice" in agent.problems[3]
    assert "not JSON" in agent.problems[4]


def test_problems_that_an_agent_knows_of_its_tools_are_reported() -> None:
    """Ours: hints that are no schema, of marked methods."""
    reported: list[str] = []
    agent = Plain({"name": "t"})
    agent.get_mcp_tool_problems = lambda: ["Plain.t(x): what is wrong"]  # type: ignore[attr-defined]

    provider = AgentProvider(agent, report=reported.append)

    assert provider.problems == reported == ["Plain.t(x): what is wrong"]


def test_an_agent_without_tools_returns_an_empty_list() -> None:
    """Ours: None is as good as an empty list."""
    agent = Plain()
    agent.tools = None

    assert tools_of(agent) == []


def test_the_list_of_tools_is_read_again_each_time() -> None:
    """Ours: an agent may grow."""
    agent = Plain({"name": "a"})
    served = AgentProvider(agent)
    agent.tools.append({"name": "b"})

    assert [tool["name"] for tool in answer(served, "tools/list", {})["tools"]] == ["a", "b"]


def test_a_call_reaches_the_agent_with_its_arguments() -> None:
    """Spec, tools/call: `name` and `arguments`."""
    agent = Plain({"name": "a"})

    result = answer(AgentProvider(agent), "tools/call", {"name": "a", "arguments": {"x": 1}})

    assert agent.ran == [("a", {"x": 1})]
    assert result["content"] == [{"type": "text", "text": "done"}]


def test_a_call_may_leave_out_the_arguments() -> None:
    """Spec, tools/call: `arguments` is optional."""
    agent = Plain({"name": "a"})

    answer(AgentProvider(agent), "tools/call", {"name": "a"})

    assert agent.ran == [("a", {})]


def test_a_tool_added_after_the_list_was_read_can_be_called() -> None:
    """Ours: an unknown name is looked for once more before it is refused."""
    agent = Plain()
    served = AgentProvider(agent)
    agent.tools.append({"name": "late"})

    assert answer(served, "tools/call", {"name": "late"})["isError"] is False


def test_an_unknown_tool_is_refused() -> None:
    """Spec, tools: an unknown tool is -32602."""
    refused = refusal(Plain(), "tools/call", {"name": "nope"})

    assert refused.code == INVALID_PARAMS
    assert str(refused) == "Unknown tool: nope"


def test_a_malformed_call_is_refused() -> None:
    """Spec, CallToolRequest: malformed requests are -32602."""
    agent = Plain({"name": "a"})
    malformed: list[dict[str, Any]] = [
        {},
        {"name": 7},
        {"name": "a", "arguments": []},
        {"name": "a", "arguments": "x"},
        {"name": "a", "arguments": None},
    ]

    assert [each for each in malformed if refusal(agent, "tools/call", each).code != INVALID_PARAMS] == []
    assert agent.ran == []


def test_invalid_arguments_do_not_reach_the_agent() -> None:
    """Spec 2025-11-25, B-11: invalid arguments are a tool error; ours: with every validation error and the schema."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n", "m"],
              "additionalProperties": False}  # fmt: skip
    agent = Plain({"name": "a", "inputSchema": schema})

    result = answer(AgentProvider(agent), "tools/call", {"name": "a", "arguments": {"n": "x", "o": 1}})

    text = result["content"][0]["text"]
    assert result["isError"] is True
    assert agent.ran == []
    assert "'m' is missing" in text
    assert "'o'" in text
    assert "n:" in text
    assert "Expected tool schema:" in text
    assert '"additionalProperties": false' in text
    assert 'Your arguments:\n{\n  "n": "x",' in text


def test_an_argument_sent_as_text_reaches_the_agent_as_what_it_is() -> None:
    """Ours: as with the official SDKs. Where the schema allows no text, and if that makes them valid."""
    known = {"n": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}, "s": {"type": "string"}}
    agent = Plain({"name": "a", "inputSchema": {"properties": known, "additionalProperties": False}})
    served = AgentProvider(agent)

    given = {"n": "5", "tags": '["1"]', "s": "5"}
    assert answer(served, "tools/call", {"name": "a", "arguments": given})["isError"] is False
    assert agent.ran == [("a", {"n": 5, "tags": ["1"], "s": "5"})]

    refused = answer(served, "tools/call", {"name": "a", "arguments": {"n": "5", "o": 1}})
    assert refused["isError"] is True
    assert 'Your arguments:\n{\n  "n": "5",' in refused["content"][0]["text"]
    assert len(agent.ran) == 1


def test_an_invalid_input_schema_does_not_prevent_a_call() -> None:
    """Ours: the agent validates its arguments itself. The problem is reported once, however often it occurs."""
    agent = Plain({"name": "a", "inputSchema": {"type": "object", "properties": {"n": {"pattern": "("}}}})
    served = AgentProvider(agent)

    for _ in range(3):
        assert answer(served, "tools/call", {"name": "a", "arguments": {"n": 1}})["isError"] is False

    (problem,) = served.problems
    assert "'a' cannot be used" in problem


def test_an_agent_may_define_its_own_result_for_invalid_arguments() -> None:
    """Ours: where all results of a tool have one form, this is one of them."""

    class Formal(Plain):
        def get_mcp_refusal(self, tool_name: str, problem: str) -> dict[str, Any]:
            return {"tool": tool_name, "problem": problem}

    agent = Formal({"name": "a", "inputSchema": {"type": "object", "required": ["x"]}})

    found = AgentProvider(agent).answer("tools/call", {"name": "a", "arguments": {}}, Call())

    assert found["isError"] is True
    assert found["structuredContent"]["tool"] == "a"
    assert "'x'" in found["structuredContent"]["problem"]
    assert agent.ran == []


@pytest.mark.story
def test_arguments_that_take_too_long_to_check_are_refused() -> None:
    """Ours: a tool counts on the check. What it returns is its own, and is sent."""
    endless = twice("allOf", 34)
    takes = {"type": "object", "properties": {"n": {"$ref": "#/$defs/a0"}}, "$defs": endless["$defs"]}
    agent = Plain({"name": "a", "inputSchema": takes}, {"name": "b", "inputSchema": {}, "outputSchema": takes})
    agent.run = lambda arguments: {"n": "x"}
    served = AgentProvider(agent)

    refused = answer(served, "tools/call", {"name": "a", "arguments": {"n": "x"}})

    assert refused["isError"] is True
    assert "not checked: checking against it takes more than" in refused["content"][0]["text"]
    assert agent.ran == []
    assert "the input schema of 'a' cannot be used" in served.problems[0]
    assert answer(served, "tools/call", {"name": "b", "arguments": {}})["structuredContent"] == {"n": "x"}


def test_a_call_may_have_invalid_arguments_refused() -> None:
    """AgentVault: -32602, where MCP has a result that the model reads."""
    agent = Plain({"name": "a", "inputSchema": {"type": "object", "required": ["n"]}})
    call = Call()
    call.rejects_arguments = True

    with pytest.raises(RequestError, match="Invalid params: "):
        AgentProvider(agent).answer("tools/call", {"name": "a", "arguments": {}}, call)
    assert agent.ran == []


def test_a_problem_is_reported_once() -> None:
    """Ours: most agents are served by their authors. A list that is read again reports nothing new."""
    reported: list[str] = []
    agent = Plain({"name": "a", "inputSchema": {"properties": {"n": {"pattern": "("}}}}, {})
    served = AgentProvider(agent, report=reported.append)
    assert reported == ["tool 2 has no name and is left out"]

    agent.tools.append({"name": "b", "x": object()})
    for _ in range(2):
        answer(served, "tools/list", {})
        answer(served, "tools/call", {"name": "a", "arguments": {"n": 1}})

    assert len(reported) == 3
    assert "'b' is left out" in reported[1]
    assert "'a' cannot be used" in reported[2]


@pytest.mark.parametrize("error", [RuntimeError("broken"), SystemExit("broken"), KeyboardInterrupt("broken")])
def test_an_exception_of_a_tool_is_a_result_and_a_line_on_stderr(
    error: BaseException, capsys: pytest.CaptureFixture[str]
) -> None:
    """Spec, tool errors: inside the result. Ours: an exit is one too, it must not end the server."""

    def run(_: Any) -> None:
        raise error

    result = answer(AgentProvider(Plain({"name": "a"}, run=run)), "tools/call", {"name": "a"})

    assert result["isError"] is True
    assert "broken" in result["content"][0]["text"]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: tool 'a' raised {type(error).__name__}: broken, at ")


def test_an_exception_of_a_tool_is_given_to_on_failure() -> None:
    """Ours: it has the traceback; also of the agent that replaces the first."""
    failures: list[tuple[str, BaseException]] = []

    def run(_: Any) -> None:
        raise KeyError

    agent = Plain({"name": "a"}, run=run)
    provider = AgentProvider(agent, on_failure=lambda *failure: failures.append(failure))
    answer(provider, "tools/call", {"name": "a"})
    provider.replace_agent(agent)
    answer(provider, "tools/call", {"name": "a"})

    assert [what for what, _ in failures] == ["tool 'a' raised KeyError"] * 2
    assert all(error.__traceback__ is not None for _, error in failures)


def test_an_exception_of_a_run_that_ends_with_a_question_is_not_reported() -> None:
    """Ours: a thread of the tool has asked, and another run follows."""
    failures: list[str] = []

    class Asking(Call):
        ends_with_question = True

    def run(_: Any) -> None:
        raise IndexError

    provider = AgentProvider(Plain({"name": "a"}, run=run), on_failure=lambda text, _: failures.append(text))

    assert provider.answer("tools/call", {"name": "a"}, Asking())["isError"] is True
    assert failures == []


def test_a_tool_that_requires_a_task_is_refused_without_one() -> None:
    """Spec 2025-11-25, LS-8: before it runs."""
    agent = Plain({"name": "a", "execution": {"taskSupport": "required"}})

    with pytest.raises(RequestError) as caught:
        AgentProvider(agent).answer("tools/call", {"name": "a"}, WithoutTask())

    assert caught.value.code == METHOD_NOT_FOUND
    assert agent.ran == []
    assert answer(AgentProvider(agent), "tools/call", {"name": "a"})["isError"] is False


def test_an_invalid_output_schema_is_reported_and_ignored() -> None:
    """Ours: the value is worth more than the schema."""
    reported: list[str] = []
    agent = Plain({"name": "a", "outputSchema": {"pattern": "("}}, run=lambda _: [1])
    provider = AgentProvider(agent, report=reported.append)

    results = [answer(provider, "tools/call", {"name": "a"}) for _ in range(2)]

    assert [result["structuredContent"] for result in results] == [[1], [1]]
    (problem,) = reported
    assert problem.startswith("the output schema of 'a' cannot be used: ")


def test_a_result_that_does_not_fit_its_output_schema_is_a_failure() -> None:
    """Spec, MS-16: the official client would raise on it."""
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
    whole = {"content": [{"type": "text", "text": "x"}]}
    agent = Plain({"name": "a", "outputSchema": schema}, run=lambda arguments: {**whole, **arguments})
    provider = AgentProvider(agent)

    def called(**arguments: Any) -> dict[str, Any]:
        return answer(provider, "tools/call", {"name": "a", "arguments": arguments})

    assert called(structuredContent={"x": 1})["isError"] is False
    assert "no structured content" in called()["content"][0]["text"]
    assert "x: null is not of type" in called(structuredContent={"x": None})["content"][0]["text"]
    assert called(structuredContent=5)["content"][0]["text"].endswith("does not fit its output schema: not an object")


def test_arguments_that_a_tool_rejects_are_reported_as_validation_errors() -> None:
    """Ours: a string that is not a date, for instance, although it conforms to the schema."""

    def run(arguments: dict[str, Any]) -> None:
        raise InvalidArgumentsError(["when: 'x' is not a date"])

    result = answer(
        AgentProvider(Plain({"name": "t"}, run=run)), "tools/call", {"name": "t", "arguments": {"when": "x"}}
    )

    assert result["isError"] is True
    text = result["content"][0]["text"]
    assert "input validation failed" in text
    assert "- when: 'x' is not a date" in text


def test_a_result_is_checked_against_the_output_schema() -> None:
    """Spec: structured content conforms to it."""
    schema = {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]}
    tool = {"name": "t", "outputSchema": schema}

    results = [
        answer(AgentProvider(Plain(tool, run=lambda _, value=value: value)), "tools/call", {"name": "t"})
        for value in (5, "five")
    ]

    assert results[0]["structuredContent"] == {"result": 5}
    assert "does not fit its output schema" in results[1]["content"][0]["text"]


def test_members_beside_a_reference_are_ignored_in_draft_7() -> None:
    """JSON Schema, draft 7: the members beside `$ref` are ignored."""
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$ref": "#/definitions/number",
        "type": "object",
        "definitions": {"number": {"type": "integer"}},
    }

    result = answer(
        AgentProvider(Plain({"name": "t", "outputSchema": schema}, run=lambda _: 5)), "tools/call", {"name": "t"}
    )

    assert result["structuredContent"] == 5


def test_a_cancellation_error_of_a_tool_is_raised() -> None:
    """Ours: the server then sends nothing."""

    def run(_: Any) -> None:
        raise CallCancelledError

    with pytest.raises(CallCancelledError):
        answer(AgentProvider(Plain({"name": "a"}, run=run)), "tools/call", {"name": "a"})
