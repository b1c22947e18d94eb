"""The client's end: the ids of its negotiation, its requests, what servers send unasked, and subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.core.errors import PeerError
from gaia_mcp.protocol import ALL_VERSIONS, HANDSHAKE_VERSIONS
from gaia_mcp.protocol.client import MAX_WATCHES
from gaia_mcp.protocol.envelope import SUBSCRIPTION_KEY
from gaia_mcp.protocol.events import (
    Cancelled,
    Discarded,
    ErrorResponse,
    Garbled,
    InvalidResponse,
    ListChanged,
    NegotiationFailed,
    NotGranted,
    Opened,
    RequestReceived,
    ResourceUpdated,
    SubscriptionEnded,
)
from gaia_mcp.protocol.jsonrpc import Result
from tests.protocol_support import (
    CAPABILITIES,
    CLIENT,
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    LOG_LEVEL,
    SUBSCRIPTION,
    VERSION,
    check_each,
    check_rows,
    discovered,
    give,
    initialized,
    new_client,
    note,
    open_client,
    rpc,
    rpc_error,
    rpc_result,
    sent_by,
)

if TYPE_CHECKING:
    from gaia_mcp.protocol.client import ClientConnection

OLD, NEW = "2025-11-25", "2026-07-28"
URI = "file:///r/a.txt"
ALL_LISTS = {"toolsListChanged": True, "promptsListChanged": True, "resourcesListChanged": True}
ACKNOWLEDGED = note("notifications/subscriptions/acknowledged", {"notifications": ALL_LISTS})


def opening(*, probe: bool = True) -> tuple[ClientConnection, Any]:
    """A client that has sent its first message, and the id of that."""
    client = new_client(probe=probe)
    client.open()
    (first,) = sent_by(client)
    return client, first["id"]


# Opening: ids, silence, and what comes late.


@pytest.mark.parametrize("answer", [rpc_result("discover-1", discovered()), rpc_error("discover-1", -32601)])
def test_a_client_is_probing_until_the_probe_is_answered(answer: dict[str, Any]) -> None:
    """Ours: only until then can the exit of a server mean that it rejected an unknown request."""
    client = new_client()
    assert not client.is_probing
    client.open()
    assert (client.is_probing, client.may_prefer_handshake) == (True, True)

    give(client, answer)

    assert not client.is_probing


@pytest.mark.parametrize(
    "line", [b"Starting...", b'{"level":"info"}', b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}']
)
def test_a_line_that_is_not_a_response_leaves_the_probe_pending(line: bytes) -> None:
    """Spec, IO-9: a banner says nothing about the era."""
    client, probe = opening()

    give(client, line)

    assert client.is_probing
    assert sent_by(client) == []
    assert isinstance(give(client, rpc_result(probe, discovered()))[0], Opened)


def test_a_probe_timeout_sends_initialize_without_cancelling_the_probe() -> None:
    """Spec, IO-10: the probe is harmless; a cancellation would be one more thing that the server does not know."""
    client, _ = opening()

    client.probe_timed_out()

    assert [(sent["id"], sent["method"]) for sent in sent_by(client)] == [(1, "initialize")]


def test_a_late_probe_response_is_ignored() -> None:
    """Spec, IO-10: once initialize was sent, its reply decides."""
    cases = [
        rpc_result("discover-1", discovered()),
        rpc_result("discover-1", {}),
        rpc_result("discover-1", None),
        rpc_error("discover-1", -32601),
        rpc_error("discover-1", -32022, "no", {"supported": [NEW]}),
        rpc_error(None, -32601),
        rpc_error(..., -32600),
    ]

    def check(late: dict[str, Any]) -> None:
        client, _ = opening()
        client.probe_timed_out()
        (handshake,) = (sent["id"] for sent in sent_by(client))

        assert give(client, late) == []
        assert sent_by(client) == []

        (event,) = give(client, rpc_result(handshake, initialized()))
        assert isinstance(event, Opened)
        assert event.peer.era == "handshake"

    check_each(check, cases)


def test_a_rejection_of_the_negotiated_version_that_lists_it_is_reported() -> None:
    """Spec 2026-07-28, MC-3: there is no other version to retry with, and the error message has the contradiction."""
    cases = [
        (-32022, [NEW], f"no: it rejected {NEW}, which it lists as supported"),
        (-32022, ["2027-01-01"], "no"),
        (-32022, None, "no"),
        (-32602, [NEW], "no"),
    ]

    def check(code: int, listed: Any, said: str) -> None:
        client = open_client(NEW)
        request = client.request("tools/list")

        (event,) = give(client, rpc_error(request, code, "no", {"supported": listed}))

        assert isinstance(event, ErrorResponse)
        assert (event.code, event.text) == (code, said)

    check_rows(check, cases)


def test_a_probe_response_after_the_handshake_is_ignored() -> None:
    """Spec, IO-10."""
    client, _ = opening()
    client.probe_timed_out()
    (handshake,) = (sent["id"] for sent in sent_by(client))
    give(client, rpc_result(handshake, initialized()))
    request_id = client.request("tools/list")

    assert give(client, rpc_error("discover-1", -32601)) == []
    assert give(client, rpc_result(request_id, {})) == [Result(request_id, {})]


def test_a_duplicate_probe_response_does_not_affect_the_handshake() -> None:
    """Ours: some servers answer twice."""
    client, probe = opening()
    give(client, rpc_error(probe, -32601))
    (handshake,) = (sent["id"] for sent in sent_by(client))

    (event,) = give(client, rpc_error(probe, -32601))

    assert isinstance(event, Discarded)
    assert isinstance(give(client, rpc_result(handshake, initialized()))[0], Opened)


def test_a_probe_timeout_without_a_pending_probe_has_no_effect() -> None:
    """Ours: a timer that fires too late does no harm."""

    def check(prepare: str) -> None:
        client = new_client() if prepare == "nothing" else opening(probe=prepare != "initializing")[0]
        if prepare == "answered":
            give(client, rpc_error("discover-1", -32601))
        elif prepare == "open":
            give(client, rpc_result("discover-1", discovered()))
        sent_by(client)

        client.probe_timed_out()

        assert sent_by(client) == []

    check_each(check, ["nothing", "answered", "initializing", "open"])


def test_a_response_after_a_failed_negotiation_is_discarded() -> None:
    """Ours: the failure has been reported once already."""
    client, handshake = opening(probe=False)
    give(client, rpc_error(handshake, -32603))

    for late in (rpc_result(handshake, initialized()), rpc_error(handshake, -32602)):
        assert [type(event) for event in give(client, late)] == [Discarded]
    assert sent_by(client) == []
    assert client.peer is None


@pytest.mark.parametrize("first", [rpc_error(1, 5), rpc("p", "ping"), {"jsonrpc": "2.0", "id": 7}])
def test_a_message_before_the_first_request_does_not_open_the_connection(first: dict[str, Any]) -> None:
    """Ours: some servers send messages before they are asked."""
    client = new_client()
    give(client, first)

    assert client.peer is None
    client.open()
    assert sent_by(client)[-1]["method"] == "server/discover"


@pytest.mark.parametrize(
    "line", [b'{"jsonrpc":"2.0","id":"discover-1","result":{', b'{"jsonrpc":"2.0","id":0,"result":{}}']
)
def test_an_invalid_probe_response_is_followed_by_initialize(line: bytes) -> None:
    """Ours: no other request is pending to which it could belong."""
    client, _ = opening()

    assert give(client, line) == []

    assert [sent["method"] for sent in sent_by(client)] == ["initialize"]


def test_a_failed_negotiation_is_reported() -> None:
    """Ours: with the error response of the server as its reason."""
    client, handshake = opening(probe=False)

    (event,) = give(client, rpc_error(handshake, -32603))

    assert isinstance(event, NegotiationFailed)
    assert isinstance(event.error, PeerError)


# Asking.


def test_every_stateless_request_carries_the_envelope() -> None:
    """Spec 2026-07-28, MC-1."""
    client = open_client(NEW)
    client.request("tools/list")
    client.request("tools/call", {"name": "echo", "_meta": {"com.example/own": 1}}, progress=True)
    client.check_alive()
    client.watch_lists()

    for sent in sent_by(client):
        meta = sent["params"]["_meta"]
        assert meta[VERSION] == NEW
        assert meta[CLIENT_INFO] == CLIENT
        assert meta[CAPABILITIES] == CLIENT_CAPABILITIES


def test_a_forwarded_request_declares_the_capabilities_of_its_client() -> None:
    """Spec 2026-07-28, MC-1: they are those of the request."""
    client = open_client(NEW)
    client.request("tools/call", {"name": "echo", "_meta": {CAPABILITIES: {"roots": {}}}})

    (sent,) = sent_by(client)
    assert sent["params"]["_meta"] == {VERSION: NEW, CLIENT_INFO: CLIENT, CAPABILITIES: {"roots": {}}}


def test_no_request_of_the_handshake_era_carries_an_envelope() -> None:
    """Spec: version, capabilities and identity belong to the conversation."""

    def check(version: str) -> None:
        client = open_client(version)
        client.request("tools/list")
        client.request("tools/call", {"name": "echo"})
        client.check_alive()
        client.want_logs("info")

        bare, *rest = sent_by(client)
        assert bare == rpc(2, "tools/list")
        for sent in rest:
            assert "_meta" not in sent.get("params", {})

    check_each(check, HANDSHAKE_VERSIONS)


def test_no_envelope_is_sent_after_falling_back_to_the_handshake() -> None:
    """Ours: falling back leaves the stateless era altogether."""
    client, probe = opening()
    give(client, rpc_error(probe, -32601))
    (handshake,) = sent_by(client)
    give(client, rpc_result(handshake["id"], initialized()))
    sent_by(client)
    client.request("tools/list")

    assert "params" not in sent_by(client)[0]


def test_a_progress_token_is_the_id_of_its_request() -> None:
    """Spec, B-7: unique among active requests. The caller's own `_meta` stays."""

    def check(version: str) -> None:
        client = open_client(version)
        request_id = client.request("tools/call", {"name": "x", "_meta": {"com.example/own": 1}}, progress=True)
        client.request("tools/call", {"name": "x"})

        with_progress, without = sent_by(client)
        assert with_progress["params"]["_meta"]["progressToken"] == request_id
        assert with_progress["params"]["_meta"]["com.example/own"] == 1
        assert "progressToken" not in without["params"].get("_meta", {})

    check_each(check, ALL_VERSIONS)


