"""What is requested again on each new connection: subscriptions and log messages. And what may not be requested."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client import MCPClient
from gaia_mcp.core.errors import (
    ConnectionLostError,
    DeadlineError,
    NotSupportedError,
    PeerError,
    ResourceUnknownError,
    ServerExitedError,
    SessionExpiredError,
)
from tests.client.conftest import error_of, noted
from tests.client.eras import (
    ERAS,
    SUBSCRIPTION,
    URI,
    changed,
    granted,
    is_stateless,
    scripted,
    updated,
    usual,
)
from tests.client.transports.scripted import Scripted
from tests.client.transports.talk import Message, Talk, error, result
from tests.waiting import deadline_until, wait_until

if TYPE_CHECKING:
    from tests.client.conftest import Started
    from tests.client.eras import StartTalk

if TYPE_CHECKING:
    from tests.client.conftest import Started
    from tests.client.eras import StartTalk


@pytest.fixture(params=ERAS)
def client(request: pytest.FixtureRequest, start_server: Started) -> MCPClient:
    """A client of a server that offers everything, in each era."""
    client = start_server("offers", request.param)
    assert client.protocol_version == request.param
    return client


def test_a_refused_subscription_is_an_error(client: MCPClient) -> None:
    """Spec: the server knows no such resource."""
    with pytest.raises(ResourceUnknownError, match="has no resource 'file:///refused'"):
        client.subscribe_resource("file:///refused")


def test_subscriptions_are_renewed_after_a_restart(client: MCPClient) -> None:
    """Spec, IO-7: a restarted server has no subscriptions. Ours: an update is reported, as one may have been missed."""
    heard: list[str] = []
    client.on_resource_updated = heard.append
    client.subscribe_resource("file:///a")
    client.call_tool("die", {})
    wait_until(lambda: not client.is_connected())

    assert client.call("list", {})["content"][0]["text"] == "file:///a"

    assert heard == ["file:///a"]


def test_the_log_level_is_set_again_after_a_restart(start_server: Started) -> None:
    """Ours: as subscriptions are."""
    client = start_server("offers", ERAS[1])
    client.set_log_level("warning")
    client.call_tool("die", {})
    wait_until(lambda: not client.is_connected())

    client.list_resources()

    assert [line for line in start_server.notes("offers") if "logging/setLevel" in line][1:]


def test_an_undeclared_feature_is_not_requested(start_server: Started) -> None:
    """Spec, LC-3: only negotiated capabilities are used."""
    for server in ("good_stateless", "good_handshake"):
        client = start_server(server)

        errors = [
            error_of(client.get_prompt, "p"),
            error_of(client.read_resource, "x://"),
            error_of(client.complete, {"type": "ref/prompt", "name": "p"}, "a", ""),
            error_of(client.subscribe_resource, "x://"),
        ]

        features = [each.feature for each in errors if isinstance(each, NotSupportedError)]
        assert features == ["prompts", "resources", "completions", "resources"], errors
        assert client.list_prompts() == client.list_resources() == client.list_resource_templates() == []


def test_a_server_that_declares_no_capabilities_is_sent_requests() -> None:
    """Ours: custom transports respond to `initialize` without any capabilities."""
    found = {"contents": [], "messages": [], "prompts": [{"name": "p"}]}
    client = MCPClient("s", Scripted(**dict.fromkeys(("resources/read", "prompts/get", "prompts/list"), found)))
    client.open()

    assert client.read_resource("x://") == client.get_prompt("p")
    assert client.list_prompts() == [{"name": "p"}]
    with pytest.raises(NotSupportedError):
        client.subscribe_resource("x://")


def test_a_server_of_2024_11_05_needs_no_capability_for_completion(start_server: Started) -> None:
    """Spec 2024-11-05: there was no capability for it."""
    client = start_server("offers", "2024-11-05")

    assert client.complete({"type": "ref/prompt", "name": "review"}, "lang", "py").values == ["python", "pypy"]


def subscriptions_sent(conversation: Talk) -> list[str]:
    methods = ("subscriptions/listen", "resources/subscribe")
    return [method for method in conversation.methods() if method in methods]


def test_a_subscription_needs_the_subscribe_capability(start_talk: StartTalk) -> None:
    """Spec, resources: `subscribe` is a capability of its own (LC-3)."""
    for resources in ({}, {"subscribe": False}, {"subscribe": "yes"}, None, 7):
        client, conversation = start_talk(capabilities={"resources": resources})

        caught = error_of(client.subscribe_resource, URI)

        assert isinstance(caught, NotSupportedError), resources
        assert (resources, caught.feature, conversation.sent) == (resources, "subscriptions", [])


def test_a_second_subscription_to_a_resource_is_not_sent(start_talk: StartTalk) -> None:
    """Ours: in 2026-07-28 the server would send each update once for each subscription."""
    client, conversation = start_talk()

    client.subscribe_resource(URI)
    client.subscribe_resource(URI)
    assert len(subscriptions_sent(conversation)) == 1
    client.unsubscribe_resource(URI)
    client.subscribe_resource(URI)

    assert len(subscriptions_sent(conversation)) == 2


def test_a_subscription_in_an_expired_session_is_sent_again_in_a_new_one() -> None:
    """Spec, LC-6: a new session has no subscriptions, so those granted before are sent again as well."""
    granted_in: list[tuple[int, str]] = []

    def answer(message: Message) -> Any:
        if message["method"] == "resources/subscribe":
            uri = message["params"]["uri"]
            if uri == "test://b" and len(talk.channels) == 1:
                talk.fails_request(message["id"], SessionExpiredError("s"))
                talk.ends(ConnectionLostError("the session is gone"))
                return []
            granted_in.append((len(talk.channels), uri))
        return {}

    talk = Talk(scripted("2025-11-25", answer))
    with MCPClient("s", talk, timeout=5) as client:
        client.subscribe_resource("test://a")
        client.subscribe_resource("test://b")

    assert granted_in == [(1, "test://a"), (2, "test://a"), (2, "test://b")]


def test_a_subscription_without_an_acknowledgement_ends_with_the_deadline(start_talk: StartTalk) -> None:
    """Ours: the request is cancelled, and an acknowledgement after that has no effect."""
    notification = {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged"}

    def check(meta: Any) -> None:
        unknown = {**notification, "params": {"notifications": {"resourceSubscriptions": [URI]}, "_meta": meta}}
        heard: list[str] = []
        client, conversation = start_talk(lambda message: [unknown])
        client.on_resource_updated = client.on_subscription_ended = heard.append

        with pytest.raises(DeadlineError):
            client.subscribe_resource(URI, deadline_until(lambda: conversation.sent))

        asked, cancelled = conversation.sent
        assert asked["method"] in ("subscriptions/listen", "resources/subscribe")
        assert (cancelled["method"], cancelled["params"]["requestId"]) == ("notifications/cancelled", asked["id"])
        late = granted(asked, URI) if is_stateless(client) else result(asked, {})
        conversation.arrives(late)
        conversation.arrives(result(asked, {}))
        assert heard == []
        assert not client.engine._subscribed

    for meta in (None, 7, {}, {SUBSCRIPTION: None}, {SUBSCRIPTION: {}}, {SUBSCRIPTION: "other"}):
        with noted(meta):
            check(meta)


def test_a_subscription_that_has_ended_can_be_made_again(start_talk: StartTalk) -> None:
    """Ours: one that ends as soon as it is granted must not count as active."""
    ended: list[str] = []

    def answers(message: Message) -> Any:
        if message["method"] != "subscriptions/listen":
            return {}
        return [granted(message, URI), result(message, {"resultType": "complete"})]

    client, conversation = start_talk(answers)
    client.on_subscription_ended = ended.append

    client.subscribe_resource(URI)
    client.subscribe_resource(URI)

    assert ended == ([URI, URI] if is_stateless(client) else [])
    assert len(subscriptions_sent(conversation)) == (2 if is_stateless(client) else 1)


def test_a_refused_subscription_can_be_requested_again(start_talk: StartTalk) -> None:
    """Ours: only granted subscriptions count as active."""
    answers: list[Any] = [lambda message: [error(message, -32602, "not yet")], usual]
    client, conversation = start_talk(lambda message: answers.pop(0)(message))

    with pytest.raises(PeerError, match="not yet"):
        client.subscribe_resource(URI)
    client.subscribe_resource(URI)

    assert len(subscriptions_sent(conversation)) == 2


def test_a_subscription_refused_after_a_restart_is_reported_as_ended(start_talk: StartTalk) -> None:
    """Ours: the call that reconnects succeeds, and the program can subscribe again."""
    answers: list[Any] = [usual, lambda message: [error(message, -32602, "no such resource")]]

    def answer(message: Message) -> Any:
        is_subscribing = message["method"] in ("subscriptions/listen", "resources/subscribe")
        return answers.pop(0)(message) if is_subscribing else usual(message)

    ended: list[str] = []
    client, conversation = start_talk(answer)
    client.subscribe_resource(URI)
    client.on_subscription_ended = ended.append
    conversation.ends(ConnectionLostError("gone", server="odd"))

    assert client.read_resource("x://")["contents"] == []
    assert (ended, answers) == ([URI], [])


def test_notifications_without_a_listener_are_ignored(start_talk: StartTalk) -> None:
    """Ours: a program need not set all three listeners."""
    client, conversation = start_talk()
    client.subscribe_resource(URI)

    conversation.arrives(changed("tools"))
    conversation.arrives(updated(URI))

    assert client.read_resource("x://")["contents"] == []


def raising(_: str) -> None:
    raise ZeroDivisionError("a listener's own mistake")


def test_an_exception_of_a_listener_is_logged_and_reading_continues(
    start_talk: StartTalk, caplog: pytest.LogCaptureFixture
) -> None:
    """Ours: every other request would wait for a response that is never read."""
    client, conversation = start_talk()
    client.on_list_changed = client.on_resource_updated = client.on_subscription_ended = raising
    client.subscribe_resource(URI)
    asked = conversation.sent[-1]

    conversation.arrives(changed("tools"))
    conversation.arrives(updated(URI))
    conversation.arrives(result(asked, {}))

    assert client.read_resource("x://")["contents"] == []
    assert sum(record.levelno == logging.ERROR for record in caplog.records) == (3 if is_stateless(client) else 2)


@pytest.mark.parametrize("era", ERAS)
def test_an_exception_of_a_listener_does_not_fail_the_call_that_reconnects(
    start_server: Started, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Ours: the caller of the request did not cause the exception, and cannot handle it."""
    client = start_server("offers", era)
    client.on_resource_updated = raising
    client.subscribe_resource("file:///a")
    with pytest.raises(ServerExitedError):
        client.call("die", {})

    assert client.call("list", {})["content"][0]["text"] == "file:///a"

    assert any(record.exc_info for record in caplog.records)


def test_a_listener_set_before_opening_receives_list_changes(start_talk: StartTalk) -> None:
    """Ours: the same in both eras, though servers of the handshake era send them without a subscription."""
    heard: list[str] = []
    conversation = start_talk()[1]
    client = MCPClient("odd", conversation, timeout=5)
    client.on_list_changed = heard.append

    client.open()

    listening = [message for message in conversation.sent if message.get("method") == "subscriptions/listen"]
    assert [message["params"]["notifications"] for message in listening] == (
        [{"toolsListChanged": True}] if is_stateless(client) else []
    )
    conversation.arrives(changed("tools"))
    assert heard == ["tools"]
