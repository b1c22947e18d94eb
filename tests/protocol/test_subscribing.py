"""Hearing of changed resources, in both eras: the client's end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.protocol.envelope import SUBSCRIPTION_KEY
from gaia_mcp.protocol.events import (
    Discarded,
    ErrorResponse,
    InvalidResponse,
    ListChanged,
    ResourceUpdated,
    SubscriptionEnded,
)
from gaia_mcp.protocol.jsonrpc import Result
from gaia_mcp.protocol.versions import HANDSHAKE_VERSIONS
from tests.protocol_support import give, note, open_client, rpc, rpc_error, rpc_result, sent_by

if TYPE_CHECKING:
    from gaia_mcp.protocol.client import ClientConnection

NEW = "2026-07-28"
URI = "file:///r/a.txt"


def acknowledged(subscription: Any, *uris: str) -> dict[str, Any]:
    """The answer that grants a subscription."""
    granted = {"notifications": {"resourceSubscriptions": list(uris)}, "_meta": {SUBSCRIPTION_KEY: subscription}}
    return note("notifications/subscriptions/acknowledged", granted)


def cancelled_by_server(request_id: Any) -> dict[str, Any]:
    return note("notifications/cancelled", {"requestId": request_id})


def updated(uri: Any = URI, subscription: Any = ...) -> dict[str, Any]:
    meta = {} if subscription is ... else {"_meta": {SUBSCRIPTION_KEY: subscription}}
    return note("notifications/resources/updated", {"uri": uri, **meta})


def subscribed() -> tuple[ClientConnection, Any]:
    """A stateless client with one subscription that was granted, and its id."""
    client = open_client(NEW)
    request_id = client.subscribe(URI)
    sent_by(client)
    assert give(client, acknowledged(request_id, URI)) == [Result(request_id, {})]
    return client, request_id


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_a_resource_is_subscribed_to_by_a_request_of_its_own_before_2026(version: str) -> None:
    """Spec up to 2025-11-25, resources: `resources/subscribe` and `resources/unsubscribe`."""
    client = open_client(version)

    asked = client.subscribe(URI)
    assert sent_by(client) == [rpc(asked, "resources/subscribe", {"uri": URI})]
    assert give(client, rpc_result(asked, {})) == [Result(asked, {})]
    assert give(client, updated()) == [ResourceUpdated(URI)]
    ended = client.unsubscribe(URI)
    assert ended is not None
    assert sent_by(client) == [rpc(ended, "resources/unsubscribe", {"uri": URI})]


def test_a_resource_is_listened_to_in_2026() -> None:
    """Spec 2026-07-28: `subscriptions/listen`; granted once it is acknowledged, and told of from then on."""
    client = open_client(NEW)

    asked = client.subscribe(URI)
    (sent,) = sent_by(client)
    assert (sent["id"], sent["method"]) == (asked, "subscriptions/listen")
    assert sent["params"]["notifications"] == {"resourceSubscriptions": [URI]}
    assert give(client, acknowledged(asked, URI)) == [Result(asked, {})]
    assert give(client, acknowledged(asked, URI)) == []
    assert give(client, updated()) == [ResourceUpdated(URI)]
    assert give(client, updated(7)) == []
    assert client.unsubscribe(URI) is None
    (cancelled,) = sent_by(client)
    assert cancelled["method"] == "notifications/cancelled"
    assert cancelled["params"]["requestId"] == asked
    assert give(client, rpc_result(asked, {"resultType": "complete"})) == []


def test_a_subscription_to_a_resource_and_the_watch_of_lists_are_told_apart() -> None:
    """Spec 2026-07-28: by the id of the subscription."""
    client = open_client(NEW)
    client.watch_lists()
    watched = sent_by(client)[0]["id"]
    asked = client.subscribe(URI)
    sent_by(client)

    assert give(client, acknowledged(asked, URI)) == [Result(asked, {})]
    assert give(client, note("notifications/subscriptions/acknowledged", {"notifications": {}})) == []
    assert give(client, rpc_result(watched, {})) == [ListChanged("tools"), ListChanged("prompts")]
    assert give(client, rpc_result(asked, {})) == [SubscriptionEnded(URI)]


@pytest.mark.parametrize("uris", [(), ("file:///other",)])
def test_a_grant_without_the_resource_is_none(uris: tuple[str, ...]) -> None:
    """Spec 2026-07-28, MC-9: what is acknowledged is compared with what was asked for."""
    client = open_client(NEW)
    asked = client.subscribe(URI)
    sent_by(client)

    (broken,) = give(client, acknowledged(asked, *uris))

    assert isinstance(broken, InvalidResponse)
    assert broken.id == asked
    (cancelled,) = sent_by(client)
    assert cancelled["params"]["requestId"] == asked


def test_a_refused_subscription_is_refused() -> None:
    """Spec: an error is the answer."""
    client = open_client(NEW)
    asked = client.subscribe(URI)

    assert give(client, rpc_error(asked, -32602)) == [
        ErrorResponse(asked, "subscriptions/listen", -32602, "no", None)  # type: ignore[arg-type]
    ]


def test_a_refused_subscription_is_forgotten() -> None:
    """Ours: a grant that comes after all grants nothing, and there is nothing to give up."""
    client = open_client(NEW)
    asked = client.subscribe(URI)
    sent_by(client)
    give(client, rpc_error(asked, -32602))

    assert give(client, acknowledged(asked, URI)) == []
    assert give(client, updated(URI, asked)) == []
    assert client.unsubscribe(URI) is None
    assert sent_by(client) == []


def test_news_of_a_subscription_that_is_none_is_passed_over() -> None:
    """Spec 2026-07-28, MC-9: told apart by the id of the subscription, and its type; without one it is believed."""
    client, asked = subscribed()

    assert give(client, updated(URI, asked)) == [ResourceUpdated(URI)]
    for other in (asked + 1, str(asked), "x"):
        assert give(client, updated(URI, other)) == []
    for nothing in (None, True, 1.5, {}, [asked]):
        assert give(client, updated(URI, nothing)) == [ResourceUpdated(URI)]
    client.unsubscribe(URI)
    assert give(client, updated(URI, asked)) == []


def test_news_is_believed_where_subscriptions_have_no_ids() -> None:
    """Spec up to 2025-11-25: `_meta` is anybody's."""
    client = open_client(HANDSHAKE_VERSIONS[0])

    assert give(client, updated(URI, 7)) == [ResourceUpdated(URI)]