def test_a_request_does_not_modify_the_callers_params() -> None:
    """Ours: the next round trip sends them again."""
    params: dict[str, Any] = {"name": "echo", "_meta": {"a": 1}}
    open_client(NEW).request("tools/call", params, progress=True)

    assert params == {"name": "echo", "_meta": {"a": 1}}


@pytest.mark.parametrize(("version", "method"), [(OLD, "ping"), ("2024-11-05", "ping"), (NEW, "server/discover")])
def test_liveness_is_checked_with_ping_or_discover(version: str, method: str) -> None:
    """Spec: ping is gone in 2026-07-28, and discover is the one method that every server has."""
    client = open_client(version)
    request_id = client.check_alive()

    assert [(sent["id"], sent["method"]) for sent in sent_by(client)] == [(request_id, method)]
    assert give(client, rpc_result(request_id, {})) == [Result(request_id, {})]


def test_the_log_level_is_sent_with_every_stateless_request() -> None:
    """Spec 2026-07-28: the level is part of the envelope."""
    client = open_client(NEW)
    client.request("tools/list")

    assert client.want_logs("warning") is None
    client.request("tools/list")

    before, after = sent_by(client)
    assert LOG_LEVEL not in before["params"]["_meta"]
    assert after["params"]["_meta"][LOG_LEVEL] == "warning"


