"""What clients of both eras subscribe to, and what reaches whom."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.protocol import HANDSHAKE_VERSIONS
from gaia_mcp.protocol.events import Cancelled, RequestReceived
from gaia_mcp.protocol.subscriptions import (
    MAX_SUBSCRIPTIONS,
    MAX_URI_CHARS,
    MAX_URIS,
    SubscriptionError,
    tasks_in,
)
from tests.protocol_support import (
    CAPABILITIES,
    CLIENT,
    CLIENT_INFO,
    SERVER,
    SERVER_INFO,
    SUBSCRIPTION,
    check_each,
    enveloped,
    give,
    new_server,
    note,
    open_server,
    rpc,
    rpc_result,
    sent_by,
)

if TYPE_CHECKING:
    from gaia_mcp.protocol.server import ServerConnection

OLD = HANDSHAKE_VERSIONS[0]
RESOURCES = {"subscribe": True, "listChanged": True}
A, B = "file:///a", "file:///b"


def answer(server: ServerConnection, message: object) -> Any:
    """The one message that follows at once."""
    assert give(server, message) == []
    (sent,) = sent_by(server)
    return sent


def code(server: ServerConnection, message: object) -> int:
    """The code of the error with which a request is refused at once."""
    found: int = answer(server, message)["error"]["code"]
    return found


def listening(server: ServerConnection, request_id: object, **wanted: object) -> Any:
    """Subscribe in the stateless era; the acknowledgement."""
    return answer(server, enveloped(request_id, "subscriptions/listen", {"notifications": wanted}))


def subscribed(version: str, *uris: str) -> ServerConnection:
    """A server, with a client of the handshake era that has subscribed to these resources."""
    server = open_server(version, resources=RESOURCES)
    for uri in uris:
        assert answer(server, rpc(uri, "resources/subscribe", {"uri": uri})) == rpc_result(uri, {})
    return server


def updated(uri: str, *subscriptions: object) -> list[Any]:
    """The notifications of these subscriptions."""
    method = "notifications/resources/updated"
    return [note(method, {"uri": uri, "_meta": {SUBSCRIPTION: one}}) for one in subscriptions]


# The handshake era.


def test_a_list_change_is_announced_without_a_subscription_after_a_handshake() -> None:
    """Spec: when the capability was declared."""

    def check(version: str) -> None:
        server = open_server(version)
        server.announce_list_changed("tools")
        server.announce_list_changed("resources")  # Without listChanged.
        server.announce_list_changed("elsewhere")

        assert sent_by(server) == [note("notifications/tools/list_changed")]

    check_each(check, HANDSHAKE_VERSIONS)


def test_resource_updates_are_sent_between_subscribe_and_unsubscribe() -> None:
    """Spec 2025-11-25: `resources/subscribe`, `resources/unsubscribe`; other resources cause no notification."""

    def check(version: str) -> None:
        server = subscribed(version, A, A)
        server.announce_resource_updated(A)
        server.announce_resource_updated(B)
        assert sent_by(server) == [note("notifications/resources/updated", {"uri": A})]

        assert answer(server, rpc(1, "resources/unsubscribe", {"uri": A})) == rpc_result(1, {})
        server.announce_resource_updated(A)
        assert sent_by(server) == []
        assert answer(server, rpc(2, "resources/unsubscribe", {"uri": B})) == rpc_result(2, {})

    check_each(check, HANDSHAKE_VERSIONS)


def test_a_list_is_not_announced_without_a_handshake() -> None:
    """Spec 2026-07-28: only what was subscribed to."""
    server = new_server()
    give(server, enveloped(1, "server/discover"))
    sent_by(server)
    server.announce_list_changed("tools")

    assert sent_by(server) == []


def test_changes_during_a_handshake_are_announced_once_after_it() -> None:
    """Spec, LS-2: nothing but pings and log messages before `initialized`. Ours: and yet no change is lost."""
    server = new_server(resources=RESOURCES)
    opening = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": CLIENT}
    give(server, rpc("opening", "initialize", opening))
    # Some clients send requests before the notification.
    give(server, rpc(1, "resources/subscribe", {"uri": A}))
    sent_by(server)
    for _ in range(3):
        server.announce_list_changed("tools")
        server.announce_resource_updated(A)
    assert sent_by(server) == []

    give(server, note("notifications/initialized"))
    expected = [note("notifications/tools/list_changed"), note("notifications/resources/updated", {"uri": A})]
    assert sent_by(server) == expected
    give(server, note("notifications/initialized"))
    assert sent_by(server) == []


def test_a_second_handshake_ends_the_subscriptions_of_the_first() -> None:
    """Ours: what was subscribed to belongs to the earlier conversation. That of the stateless era stands alone."""
    server = subscribed(OLD, A, B)
    listening(server, "s", resourceSubscriptions=[A])

    opening = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": CLIENT}
    give(server, rpc("opening", "initialize", opening))
    give(server, note("notifications/initialized"))
    sent_by(server)
    server.announce_resource_updated(A)

    assert sent_by(server) == updated(A, "s")
    assert A in server.subscriptions
    assert B not in server.subscriptions


def test_an_invalid_uri_is_rejected() -> None:
    """Spec: `uri` is required. Ours: a limit."""
    cases = [{}, {"uri": None}, {"uri": [A]}, {"uri": "x" * (MAX_URI_CHARS + 1)}]

    wrong = [
        (method, params, found)
        for method in ["resources/subscribe", "resources/unsubscribe"]
        for params in cases
        if (found := code(subscribed(OLD), rpc(1, method, params))) != -32602
    ]

    assert not wrong


# The stateless era.


def test_an_acknowledgement_lists_the_granted_notifications() -> None:
    """Spec 2026-07-28, MS-13: the subset that the server has."""
    wanted = {
        "toolsListChanged": True,
        "promptsListChanged": False,
        "resourcesListChanged": True,
        "resourceSubscriptions": [A, B, A],
        "unknown": True,
    }

    assert listening(new_server(), "sub-1", **wanted) == note(
        "notifications/subscriptions/acknowledged",
        {"notifications": {"toolsListChanged": True}, "_meta": {SUBSCRIPTION: "sub-1"}},
    )
    granted = {"toolsListChanged": True, "resourcesListChanged": True, "resourceSubscriptions": [A, B]}
    assert listening(new_server(resources=RESOURCES), "sub-1", **wanted) == note(
        "notifications/subscriptions/acknowledged", {"notifications": granted, "_meta": {SUBSCRIPTION: "sub-1"}}
    )


@pytest.mark.parametrize("request_id", [1, "1"])
def test_a_subscriber_gets_only_its_notifications_with_its_id(request_id: object) -> None:
    """Spec 2026-07-28, MS-13: the id verbatim, type too."""
    server = new_server(resources=RESOURCES)
    listening(server, request_id, toolsListChanged=True, resourceSubscriptions=[A])
    listening(server, "other", promptsListChanged=True, resourceSubscriptions=[A, B])

    server.announce_list_changed("tools")

    (sent,) = sent_by(server)
    assert sent == note("notifications/tools/list_changed", {"_meta": {SUBSCRIPTION: request_id}})
    assert type(sent["params"]["_meta"][SUBSCRIPTION]) is type(request_id)
    server.announce_list_changed("resources")
    assert sent_by(server) == []
    server.announce_resource_updated(A)
    server.announce_resource_updated(B)
    assert sent_by(server) == [*updated(A, request_id, "other"), *updated(B, "other")]


def test_a_cancelled_subscription_gets_no_notifications() -> None:
    """Spec 2026-07-28: cancelling ends it; there is no answer and nothing for the owner to stop."""
    server = new_server(resources=RESOURCES)
    listening(server, 1, toolsListChanged=True, resourceSubscriptions=[A])

    assert give(server, note("notifications/cancelled", {"requestId": 1})) == []
    server.announce_list_changed("tools")
    server.announce_resource_updated(A)
    server.close()

    assert sent_by(server) == []
    assert A not in server.subscriptions
    listening(server, 1, toolsListChanged=True)


def test_cancelling_another_request_ends_no_subscription() -> None:
    """Ours: they are cancelled in the same way."""
    server = new_server()
    listening(server, 1, toolsListChanged=True)
    give(server, enveloped(2, "tools/list"))

    assert give(server, note("notifications/cancelled", {"requestId": 2})) == [Cancelled(2, "")]
    assert list(server.subscriptions) == [1]


def test_closing_ends_every_subscription_with_its_result() -> None:
    """Spec 2026-07-28, MS-13: the graceful end."""
    server = new_server()
    listening(server, 1, toolsListChanged=True)
    listening(server, "b")
    give(server, enveloped(3, "tools/call"))

    server.close()

    assert sent_by(server) == [
        rpc_result(request_id, {"resultType": "complete", "_meta": {SUBSCRIPTION: request_id, SERVER_INFO: SERVER}})
        for request_id in (1, "b")
    ]
    server.close()
    server.announce_list_changed("tools")
    assert sent_by(server) == []


def test_an_invalid_subscription_filter_is_rejected() -> None:
    """Spec 2026-07-28: the filter is required, and its URIs are a list of strings. It leaves nothing behind."""
    cases = [
        {},
        {"notifications": None},
        {"notifications": ["toolsListChanged"]},
        {"notifications": {"resourceSubscriptions": A}},
        {"notifications": {"resourceSubscriptions": {A: True}}},
        {"notifications": {"resourceSubscriptions": [A, 1]}},
        {"notifications": {"resourceSubscriptions": [A, "x" * (MAX_URI_CHARS + 1)]}},
    ]

    def check(params: dict[str, Any]) -> None:
        server = new_server(resources=RESOURCES)

        assert code(server, enveloped(1, "subscriptions/listen", params)) == -32602
        assert list(server.subscriptions) == []
        assert A not in server.subscriptions

    check_each(check, cases)


def test_null_in_a_filter_means_not_requested() -> None:
    """Ours: what is received may have null for an absent member."""
    ack = listening(new_server(resources=RESOURCES), 1, toolsListChanged=True, resourceSubscriptions=None)

    assert ack["params"]["notifications"] == {"toolsListChanged": True}


# Limits.


def test_the_number_of_subscriptions_is_limited() -> None:
    """Ours: the official SDK's limit."""
    server = new_server()
    for number in range(MAX_SUBSCRIPTIONS):
        listening(server, number)

    assert code(server, enveloped("more", "subscriptions/listen", {"notifications": {}})) == -32603
    give(server, note("notifications/cancelled", {"requestId": 0}))
    listening(server, "more")