def test_unsubscribing_leaves_alone_what_is_not_granted_yet() -> None:
    """Ours: whoever waits for the grant would wait in vain."""
    client = open_client(NEW)
    asked = client.subscribe(URI)
    sent_by(client)

    client.unsubscribe(URI)

    assert sent_by(client) == []
    assert give(client, acknowledged(asked, URI)) == [Result(asked, {})]


def test_a_subscription_that_ends_before_it_began_is_broken() -> None:
    """Ours: servers answer so that do not know the method well (wire reference, Q9)."""
    for ending in (rpc_result, lambda number, _: cancelled_by_server(number)):
        client = open_client(NEW)
        asked = client.subscribe(URI)

        (broken,) = give(client, ending(asked, {}))

        assert isinstance(broken, InvalidResponse)
        assert broken.id == asked


@pytest.mark.parametrize("how", ["result", "error", "cancelled", "broken"])
def test_a_subscription_that_the_server_ends_is_told(how: str) -> None:
    """Spec 2026-07-28: nothing is replayed, so the owner has to know."""
    client, asked = subscribed()
    ending = {
        "result": rpc_result(asked, {"resultType": "complete"}),
        "error": rpc_error(asked, -32603),
        "cancelled": cancelled_by_server(asked),
        "broken": {"jsonrpc": "2.0", "id": asked, "result": None},
    }[how]

    assert give(client, ending) == [SubscriptionEnded(URI)]
    # What still comes for it is expected where the answer proper has not been there yet.
    late = give(client, rpc_result(asked, {}))
    assert [type(event) for event in late] == ([Discarded] if how in ("result", "error") else [])


def test_a_subscription_that_is_given_up_is_cancelled() -> None:
    """Ours: its caller has run out of time."""
    client = open_client(NEW)
    asked = client.subscribe(URI)
    sent_by(client)

    client.abandon(asked, "no longer wanted")

    assert [sent["method"] for sent in sent_by(client)] == ["notifications/cancelled"]
    assert give(client, acknowledged(asked, URI)) == []
