"""What a server offers beside tools, asked of real processes in both eras, and of servers that answer oddly."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client import Host, MCPClient
from gaia_mcp.client.features import Completion
from gaia_mcp.client.host import DeclinedError
from gaia_mcp.client.transports.base import MCPTransport
from gaia_mcp.errors import CancelledError, NotConnectedError, NotOfferedError, PeerError, RemoteProtocolError
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.client.conftest import Started

# The stateless era and the newest of the other one.
ERAS = ("2026-07-28", "2025-11-25")


@pytest.fixture(params=ERAS)
def client(request: pytest.FixtureRequest, start_server: Started) -> MCPClient:
    """A client of a server that offers everything, in each era."""
    client = start_server("offers", request.param)
    assert client.protocol_version == request.param
    return client


def test_what_the_server_says_about_itself_is_there(client: MCPClient) -> None:
    """Spec, lifecycle and discovery: the same in both eras, and gone with the connection."""
    assert client.instructions == "Ask politely."
    assert set(client.capabilities) == {"tools", "prompts", "resources", "completions", "logging"}
    assert client.server_info == {"name": "offers.py", "version": "1"}

    client.disconnect()

    assert (client.instructions, client.protocol_version, client.capabilities) == ("", None, {})


def test_prompts_are_listed_from_all_pages_and_filled(client: MCPClient) -> None:
    """Spec, server/prompts. What has no name is left out and told."""
    assert [prompt["name"] for prompt in client.list_prompts()] == ["review", "second"]
    assert len(client.tool_problems) == 2
    filled = client.get_prompt("review", {"lang": "python"})
    assert filled["messages"][0]["content"]["text"] == "{'lang': 'python'}"
    assert client.get_prompt("review")["messages"][0]["content"]["text"] == "None"


def test_resources_and_their_templates_are_listed_and_read(client: MCPClient) -> None:
    """Spec, server/resources."""
    assert [resource["uri"] for resource in client.list_resources()] == ["file:///a"]
    assert [template["uriTemplate"] for template in client.list_resource_templates()] == ["file:///{path}"]
    assert client.read_resource("file:///a")["contents"] == [{"uri": "file:///a", "text": "hello"}]


def test_arguments_are_completed(client: MCPClient) -> None:
    """Spec, utilities/completion: with what is known of the other arguments, where something is."""
    reference = {"type": "ref/prompt", "name": "review"}

    assert client.complete(reference, "lang", "py") == Completion(["python", "pypy"], 12, has_more=True)
    known = client.complete(reference, "lang", "py", {"style": "short"})
    assert known == Completion(["{'arguments': {'style': 'short'}}"], None, has_more=False)
    with pytest.raises(RemoteProtocolError):
        client.complete(reference, "lang", "odd")


def test_a_log_level_can_be_set(client: MCPClient) -> None:
    """Spec, utilities/logging: by a request of its own, or with every request."""
    client.set_log_level("warning")

    assert client.list_resources()


def test_changes_of_a_resource_are_heard_until_it_is_unsubscribed(client: MCPClient) -> None:
    """Spec, server/resources: by `resources/subscribe`, or by listening."""
    heard: list[str] = []
    client.on_resource_updated = heard.append

    client.subscribe_resource("file:///a")
    client.call("touch", {})
    wait_until(lambda: heard == ["file:///a"])
    client.unsubscribe_resource("file:///a")

    assert client.call("touch", {})["content"][0]["text"] == ""
    assert heard == ["file:///a"]


def test_a_subscription_that_is_refused_is_an_error(client: MCPClient) -> None:
    """Spec: the server knows no such resource."""
    with pytest.raises(PeerError, match="no such resource"):
        client.subscribe_resource("file:///refused")


def test_a_subscription_that_the_server_ends_is_told(start_server: Started) -> None:
    """Spec 2026-07-28: nothing is replayed, so whoever needs it subscribes anew. Before, servers cannot end one."""
    client = start_server("offers", ERAS[0])
    ended: list[str] = []
    client.on_subscription_ended = ended.append
    client.subscribe_resource("file:///a")

    client.call("end", {})

    wait_until(lambda: ended == ["file:///a"])


def test_subscriptions_outlive_the_servers_process(client: MCPClient) -> None:
    """Spec, IO-7: a server that was started again is asked again, and what it has may have changed meanwhile."""
    heard: list[str] = []
    client.on_resource_updated = heard.append
    client.subscribe_resource("file:///a")
    client.call_tool("die", {})
    wait_until(lambda: not client.is_connected())

    assert client.call("list", {})["content"][0]["text"] == "file:///a"

    assert heard == ["file:///a"]


def test_a_call_can_be_cancelled_from_another_thread(client: MCPClient) -> None:
    """Spec, utilities/cancellation: the server is told; ours: whoever waits gets an error of its own."""
    deadline = client.deadline()
    failures: list[Exception] = []

    def call() -> None:
        try:
            client.call("hang", {}, deadline)
        except CancelledError as error:
            failures.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    deadline.cancel()
    thread.join(5)

    assert [isinstance(failure, CancelledError) for failure in failures] == [True]
    assert "'hang'" in str(failures[0])
    assert client.call("list", {})


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.get_prompt("p"),
        lambda client: client.read_resource("x://"),
        lambda client: client.complete({"type": "ref/prompt", "name": "p"}, "a", ""),
        lambda client: client.subscribe_resource("x://"),
    ],
)
def test_what_is_not_offered_is_not_asked_for(start_server: Started, ask: Callable[[MCPClient], Any]) -> None:
    """Spec, LC-3: only negotiated capabilities are used."""
    for server in ("good_stateless", "good_handshake"):
        client = start_server(server)

        with pytest.raises(NotOfferedError) as caught:
            ask(client)

        assert caught.value.offer in ("prompts", "resources", "completions")
        assert client.list_prompts() == client.list_resources() == client.list_resource_templates() == []


def test_nothing_is_asked_without_a_connection(start_server: Started) -> None:
    """GAIA's documents: a RuntimeError."""
    client = start_server("good_stateless", is_open=False)

    for ask in (client.list_prompts, client.list_resources, lambda: client.read_resource("x://")):
        with pytest.raises(NotConnectedError):
            ask()


