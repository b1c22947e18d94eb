from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp import MCPAgent, tool
from gaia_mcp.asking import Call, CallCancelledError, current_call
from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, METHOD_NOT_FOUND
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.provider import Change
from tests.server.agents_under_test import Full, Plain, answer, refusal
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