def test_the_log_level_is_set_by_a_request_in_the_handshake_era() -> None:
    """Spec: `logging/setLevel`, for the whole conversation."""

    def check(version: str) -> None:
        client = open_client(version)
        request_id = client.want_logs("warning")

        assert sent_by(client) == [rpc(request_id, "logging/setLevel", {"level": "warning"})]
        assert give(client, rpc_error(request_id, -32601)) == [
            ErrorResponse(request_id, "logging/setLevel", -32601, "no", None)  # type: ignore[arg-type]
        ]

    check_each(check, HANDSHAKE_VERSIONS)


def test_a_result_without_members_may_be_of_any_type() -> None:
    """Ours: some servers answer with null or a list. A result that has members, and an error, must be objects."""

    def check(method: str, members: dict[str, Any]) -> None:
        client = open_client(OLD)
        of_tools, request_id = client.request("tools/list"), client.request(method)
        expected = Result(request_id, {}) if "error" not in members else InvalidResponse

        for asked, event in ((request_id, expected), (of_tools, InvalidResponse)):
            (found,) = give(client, {"jsonrpc": "2.0", "id": asked, **members})
            assert found == event or type(found) is event

    methods = ["logging/setLevel", "resources/subscribe", "resources/unsubscribe"]
    check_each(check, methods, [{"result": None}, {"result": []}, {"result": True}, {"error": "no"}])


def test_no_log_level_is_set_without_the_logging_capability() -> None:
    """Spec, LC-3: only negotiated capabilities are used."""
    client = open_client(OLD, capabilities={"tools": {}})

    assert client.want_logs("warning") is None
    assert sent_by(client) == []
    assert new_client().want_logs("warning") is None