def test_the_number_of_subscribed_resources_is_limited() -> None:
    """Ours: one client must not fill the memory, in either era. Those that it had before stay."""
    server = subscribed(OLD, A)
    many = [f"file:///{number}" for number in range(MAX_URIS - 1)]
    listening(server, 1, resourceSubscriptions=many)

    assert code(server, rpc(2, "resources/subscribe", {"uri": B})) == -32603
    wanted = {"notifications": {"resourceSubscriptions": [B]}}
    assert code(server, enveloped(3, "subscriptions/listen", wanted)) == -32603
    assert B not in server.subscriptions
    assert answer(server, rpc(4, "resources/subscribe", {"uri": A})) == rpc_result(4, {})
    listening(server, 5, toolsListChanged=True)

    server.announce_resource_updated(A)
    server.announce_resource_updated(many[-1])
    assert sent_by(server) == [note("notifications/resources/updated", {"uri": A}), *updated(many[-1], 1)]

    give(server, note("notifications/cancelled", {"requestId": 1}))
    assert answer(server, rpc(6, "resources/subscribe", {"uri": B})) == rpc_result(6, {})


def test_a_subscription_does_not_retain_client_metadata() -> None:
    """Ours: it stays open for long, and one client may have many."""
    server = new_server()
    large: dict[str, Any] = {CLIENT_INFO: {"name": "x" * 100_000, "version": "1"}, CAPABILITIES: {"y": ["z"] * 10_000}}
    tracemalloc.start()
    for number in range(50):
        server.receive(json.dumps(enveloped(number, "subscriptions/listen", {"notifications": {}}, **large)).encode())
        sent_by(server)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(list(server.subscriptions)) == 50
    assert kept < 1_000_000


