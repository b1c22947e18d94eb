from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from gaia_mcp import MCPAgent, tool
from gaia_mcp.asking import Call, CallCancelledError
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.provider import Change
from gaia_mcp.server.stdio.pipe_client import IMPATIENT_SECONDS, LOADING_SECONDS, LoadingProvider
from tests.waiting import PATIENCE_SECONDS, wait_until

DISCOVER = b'{"jsonrpc":"2.0","id":1,"method":"server/discover"}'
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


class Agent:
    """One tool."""

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        return [{"name": "greet"}]

    def execute_mcp_tool(self, name: str, arguments: dict[str, Any]) -> str:
        return "hello"


def _list(provider: LoadingProvider, call: Call) -> list[str]:
    return [tool["name"] for tool in provider.answer("tools/list", {}, call)["tools"]]


def _waits(thread: str) -> bool:
    """Whether a thread has begun to wait for an event."""
    (ident,) = [one.ident for one in threading.enumerate() if one.name == thread]
    return sys._current_frames()[ident or 0].f_code.co_name == "wait"


def test_a_loaded_provider_describes_and_answers_itself() -> None:
    """Ours: from then on everything is passed on."""
    loading = LoadingProvider("early")
    assert not loading.has_loaded_within(0)

    loading.load(AgentProvider(Agent()))

    assert loading.has_loaded_within(0)
    assert loading.is_settled
    assert loading.describe().info["name"] == "Agent"
    assert set(loading.describe().capabilities) == {"tools", "logging", "extensions"}
    assert _list(loading, Call()) == ["greet"]


# What a provider may have that still loads.
EARLY = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "completions": {},
    "logging": {},
    "extensions": {"io.modelcontextprotocol/tasks": {}},
}


def test_a_loading_provider_declares_every_capability() -> None:
    """Ours: a capability that is not declared now could not be used later."""
    described = LoadingProvider("early").describe()

    assert described.info == {"name": "early", "version": ""}
    assert described.capabilities == EARLY


def test_a_capability_declared_while_loading_stays_declared() -> None:
    """Ours: the client may already rely on it; the list is then empty."""
    loading = LoadingProvider("early", loading_seconds=0.0)
    loading.await_description(DISCOVER)
    assert loading.is_settled

    loading.load(AgentProvider(Agent()))

    assert loading.describe().capabilities == EARLY
    assert loading.answer("prompts/list", {}, Call()) == {"prompts": []}


@pytest.mark.parametrize("record", [DISCOVER, b'{"jsonrpc":"2.0","id":1,"method":"initialize"}'])
def test_a_request_for_the_description_waits_for_loading(record: bytes) -> None:
    """Ours: most agents have loaded by then, and are described as they are."""
    loading = LoadingProvider("early", PATIENCE_SECONDS)
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(loading.await_description, record)
        loading.load(AgentProvider(Agent()))
        waiting.result(PATIENCE_SECONDS)

    assert set(loading.describe().capabilities) == {"tools", "logging", "extensions"}


def test_further_input_shortens_the_wait_for_the_description() -> None:
    """Ours: it may have given up on its probe, and have little time left."""
    loading = LoadingProvider("early", 3600.0, impatient_seconds=0.0)

    loading.await_description(DISCOVER, lambda: True)

    assert loading.is_settled
    assert loading.describe().info["name"] == "early"


def test_the_loading_timeout_is_shorter_than_that_of_the_official_clients() -> None:
    """Ours: the official clients wait ten seconds for the response to a probe."""
    assert 3.0 < LOADING_SECONDS < 10.0
    assert IMPATIENT_SECONDS < LOADING_SECONDS


def test_further_input_is_polled_until_the_provider_has_loaded() -> None:
    """Ours: until the provider is there."""
    loading = LoadingProvider("early", 3600.0, impatient_seconds=0.0)
    asked: list[bool] = []

    def has_sent_more() -> bool:
        asked.append(True)
        if len(asked) == 3:
            loading.load(AgentProvider(Agent()))
        return False

    loading.await_description(DISCOVER, has_sent_more)

    assert len(asked) == 3
    assert loading.describe().info["name"] == "Agent"


def test_other_requests_do_not_wait_for_the_description() -> None:
    """Ours: a ping is answered at once."""
    loading = LoadingProvider("early", loading_seconds=3600.0)

    loading.await_description(PING)

    assert not loading.is_settled


def test_the_description_is_waited_for_once() -> None:
    """Ours: after one early description every later one has its capabilities."""
    loading = LoadingProvider("early", loading_seconds=0.0)
    loading.await_description(DISCOVER)
    loading.await_description(DISCOVER)
    loading.load(AgentProvider(Agent()))
    loading.await_description(DISCOVER)

    assert "prompts" in loading.describe().capabilities


def test_a_request_waits_until_the_provider_has_loaded() -> None:
    """Ours: its deadline is the client's."""
    loading = LoadingProvider("early")
    with ThreadPoolExecutor() as threads:
        waiting = threads.submit(_list, loading, Call())
        assert not waiting.done()
        loading.load(AgentProvider(Agent()))
        assert waiting.result(PATIENCE_SECONDS) == ["greet"]


def test_a_request_cancelled_while_loading_never_reaches_the_provider() -> None:
    """Spec, cancellation."""
    loading, call = LoadingProvider("early"), Call()
    with ThreadPoolExecutor(thread_name_prefix="asking") as threads:
        waiting = threads.submit(_list, loading, call)
        wait_until(lambda: _waits("asking_0"))
        call.cancel()
        loading.load(AgentProvider(Agent()))
        with pytest.raises(CallCancelledError):
            waiting.result(PATIENCE_SECONDS)


def test_loading_is_announced_as_a_new_description() -> None:
    """Ours: before it has loaded, no client can have seen a list."""
    loading, announced = LoadingProvider("early"), list[Change]()
    stop = loading.on_change(announced.append)
    provider = AgentProvider(Agent(), list_changes=True)

    loading.load(provider)
    provider.replace_agent(Agent())

    wait_until(lambda: announced == [Change(description=True), Change(("tools", "prompts", "resources"))])
    stop()
    provider.replace_agent(Agent())
    assert len(announced) == 2


def test_a_subscription_made_while_loading_gets_updates_of_the_provider() -> None:
    """Ours: a client subscribes as soon as it is connected."""

    class Changing(MCPAgent):
        @tool
        def nothing(self) -> None:
            """A tool."""

    loading, announced, agent = LoadingProvider("early"), list[Change](), Changing()
    loading.on_change(announced.append, {"a://a"})

    loading.load(AgentProvider(agent))
    agent.resource_updated("b://b")
    agent.resource_updated("a://a")

    wait_until(lambda: announced == [Change(description=True), Change(uris=("a://a",))])


def test_closing_closes_a_loaded_provider() -> None:
    """Ours: the process may end while its agent is still being imported."""

    class Closing(AgentProvider):
        closed = 0

        def close(self) -> None:
            self.closed += 1

    loading, provider = LoadingProvider("early"), Closing(Agent())
    loading.close()
    loading.load(provider)
    loading.close()

    assert provider.closed == 1
