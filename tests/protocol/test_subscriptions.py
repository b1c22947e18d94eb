"""What clients of both eras subscribe to, and what reaches whom."""

from __future__ import annotations

import json
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.protocol.events import Cancelled, RequestReceived
from gaia_mcp.protocol.subscriptions import (
    MAX_SUBSCRIPTIONS,
    MAX_URI_CHARS,
    MAX_URIS,
    SubscriptionError,
    tasks_in,
)
from gaia_mcp.protocol.versions import HANDSHAKE_VERSIONS
from tests.protocol_support import (
    CAPABILITIES,
    CLIENT,
    CLIENT_INFO,
    SERVER,
    SERVER_INFO,
    SUBSCRIPTION,
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


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_a_changed_list_is_announced_unasked_after_a_handshake(version: str) -> None:
    """Spec: when the capability was declared."""
    server = open_server(version)
    server.announce_list_changed("tools")
    server.announce_list_changed("resources")  # Without listChanged.
    server.announce_list_changed("elsewhere")

    assert sent_by(server) == [note("notifications/tools/list_changed")]


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_a_resource_is_announced_to_a_handshake_client_between_subscribing_and_its_end(version: str) -> None:
    """Spec 2025-11-25: `resources/subscribe`, `resources/unsubscribe`; others hear nothing."""
    server = subscribed(version, A, A)
    server.announce_resource_updated(A)
    server.announce_resource_updated(B)
    assert sent_by(server) == [note("notifications/resources/updated", {"uri": A})]

    assert answer(server, rpc(1, "resources/unsubscribe", {"uri": A})) == rpc_result(1, {})
    server.announce_resource_updated(A)
    assert sent_by(server) == []
    assert answer(server, rpc(2, "resources/unsubscribe", {"uri": B})) == rpc_result(2, {})


def test_a_list_is_not_announced_without_a_handshake() -> None:
    """Spec 2026-07-28: only what was subscribed to."""
    server = new_server()
    give(server, enveloped(1, "server/discover"))
    sent_by(server)
    server.announce_list_changed("tools")

    assert sent_by(server) == []


def test_what_changes_during_a_handshake_is_announced_after_it_once() -> None:
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


def test_another_handshake_begins_without_subscriptions() -> None:
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


@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
@pytest.mark.parametrize("params", [{}, {"uri": None}, {"uri": [A]}, {"uri": "x" * (MAX_URI_CHARS + 1)}])
def test_a_resource_is_subscribed_to_by_its_uri(method: str, params: dict[str, Any]) -> None:
    """Spec: `uri` is required. Ours: a limit."""
    assert code(subscribed(OLD), rpc(1, method, params)) == -32602


# The stateless era.


def test_a_subscription_is_acknowledged_with_what_is_honoured() -> None:
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
def test_a_subscriber_hears_only_what_it_opted_into_with_its_own_id(request_id: object) -> None:
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


def test_a_cancelled_subscription_hears_nothing_more() -> None:
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


def test_a_cancelled_request_that_is_no_subscription_ends_none() -> None:
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


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"notifications": None},
        {"notifications": ["toolsListChanged"]},
        {"notifications": {"resourceSubscriptions": A}},
        {"notifications": {"resourceSubscriptions": {A: True}}},
        {"notifications": {"resourceSubscriptions": [A, 1]}},
        {"notifications": {"resourceSubscriptions": [A, "x" * (MAX_URI_CHARS + 1)]}},
    ],
)
def test_a_subscription_to_nothing_readable_is_refused(params: dict[str, Any]) -> None:
    """Spec 2026-07-28: the filter is required, and its URIs are a list of strings. It leaves nothing behind."""
    server = new_server(resources=RESOURCES)

    assert code(server, enveloped(1, "subscriptions/listen", params)) == -32602
    assert list(server.subscriptions) == []
    assert A not in server.subscriptions


def test_a_filter_may_have_null_for_what_is_not_wanted() -> None:
    """Ours: what is received may have null for an absent member."""
    ack = listening(new_server(resources=RESOURCES), 1, toolsListChanged=True, resourceSubscriptions=None)

    assert ack["params"]["notifications"] == {"toolsListChanged": True}