def test_a_missing_resource_can_be_subscribed_to() -> None:
    """Spec: how a URI is interpreted is up to the server, and only `resources/read` refuses an unknown one; it may
    appear later, or belong to a template.
    """
    server = new_server(resources=RESOURCES)

    ack = listening(server, 1, resourceSubscriptions=["none://such"])

    assert ack["params"]["notifications"] == {"resourceSubscriptions": ["none://such"]}


# Tasks.

TASKS = {"io.modelcontextprotocol/tasks": {}}


def naming(server: ServerConnection, request_id: object, tasks: Any, **wanted: object) -> RequestReceived:
    """A request for a subscription to tasks, which its owner decides on."""
    wanted = {"taskIds": tasks, **wanted}
    (received,) = give(server, enveloped(request_id, "subscriptions/listen", {"notifications": wanted}))
    assert isinstance(received, RequestReceived)
    return received


def test_an_acknowledgement_lists_the_tasks_of_the_client() -> None:
    """Extension, task status notifications."""
    server = open_server("2026-07-28", extensions=TASKS, tools={"listChanged": True})
    received = naming(server, 5, ["a", "b", "a", "c"], toolsListChanged=True)
    assert tasks_in(received.params) == ["a", "b", "c"]
    assert sent_by(server) == []

    server.subscribe(received, ["a", "b"])

    (sent,) = sent_by(server)
    assert sent["params"]["notifications"] == {"toolsListChanged": True, "taskIds": ["a", "b"]}
    assert sent["params"]["_meta"] == {SUBSCRIPTION: 5}