def watching() -> tuple[ClientConnection, Any]:
    """A client that watches tools and prompts, and the id of that request."""
    client = open_client(NEW)
    client.watch_lists()
    (sent,) = sent_by(client)
    return client, sent["id"]


def test_only_lists_with_list_changed_are_subscribed_to() -> None:
    """Spec 2026-07-28: `subscriptions/listen`."""
    client = open_client(
        NEW,
        capabilities={
            "tools": {"listChanged": True},
            "prompts": {"listChanged": "yes"},
            "resources": {"listChanged": True, "subscribe": True},
        },
    )

    client.watch_lists()
    client.watch_lists()

    (sent,) = sent_by(client)
    assert sent["method"] == "subscriptions/listen"
    assert sent["params"]["notifications"] == {"toolsListChanged": True, "resourcesListChanged": True}
    assert give(client, ACKNOWLEDGED) == []


def granting(listening: Any, **lists: Any) -> dict[str, Any]:
    """The server grants these lists to a watch."""
    params = {"notifications": lists, "_meta": {SUBSCRIPTION: listening}}
    return note("notifications/subscriptions/acknowledged", params)


@pytest.mark.parametrize("prompts", [{}, {"promptsListChanged": False}, {"promptsListChanged": "yes"}])
def test_a_list_missing_from_the_acknowledgement_is_reported(prompts: dict[str, Any]) -> None:
    """MC-9: the acknowledged filter is compared with the requested one; a list that is not subscribed to does not
    change at the end.
    """
    client, listening = watching()

    assert give(client, granting(listening, toolsListChanged=True, **prompts)) == [NotGranted("prompts")]
    assert give(client, granting(listening)) == []
    assert ended(client, listening, "result") == [ListChanged("tools")]


def test_an_acknowledgement_without_a_filter_grants_every_list() -> None:
    """Ours: some servers send no filter."""
    client, listening = watching()
    params = {"_meta": {SUBSCRIPTION: listening}}

    assert give(client, note("notifications/subscriptions/acknowledged", params)) == []
    assert ended(client, listening, "result") == [ListChanged("tools"), ListChanged("prompts")]


def test_an_acknowledgement_of_another_subscription_is_ignored() -> None:
    """MC-9: it is matched by its subscription id."""
    client, listening = watching()

    assert give(client, granting(listening + 1, toolsListChanged=True)) == []

    ended(client, listening, "result")
    client.watch_lists()
    assert sent_by(client) == []  # It was refused.


def test_a_list_change_of_another_subscription_is_ignored() -> None:
    """MC-9: on stdio a notification is matched by its subscription id. Ours: some servers send none."""
    cases = [("ours", True), (None, True), ("foreign", False), (9999, False)]

    def check(subscription: Any, is_ours: bool) -> None:
        client, listening = watching()
        give(client, ACKNOWLEDGED)
        meta = {} if subscription is None else {SUBSCRIPTION: listening if subscription == "ours" else subscription}

        events = give(client, note("notifications/tools/list_changed", {"_meta": meta}))

        assert events == ([ListChanged("tools")] if is_ours else [])

    check_rows(check, cases)


def test_a_subscription_id_is_ignored_in_the_handshake_era() -> None:
    """Spec, server/tools: servers announce unasked there."""
    changed = note("notifications/tools/list_changed", {"_meta": {SUBSCRIPTION: 7}})

    assert give(open_client(OLD), changed) == [ListChanged("tools")]


def test_no_subscription_is_opened_without_list_changed_in_the_stateless_era() -> None:
    """Spec: the handshake era announces unasked; a server without listChanged never does."""

    def check(version: str) -> None:
        client = open_client(version, capabilities={"tools": {}, "prompts": "yes"})
        client.watch_lists()
        new = new_client()
        new.watch_lists()

        assert sent_by(client) == []
        assert sent_by(new) == []

    check_each(check, ALL_VERSIONS)


REFUSED = [NotGranted("tools"), NotGranted("prompts"), ListChanged("tools"), ListChanged("prompts")]


def ended(client: ClientConnection, listening: Any, ending: str) -> list[Any]:
    """What happens when the server ends a watch in this way."""
    answers = {
        "result": [rpc_result(listening, {"resultType": "complete"})],
        "cancelled": [note("notifications/cancelled", {"requestId": listening})],
        "error": [rpc_error(listening, -32601)],
        "broken": [rpc_result(listening, None)],
    }
    answers["cancelled, then result"] = answers["cancelled"] + answers["result"]
    return [event for answer in answers[ending] for event in give(client, answer)]