class Silent(MCPTransport):
    """A transport of somebody's own, which presents its server without a word about what it can."""

    def __init__(self, result: dict[str, Any]) -> None:
        self.result = result

    def connect(self) -> bool:
        return True

    def disconnect(self) -> None:
        pass

    def is_connected(self) -> bool:
        return True

    def send_request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        return {"result": {} if method == "initialize" else self.result}


def test_a_server_that_says_nothing_about_itself_is_asked_all_the_same() -> None:
    """Ours: custom transports answer `initialize` as they like."""
    client = MCPClient("s", Silent({"contents": [], "messages": [], "prompts": [{"name": "p"}]}))
    client.open()

    assert client.read_resource("x://") == client.get_prompt("p")
    assert client.list_prompts() == [{"name": "p"}]
    with pytest.raises(NotOfferedError):
        client.subscribe_resource("x://")


@pytest.mark.parametrize("ask", [lambda client: client.get_prompt("p"), lambda client: client.read_resource("x://")])
def test_an_answer_without_what_it_is_for_is_a_breach(ask: Callable[[MCPClient], Any]) -> None:
    """Ours: a typed error with the server's name, rather than a KeyError somewhere else."""
    client = MCPClient("s", Silent({"text": "hello"}))
    client.open()

    with pytest.raises(RemoteProtocolError, match="'s' answered"):
        ask(client)


def test_a_person_who_declines_that_a_model_is_asked_ends_the_call(start_server: Started) -> None:
    """Spec, sampling: the server hears an error in the handshake era."""

    def sample(_params: dict[str, Any]) -> dict[str, Any]:
        raise DeclinedError("not now")

    client = start_server("asks_sampling", host=Host(sample=sample))

    assert "not now" in str(client.call_tool("ask", {}))


def test_a_call_that_waits_for_another_thread_can_be_cancelled(start_server: Started) -> None:
    """Ours: the lock is another's, the deadline one's own."""
    client = start_server("offers", ERAS[0])
    deadline = client.deadline()
    held, over = threading.Event(), threading.Event()

    def hold() -> None:
        with client._alone(client.deadline()):
            held.set()
            over.wait(5)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(5)
    timer = threading.Timer(0.05, deadline.cancel)
    timer.start()
    try:
        with pytest.raises(CancelledError):
            client.fetch_tools(deadline)
    finally:
        over.set()
        thread.join()
        timer.join()


def test_the_oldest_servers_are_asked_to_complete_though_they_cannot_say_that_they_do(start_server: Started) -> None:
    """Spec 2024-11-05: there was no capability for it."""
    client = start_server("offers", "2024-11-05")

    assert client.complete({"type": "ref/prompt", "name": "review"}, "lang", "py").values == ["python", "pypy"]


def test_the_log_level_outlives_the_servers_process(start_server: Started) -> None:
    """Ours: as subscriptions do."""
    client = start_server("offers", ERAS[1])
    client.set_log_level("warning")
    client.call_tool("die", {})
    wait_until(lambda: not client.is_connected())

    client.list_resources()

    assert [line for line in start_server.notes("offers") if "logging/setLevel" in line][1:]


def test_a_server_that_declares_nothing_is_asked_for_nothing(start_server: Started) -> None:
    """Spec, LC-3: an empty object says that nothing is offered."""
    client = start_server("declares_nothing")

    assert client.list_prompts() == client.list_resources() == []