def test_a_task_is_announced_to_its_subscribers() -> None:
    """Extension: the notification has the complete task."""
    server = open_server("2026-07-28", extensions=TASKS)
    for number, tasks in ((5, ["a", "b"]), (6, ["a"])):
        server.subscribe(naming(server, number, tasks), tasks)
    sent_by(server)
    state = {"taskId": "a", "status": "working"}

    assert server.announce_task("a", state) is True
    assert [message["params"] for message in sent_by(server)] == [
        {**state, "_meta": {SUBSCRIPTION: number}} for number in (5, 6)
    ]
    server.cancel(5)
    assert server.announce_task("b", {**state, "taskId": "b"}) is False
    assert sent_by(server) == []


def test_task_ids_must_be_strings() -> None:
    """Extension, TaskSubscriptionNotifications."""

    def check(named: Any) -> None:
        received = naming(open_server("2026-07-28", extensions=TASKS), 5, named)

        with pytest.raises(SubscriptionError, match="taskIds must be a list of strings") as caught:
            tasks_in(received.params)
        assert caught.value.code == -32602

    check_each(check, ["a", {"a": 1}, ["a", 5], [None]])


def test_a_server_without_tasks_acknowledges_none() -> None:
    """Extension, capability negotiation; and null names none."""
    assert listening(open_server("2026-07-28"), 5, taskIds=["a"])["params"]["notifications"] == {}
    with_tasks = open_server("2026-07-28", extensions=TASKS)
    assert listening(with_tasks, 5, taskIds=None)["params"]["notifications"] == {}


def test_the_number_of_subscribed_tasks_is_limited() -> None:
    """Ours: one client must not fill the memory, as with resources."""
    server = open_server("2026-07-28", extensions=TASKS)
    many = [str(number) for number in range(MAX_URIS)]
    server.subscribe(naming(server, 5, many), many)
    server.subscribe(naming(server, 6, ["x"]), ["x"])

    acknowledged, refused = sent_by(server)
    assert acknowledged["params"]["notifications"]["taskIds"] == many
    assert refused["error"]["message"] == f"more than {MAX_URIS} subscribed tasks"


def test_changes_of_the_subscribed_uris_are_reported() -> None:
    """Ours: a gateway subscribes to the same resources at the servers behind it."""
    reported: list[set[str]] = []
    server = open_server("2026-07-28", resources=RESOURCES)
    server.subscriptions.on_change = lambda: reported.append(server.subscriptions.uris())

    listening(server, 1, resourceSubscriptions=[A, B])
    listening(server, 2, resourceSubscriptions=[A])
    server.cancel(1)
    server.cancel(2)

    assert reported == [{A, B}, {A}, set()]


def test_subscribed_uris_of_a_handshake_client_are_reported() -> None:
    """Ours: once for each resource that it subscribes to or unsubscribes from."""
    reported: list[set[str]] = []
    server = subscribed(OLD)
    server.subscriptions.on_change = lambda: reported.append(server.subscriptions.uris())

    for number, method in enumerate(("subscribe", "subscribe", "unsubscribe")):
        answer(server, rpc(number, f"resources/{method}", {"uri": A}))

    assert reported == [{A}, set()]