def test_a_list_subscription_ended_by_the_server_reports_changes_and_can_be_reopened() -> None:
    """Spec 2026-07-28, subscriptions: a result or a cancellation ends one, for the pages allow both. Missed changes
    are not repeated.
    """
    cases = ["result", "cancelled", "cancelled, then result", "error", "broken"]

    def check(ending: str) -> None:
        client, listening = watching()
        give(client, ACKNOWLEDGED)

        assert ended(client, listening, ending) == [ListChanged("tools"), ListChanged("prompts")]

        request_id = client.request("tools/list")
        assert give(client, rpc_result(request_id, {})) == [Result(request_id, {})]
        sent_by(client)
        client.watch_lists()
        (again,) = sent_by(client)
        assert again["id"] not in (listening, request_id)

    check_each(check, cases)


def test_a_list_subscription_ended_before_its_acknowledgement_is_not_reopened() -> None:
    """MC-9: what was not granted is reported. Ours: an owner that lists and subscribes again at once would loop for
    ever.
    """
    cases = ["result", "cancelled", "cancelled, then result", "error", "broken"]

    def check(ending: str) -> None:
        client, listening = watching()

        assert ended(client, listening, ending) == REFUSED

        client.watch_lists()
        assert sent_by(client) == []

    check_each(check, cases)


def test_a_list_subscription_rejected_when_reopened_is_not_opened_again() -> None:
    """Ours: a server may grant a subscription once and reject the next."""
    client, listening = watching()
    give(client, ACKNOWLEDGED)
    ended(client, listening, "result")
    client.watch_lists()
    (again,) = sent_by(client)

    assert ended(client, again["id"], "error") == REFUSED

    client.watch_lists()
    assert sent_by(client) == []


def test_a_list_subscription_is_reopened_a_limited_number_of_times() -> None:
    """Ours: a server that ends each subscription at once must not keep its client in a loop."""
    client = open_client(NEW)
    for _ in range(MAX_WATCHES):
        client.watch_lists()
        (sent,) = sent_by(client)
        give(client, ACKNOWLEDGED)
        assert ended(client, sent["id"], "result") != []

    client.watch_lists()

    assert sent_by(client) == []


def test_initialize_and_the_probe_are_never_cancelled() -> None:
    """Spec, LC-5."""
    for probe in (False, True):
        client, request_id = opening(probe=probe)
        client.abandon(request_id, "no longer wanted")
        assert sent_by(client) == []


# What the results are.


def test_an_input_required_result_in_the_handshake_era_is_an_invalid_response() -> None:
    """DE-4: a server that mixes the eras has not run the tool, and its result is not an empty one."""

    def check(version: str) -> None:
        client = open_client(version)
        request_id = client.request("tools/call", {"name": "x"})
        required = {
            "resultType": "input_required",
            "inputRequests": {"q": {"method": "roots/list"}},
            "requestState": "s",
        }

        (event,) = give(client, rpc_result(request_id, required))

        assert event == InvalidResponse(request_id, "asked for input as no server of this revision does")

    check_each(check, HANDSHAKE_VERSIONS)


def test_a_result_type_is_removed_in_the_handshake_era() -> None:
    """Spec, DE-4: the member means nothing in the handshake era, whatever a server keeps there."""

    def check(version: str, kind: object) -> None:
        client = open_client(version)
        request_id = client.request("tools/call", {"name": "x"})

        assert give(client, rpc_result(request_id, {"content": [], "resultType": kind})) == [
            Result(request_id, {"content": []})
        ]

    check_each(check, HANDSHAKE_VERSIONS, ["table", "input_required", "complete", None])


def test_a_stateless_result_of_an_unknown_type_is_an_invalid_response() -> None:
    """Spec 2026-07-28, MC-2: for every method."""
    methods = ["tools/list", "tools/call", "prompts/get", "completion/complete", "server/discover"]

    def check(method: str, kind: object) -> None:
        client = open_client(NEW)
        request_id = client.request(method)

        (event,) = give(client, rpc_result(request_id, {"resultType": kind, "tools": []}))

        assert isinstance(event, InvalidResponse)
        assert event.id == request_id
        assert str(kind) in event.problem

    check_each(check, methods, ["task", "", None, 5, ["complete"]])


@pytest.mark.parametrize("kind", ["complete", "input_required"])
def test_a_stateless_result_of_a_known_type_is_passed_on_unchanged(kind: str) -> None:
    """Spec 2026-07-28: the caller decides by the type."""
    client = open_client(NEW)
    request_id = client.request("tools/call", {"name": "x"})
    result = {"resultType": kind, "requestState": "s", "content": []}

    assert give(client, rpc_result(request_id, result)) == [Result(request_id, result)]


# What the server asks.