# Limits.


def test_there_is_an_end_to_subscriptions() -> None:
    """Ours: the official SDK's limit."""
    server = new_server()
    for number in range(MAX_SUBSCRIPTIONS):
        listening(server, number)

    assert code(server, enveloped("more", "subscriptions/listen", {"notifications": {}})) == -32603
    give(server, note("notifications/cancelled", {"requestId": 0}))
    listening(server, "more")


def test_there_is_an_end_to_the_resources_of_all_subscriptions() -> None:
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


def test_a_subscription_keeps_nothing_of_what_describes_its_client() -> None:
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


def test_a_resource_that_is_not_there_may_be_subscribed_to() -> None:
    """Spec: how a URI is interpreted is up to the server, and only `resources/read` refuses an unknown one; it may
    appear later, or belong to a template.
    """
    server = new_server(resources=RESOURCES)

    ack = listening(server, 1, resourceSubscriptions=["none://such"])

    assert ack["params"]["notifications"] == {"resourceSubscriptions": ["none://such"]}


# Tasks.

TASKS = {"io.modelcontextprotocol/tasks": {}}


def naming(server: ServerConnection, request_id: object, tasks: Any, **wanted: object) -> RequestReceived:
    """A request for a subscription to tasks, for which somebody has to look."""
    wanted = {"taskIds": tasks, **wanted}
    (received,) = give(server, enveloped(request_id, "subscriptions/listen", {"notifications": wanted}))
    assert isinstance(received, RequestReceived)
    return received


def test_a_subscription_to_tasks_is_acknowledged_with_those_that_the_client_has() -> None:
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


@pytest.mark.parametrize("named", ["a", {"a": 1}, ["a", 5], [None]])
def test_tasks_are_named_by_texts(named: Any) -> None:
    """Extension, TaskSubscriptionNotifications."""
    received = naming(open_server("2026-07-28", extensions=TASKS), 5, named)

    with pytest.raises(SubscriptionError, match="taskIds must be a list of strings") as caught:
        tasks_in(received.params)
    assert caught.value.code == -32602


def test_a_server_without_tasks_acknowledges_none() -> None:
    """Extension, capability negotiation; and null names none."""
    assert listening(open_server("2026-07-28"), 5, taskIds=["a"])["params"]["notifications"] == {}
    with_tasks = open_server("2026-07-28", extensions=TASKS)
    assert listening(with_tasks, 5, taskIds=None)["params"]["notifications"] == {}


def test_there_is_an_end_to_the_tasks_of_all_subscriptions() -> None:
    """Ours."""
    server = open_server("2026-07-28", extensions=TASKS)
    many = [str(number) for number in range(MAX_URIS)]
    server.subscribe(naming(server, 5, many), many)
    server.subscribe(naming(server, 6, ["x"]), ["x"])

    acknowledged, refused = sent_by(server)
    assert acknowledged["params"]["notifications"]["taskIds"] == many
    assert refused["error"]["message"] == f"more than {MAX_URIS} subscribed tasks"


def test_what_is_subscribed_to_is_known_and_its_changes_are_told() -> None:
    """Ours: a server that is asked by others for its resources subscribes to them there."""
    told: list[set[str]] = []
    server = open_server("2026-07-28", resources=RESOURCES)
    server.subscriptions.on_change = lambda: told.append(server.subscriptions.uris())

    listening(server, 1, resourceSubscriptions=[A, B])
    listening(server, 2, resourceSubscriptions=[A])
    server.cancel(1)
    server.cancel(2)

    assert told == [{A, B}, {A}, set()]


def test_a_handshake_client_tells_of_its_resources_too() -> None:
    """Ours: once for each that it begins or ends to follow."""
    told: list[set[str]] = []
    server = subscribed(OLD)
    server.subscriptions.on_change = lambda: told.append(server.subscriptions.uris())

    for number, method in enumerate(("subscribe", "subscribe", "unsubscribe")):
        answer(server, rpc(number, f"resources/{method}", {"uri": A}))

    assert told == [{A}, set()]