def test_a_ping_is_answered_at_any_time() -> None:
    """Spec, LC-4: also before the answer to initialize, also while the era is not known."""

    def check(version: str) -> None:
        for client in (opening()[0], opening(probe=False)[0], open_client(version)):
            assert give(client, rpc("p", "ping")) == []
            assert sent_by(client) == [rpc_result("p", {})]

    check_each(check, HANDSHAKE_VERSIONS)


def test_a_server_request_is_reported_and_answered_once() -> None:
    """Spec: servers send requests in the handshake era; the id is returned unchanged."""

    def check(version: str) -> None:
        client = open_client(version)

        (asked,) = give(client, rpc("1", "roots/list", {"a": 1}))

        assert isinstance(asked, RequestReceived)
        assert (asked.id, asked.method, asked.params) == ("1", "roots/list", {"a": 1})
        assert asked.context.version == version
        client.respond("1", {"roots": []})
        client.respond("1", {"roots": []})
        client.respond_error("1", -32603, "again")
        assert sent_by(client) == [rpc_result("1", {"roots": []})]

    check_each(check, HANDSHAKE_VERSIONS)


def test_an_unknown_server_request_is_rejected() -> None:
    """Spec, LC-10: without an error the server's tool would wait for ever."""
    client = open_client(OLD)
    give(client, rpc(7, "sampling/createMessage", {}))
    client.respond_error(7, -32601, "Method not found")
    client.respond_error(7, -32601, "Method not found")

    assert sent_by(client) == [rpc_error(7, -32601, "Method not found")]


def test_an_elicitation_that_the_revision_lacks_is_rejected() -> None:
    """LC-3: elicitation is of 2025-06-18, its URLs of 2025-11-25."""
    cases = [
        ("2024-11-05", {}, -32601),
        ("2025-03-26", {"mode": "form"}, -32601),
        ("2025-06-18", {"mode": "url"}, -32602),
        ("2025-06-18", {}, None),
        ("2025-06-18", {"mode": "form"}, None),
        ("2025-11-25", {"mode": "url"}, None),
    ]

    def check(version: str, params: dict[str, Any], code: int | None) -> None:
        client = open_client(version)

        events = give(client, rpc(7, "elicitation/create", params))

        assert len(events) == (1 if code is None else 0)
        assert [sent["error"]["code"] for sent in sent_by(client)] == ([] if code is None else [code])

    check_rows(check, cases)


def test_a_server_request_before_the_initialize_response_is_reported() -> None:
    """Ours: the version is the one that was proposed."""
    (asked,) = give(opening(probe=False)[0], rpc(7, "roots/list"))

    assert isinstance(asked, RequestReceived)
    assert asked.context.version == OLD


def test_a_batch_of_server_requests_is_answered_where_the_revision_has_batches() -> None:
    """Spec 2025-03-26, LC-9: a batch may hold requests too."""
    client = open_client("2025-03-26")

    (asked,) = give(client, [rpc("p", "ping"), rpc(7, "roots/list")])

    assert isinstance(asked, RequestReceived)
    client.respond(asked.id, {"roots": []})
    assert sent_by(client) == [rpc_result("p", {}), rpc_result(7, {"roots": []})]


def test_neither_noise_nor_an_invalid_server_request_ends_the_handshake() -> None:
    """Ours: none of these is a response to `initialize`."""
    cases = [
        b"Server listening on stdio",
        b"{not json}",
        b'{"level":"info","id":1,"msg":"started"}',
        b'{"jsonrpc":"2.0","id":1,"method":"roots/list","params":[]}',
        b'{"jsonrpc":"2.0","method":"notifications/message","params":[]}',
    ]

    def check(line: bytes) -> None:
        client, handshake = opening(probe=False)

        (event,) = give(client, line)

        assert isinstance(event, Discarded)
        assert isinstance(give(client, rpc_result(handshake, initialized()))[0], Opened)

    check_each(check, cases)


def test_an_invalid_line_that_begins_an_object_may_have_been_the_only_response() -> None:
    """Ours: a server's own output is often a JSON object, or what Python prints of a dict, which is none."""
    client = open_client(OLD)
    lines = [b'{"content": [', b' { "level": info }', b"{'a': 1}", b"{", b"{not json}"]
    alone = [type(event) for line in lines for event in give(client, line)]

    request_id = client.request("tools/list")
    found = [[type(event) for event in give(client, line)] for line in lines]
    garbled = give(client, lines[0])[1]
    client.request("prompts/list")
    of_two = give(client, lines[0])

    assert alone == [Discarded] * 5
    assert found == [[Discarded, Garbled]] * 2 + [[Discarded]] * 3
    assert garbled == Garbled(request_id, '{"content": [')
    assert [type(event) for event in of_two] == [Discarded]


def test_an_error_without_an_id_fails_a_request_only_with_the_code_of_an_unreadable_one() -> None:
    """Ours: a server that refuses `initialized` must not fail the first real request."""
    client = open_client(OLD)
    request_id = client.request("tools/list")

    assert isinstance(give(client, rpc_error(None, -32601))[0], Discarded)
    assert isinstance(give(client, rpc_error(None, -32600))[0], ErrorResponse)
    assert give(client, rpc_result(request_id, {})) != []


@pytest.mark.parametrize("method", ["roots/list", "elicitation/create", "ping"])
def test_a_request_of_a_stateless_server_is_discarded(method: str) -> None:
    """Spec 2026-07-28, IO-4: servers write no requests and clients write no responses."""
    client = open_client(NEW)

    (event,) = give(client, rpc(1, method))

    assert isinstance(event, Discarded)
    assert method in event.problem
    assert sent_by(client) == []
    client.respond(1, {})
    assert sent_by(client) == []


def test_a_server_request_that_was_cancelled_is_not_answered() -> None:
    """Spec, cancellation: either side may cancel what it asked."""
    client = open_client(OLD)
    give(client, rpc(7, "elicitation/create", {}))
    assert give(client, note("notifications/cancelled", {"requestId": 7, "reason": "too late"})) == [
        Cancelled(7, "too late")
    ]

    client.respond(7, {"action": "decline"})

    assert sent_by(client) == []


def test_a_cancellation_of_an_unknown_request_is_ignored() -> None:
    """Spec, B-9; our own requests are not the server's to cancel."""
    cases = [{}, {"requestId": None}, {"requestId": 99}, {"requestId": True}, {"requestId": []}]

    def check(version: str, params: dict[str, Any]) -> None:
        client = open_client(version)
        client.watch_lists()
        request_id = client.request("tools/list")
        give(client, rpc(1, "roots/list"))

        assert give(client, note("notifications/cancelled", params)) == []
        assert give(client, note("notifications/cancelled", {"requestId": request_id})) == []
        assert give(client, rpc_result(request_id, {})) == [Result(request_id, {})]

    check_each(check, ALL_VERSIONS, cases)


# Subscriptions to resources.


def acknowledged(subscription: Any, *uris: str) -> dict[str, Any]:
    """The notification that acknowledges a subscription."""
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


def test_a_handshake_client_sends_resources_subscribe() -> None:
    """Spec up to 2025-11-25, resources: `resources/subscribe` and `resources/unsubscribe`."""

    def check(version: str) -> None:
        client = open_client(version)

        asked = client.subscribe(URI)
        assert sent_by(client) == [rpc(asked, "resources/subscribe", {"uri": URI})]
        assert give(client, rpc_result(asked, {})) == [Result(asked, {})]
        assert give(client, updated()) == [ResourceUpdated(URI)]
        ended = client.unsubscribe(URI)
        assert ended is not None
        assert sent_by(client) == [rpc(ended, "resources/unsubscribe", {"uri": URI})]

    check_each(check, HANDSHAKE_VERSIONS)


def test_a_stateless_client_sends_subscriptions_listen_for_a_resource() -> None:
    """Spec 2026-07-28: `subscriptions/listen`; granted once it is acknowledged, with updates from then on."""
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


def test_resource_and_list_subscriptions_are_distinguished_by_id() -> None:
    """Spec 2026-07-28: by the id of the subscription."""
    client = open_client(NEW)
    client.watch_lists()
    watched = sent_by(client)[0]["id"]
    asked = client.subscribe(URI)
    sent_by(client)

    assert give(client, acknowledged(asked, URI)) == [Result(asked, {})]
    assert give(client, note("notifications/subscriptions/acknowledged", {"notifications": ALL_LISTS})) == []
    assert give(client, rpc_result(watched, {})) == [ListChanged("tools"), ListChanged("prompts")]
    assert give(client, rpc_result(asked, {})) == [SubscriptionEnded(URI)]


@pytest.mark.parametrize("uris", [(), ("file:///other",)])
def test_an_acknowledgement_without_the_resource_is_invalid(uris: tuple[str, ...]) -> None:
    """Spec 2026-07-28, MC-9: what is acknowledged is compared with what was asked for."""
    client = open_client(NEW)
    asked = client.subscribe(URI)
    sent_by(client)

    (broken,) = give(client, acknowledged(asked, *uris))

    assert isinstance(broken, InvalidResponse)
    assert broken.id == asked
    (cancelled,) = sent_by(client)
    assert cancelled["params"]["requestId"] == asked


def test_a_rejected_subscription_is_reported() -> None:
    """Spec: an error is the answer."""
    client = open_client(NEW)
    asked = client.subscribe(URI)

    assert give(client, rpc_error(asked, -32602)) == [
        ErrorResponse(asked, "subscriptions/listen", -32602, "no", None)  # type: ignore[arg-type]
    ]


def test_an_acknowledgement_after_a_rejection_is_ignored() -> None:
    """Ours: the request has failed, and there is no subscription to end."""
    client = open_client(NEW)
    asked = client.subscribe(URI)
    sent_by(client)
    give(client, rpc_error(asked, -32602))

    assert give(client, acknowledged(asked, URI)) == []
    assert give(client, updated(URI, asked)) == []
    assert client.unsubscribe(URI) is None
    assert sent_by(client) == []


def test_an_update_of_an_unknown_subscription_is_ignored() -> None:
    """Spec 2026-07-28, MC-9: subscriptions are distinguished by their id and its type; an update without one is
    accepted.
    """
    client, asked = subscribed()

    assert give(client, updated(URI, asked)) == [ResourceUpdated(URI)]
    for other in (asked + 1, str(asked), "x"):
        assert give(client, updated(URI, other)) == []
    for nothing in (None, True, 1.5, {}, [asked]):
        assert give(client, updated(URI, nothing)) == [ResourceUpdated(URI)]
    client.unsubscribe(URI)
    assert give(client, updated(URI, asked)) == []


def test_a_resource_update_with_any_meta_is_reported_in_the_handshake_era() -> None:
    """Spec up to 2025-11-25: subscriptions have no ids, so a key in `_meta` has no meaning."""
    client = open_client(HANDSHAKE_VERSIONS[0])

    assert give(client, updated(URI, 7)) == [ResourceUpdated(URI)]


@pytest.mark.parametrize("uris", [(), ("file:///b",)])
def test_a_second_acknowledgement_is_ignored(uris: tuple[str, ...]) -> None:
    """Ours: the request has had its one outcome."""
    client = open_client(NEW)
    asked = client.subscribe(URI)
    assert give(client, acknowledged(asked, URI)) == [Result(asked, {})]

    assert give(client, acknowledged(asked, *uris)) == []
    assert give(client, updated()) == [ResourceUpdated(URI)]


def test_unsubscribing_does_not_cancel_a_pending_subscription() -> None:
    """Ours: the caller that waits for the acknowledgement would wait in vain."""
    client = open_client(NEW)
    asked = client.subscribe(URI)
    sent_by(client)

    client.unsubscribe(URI)

    assert sent_by(client) == []
    assert give(client, acknowledged(asked, URI)) == [Result(asked, {})]


def test_a_subscription_ended_before_its_acknowledgement_is_an_invalid_response() -> None:
    """Ours: some servers answer so because they do not know the method well (wire reference, Q9)."""
    for ending in (rpc_result, lambda number, _: cancelled_by_server(number)):
        client = open_client(NEW)
        asked = client.subscribe(URI)

        (broken,) = give(client, ending(asked, {}))

        assert isinstance(broken, InvalidResponse)
        assert broken.id == asked


def test_a_subscription_that_the_server_ends_is_reported() -> None:
    """Spec 2026-07-28: nothing is replayed, so the owner has to know."""

    def check(how: str) -> None:
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

    check_each(check, ["result", "error", "cancelled", "broken"])


def test_an_abandoned_subscription_is_cancelled() -> None:
    """Ours: its caller has run out of time."""
    client = open_client(NEW)
    asked = client.subscribe(URI)
    sent_by(client)

    client.abandon(asked, "no longer wanted")

    assert [sent["method"] for sent in sent_by(client)] == ["notifications/cancelled"]
    assert give(client, acknowledged(asked, URI)) == []


def test_an_unknown_notification_is_ignored() -> None:
    """Spec: a receiver ignores notifications that it does not know."""

    def check(version: str) -> None:
        client = open_client(version)
        give(client, note("notifications/of/tomorrow", {"a": 1}))
        assert client.take_events() == []
        assert sent_by(client) == []

    check_each(check, ALL_VERSIONS)


def test_a_client_that_has_probed_may_reconnect_with_initialize() -> None:
    """IO-10: a second connection with `initialize` may succeed; after one without a probe it would be no different."""
    assert opening()[0].may_prefer_handshake
    assert not opening(probe=False)[0].may_prefer_handshake
