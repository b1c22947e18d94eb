"""The client's end: the ids of its negotiation, its requests, what servers send unasked, and subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.errors import PeerError
from gaia_mcp.protocol.client import MAX_WATCHES
from gaia_mcp.protocol.envelope import SUBSCRIPTION_KEY
from gaia_mcp.protocol.events import (
    Cancelled,
    Discarded,
    ErrorResponse,
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
from gaia_mcp.protocol.versions import ALL_VERSIONS, HANDSHAKE_VERSIONS
from tests.protocol_support import (
    CAPABILITIES,
    CLIENT,
    CLIENT_CAPABILITIES,
    CLIENT_INFO,
    LOG_LEVEL,
    SUBSCRIPTION,
    VERSION,
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
handshake_versions = pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
endings = pytest.mark.parametrize("ending", ["result", "cancelled", "cancelled, then result", "error", "broken"])
every_version = pytest.mark.parametrize("version", ALL_VERSIONS)


def opening(*, probe: bool = True) -> tuple[ClientConnection, Any]:
    """A client that has sent its first message, and the id of that."""
    client = new_client(probe=probe)
    client.open()
    (first,) = sent_by(client)
    return client, first["id"]


# Opening: ids, silence, and what comes late.


@pytest.mark.parametrize("answer", [rpc_result("discover-1", discovered()), rpc_error("discover-1", -32601)])
def test_a_client_is_probing_until_the_probe_is_answered(answer: dict[str, Any]) -> None:
    """Ours: only until then may a server that ends have ended for an unknown request."""
    client = new_client()
    assert not client.is_probing
    client.open()
    assert (client.is_probing, client.may_prefer_handshake) == (True, True)

    give(client, answer)

    assert not client.is_probing


@pytest.mark.parametrize(
    "line", [b"Starting...", b'{"level":"info"}', b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}']
)
def test_noise_is_no_answer_to_the_probe(line: bytes) -> None:
    """Spec, IO-9: a banner says nothing about the era."""
    client, probe = opening()

    give(client, line)

    assert client.is_probing
    assert sent_by(client) == []
    assert isinstance(give(client, rpc_result(probe, discovered()))[0], Opened)


def test_silence_falls_back_on_the_same_pipe_without_cancelling() -> None:
    """Spec, IO-10: the probe is harmless; a cancellation would be one more thing that the server does not know."""
    client, _ = opening()

    client.probe_timed_out()

    assert [(sent["id"], sent["method"]) for sent in sent_by(client)] == [(1, "initialize")]


@pytest.mark.parametrize(
    "late",
    [
        rpc_result("discover-1", discovered()),
        rpc_result("discover-1", {}),
        rpc_result("discover-1", None),
        rpc_error("discover-1", -32601),
        rpc_error("discover-1", -32022, "no", {"supported": [NEW]}),
        rpc_error(None, -32601),
        rpc_error(..., -32600),
    ],
)
def test_the_probes_late_answer_changes_nothing(late: dict[str, Any]) -> None:
    """Spec, IO-10: once initialize was sent, its reply decides."""
    client, _ = opening()
    client.probe_timed_out()
    (handshake,) = (sent["id"] for sent in sent_by(client))

    assert give(client, late) == []
    assert sent_by(client) == []

    (event,) = give(client, rpc_result(handshake, initialized()))
    assert isinstance(event, Opened)
    assert event.peer.era == "handshake"


@pytest.mark.parametrize(
    ("code", "listed", "said"),
    [
        (-32022, [NEW], f"no: it rejected {NEW}, which it lists as supported"),
        (-32022, ["2027-01-01"], "no"),
        (-32022, None, "no"),
        (-32602, [NEW], "no"),
    ],
)
def test_a_server_that_rejects_the_agreed_version_later_and_lists_it_is_quoted_with_that(
    code: int, listed: Any, said: str
) -> None:
    """Spec 2026-07-28, MC-3: there is no other version to retry with, and the user is told why."""
    client = open_client(NEW)
    request = client.request("tools/list")

    (event,) = give(client, rpc_error(request, code, "no", {"supported": listed}))

    assert isinstance(event, ErrorResponse)
    assert (event.code, event.text) == (code, said)


def test_the_probes_late_answer_may_come_when_all_is_open() -> None:
    """Spec, IO-10."""
    client, _ = opening()
    client.probe_timed_out()
    (handshake,) = (sent["id"] for sent in sent_by(client))
    give(client, rpc_result(handshake, initialized()))
    request_id = client.request("tools/list")

    assert give(client, rpc_error("discover-1", -32601)) == []
    assert give(client, rpc_result(request_id, {})) == [Result(request_id, {})]


def test_a_second_answer_to_the_probe_does_not_harm_the_handshake() -> None:
    """Ours: some servers answer twice."""
    client, probe = opening()
    give(client, rpc_error(probe, -32601))
    (handshake,) = (sent["id"] for sent in sent_by(client))

    (event,) = give(client, rpc_error(probe, -32601))

    assert isinstance(event, Discarded)
    assert isinstance(give(client, rpc_result(handshake, initialized()))[0], Opened)


@pytest.mark.parametrize("prepare", ["nothing", "answered", "initializing", "open"])
def test_the_probes_time_can_only_run_out_while_it_is_waited_for(prepare: str) -> None:
    """Ours: a timer that fires too late does no harm."""
    client = new_client() if prepare == "nothing" else opening(probe=prepare != "initializing")[0]
    if prepare == "answered":
        give(client, rpc_error("discover-1", -32601))
    elif prepare == "open":
        give(client, rpc_result("discover-1", discovered()))
    sent_by(client)

    client.probe_timed_out()

    assert sent_by(client) == []


def test_what_comes_after_a_failed_opening_opens_nothing() -> None:
    """Ours: the owner has been told once."""
    client, handshake = opening(probe=False)
    give(client, rpc_error(handshake, -32603))

    for late in (rpc_result(handshake, initialized()), rpc_error(handshake, -32602)):
        assert [type(event) for event in give(client, late)] == [Discarded]
    assert sent_by(client) == []
    assert client.peer is None


@pytest.mark.parametrize("first", [rpc_error(1, 5), rpc("p", "ping"), {"jsonrpc": "2.0", "id": 7}])
def test_what_arrives_before_anything_was_sent_opens_nothing(first: dict[str, Any]) -> None:
    """Ours: a server that talks too early."""
    client = new_client()
    give(client, first)

    assert client.peer is None
    client.open()
    assert sent_by(client)[-1]["method"] == "server/discover"


@pytest.mark.parametrize(
    "line", [b'{"jsonrpc":"2.0","id":"discover-1","result":{', b'{"jsonrpc":"2.0","id":0,"result":{}}']
)
def test_an_invalid_response_moves_the_negotiation_on(line: bytes) -> None:
    """Ours: nothing else was asked that it could be meant for."""
    client, _ = opening()

    assert give(client, line) == []

    assert [sent["method"] for sent in sent_by(client)] == ["initialize"]


def test_an_opening_that_fails_is_told() -> None:
    """Ours: with the reason."""
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


def test_a_request_on_behalf_of_another_client_has_the_capabilities_of_that() -> None:
    """Spec 2026-07-28, MC-1: they are those of the request."""
    client = open_client(NEW)
    client.request("tools/call", {"name": "echo", "_meta": {CAPABILITIES: {"roots": {}}}})

    (sent,) = sent_by(client)
    assert sent["params"]["_meta"] == {VERSION: NEW, CLIENT_INFO: CLIENT, CAPABILITIES: {"roots": {}}}


@handshake_versions
def test_no_request_of_the_handshake_era_carries_an_envelope(version: str) -> None:
    """Spec: version, capabilities and identity belong to the conversation."""
    client = open_client(version)
    client.request("tools/list")
    client.request("tools/call", {"name": "echo"})
    client.check_alive()
    client.want_logs("info")

    bare, *rest = sent_by(client)
    assert bare == rpc(2, "tools/list")
    for sent in rest:
        assert "_meta" not in sent.get("params", {})


def test_no_envelope_is_left_over_from_the_probe() -> None:
    """Ours: falling back leaves the stateless era altogether."""
    client, probe = opening()
    give(client, rpc_error(probe, -32601))
    (handshake,) = sent_by(client)
    give(client, rpc_result(handshake["id"], initialized()))
    sent_by(client)
    client.request("tools/list")

    assert "params" not in sent_by(client)[0]


@every_version
def test_a_request_for_progress_carries_its_own_id_as_token(version: str) -> None:
    """Spec, B-7: unique among active requests. The caller's own `_meta` stays."""
    client = open_client(version)
    request_id = client.request("tools/call", {"name": "x", "_meta": {"com.example/own": 1}}, progress=True)
    client.request("tools/call", {"name": "x"})

    with_progress, without = sent_by(client)
    assert with_progress["params"]["_meta"]["progressToken"] == request_id
    assert with_progress["params"]["_meta"]["com.example/own"] == 1
    assert "progressToken" not in without["params"].get("_meta", {})


def test_the_callers_parameters_are_left_as_they_were() -> None:
    """Ours: the next round sends them again."""
    params: dict[str, Any] = {"name": "echo", "_meta": {"a": 1}}
    open_client(NEW).request("tools/call", params, progress=True)

    assert params == {"name": "echo", "_meta": {"a": 1}}


@pytest.mark.parametrize(("version", "method"), [(OLD, "ping"), ("2024-11-05", "ping"), (NEW, "server/discover")])
def test_a_server_is_asked_whether_it_is_there_with_what_it_must_answer(version: str, method: str) -> None:
    """Spec: ping is gone in 2026-07-28, and discover is the one method that every server has."""
    client = open_client(version)
    request_id = client.check_alive()

    assert [(sent["id"], sent["method"]) for sent in sent_by(client)] == [(request_id, method)]
    assert give(client, rpc_result(request_id, {})) == [Result(request_id, {})]


def test_logs_are_wanted_in_every_stateless_request() -> None:
    """Spec 2026-07-28: the level is part of the envelope."""
    client = open_client(NEW)
    client.request("tools/list")

    assert client.want_logs("warning") is None
    client.request("tools/list")

    before, after = sent_by(client)
    assert LOG_LEVEL not in before["params"]["_meta"]
    assert after["params"]["_meta"][LOG_LEVEL] == "warning"


@handshake_versions
def test_logs_are_wanted_once_in_the_handshake_era(version: str) -> None:
    """Spec: `logging/setLevel`, for the whole conversation."""
    client = open_client(version)
    request_id = client.want_logs("warning")

    assert sent_by(client) == [rpc(request_id, "logging/setLevel", {"level": "warning"})]
    assert give(client, rpc_error(request_id, -32601)) == [
        ErrorResponse(request_id, "logging/setLevel", -32601, "no", None)  # type: ignore[arg-type]
    ]


def test_logs_are_not_wanted_of_a_server_that_has_none() -> None:
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


def test_lists_are_watched_as_far_as_the_server_announces_them() -> None:
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
def test_a_list_that_is_not_granted_is_reported(prompts: dict[str, Any]) -> None:
    """MC-9: what is acknowledged is compared with what was asked for; what is not watched does not end either."""
    client, listening = watching()

    assert give(client, granting(listening, toolsListChanged=True, **prompts)) == [NotGranted("prompts")]
    assert give(client, granting(listening)) == []
    assert ended(client, listening, "result") == [ListChanged("tools")]


def test_an_acknowledgement_that_repeats_nothing_grants_everything() -> None:
    """Ours: some servers send no filter."""
    client, listening = watching()
    params = {"_meta": {SUBSCRIPTION: listening}}

    assert give(client, note("notifications/subscriptions/acknowledged", params)) == []
    assert ended(client, listening, "result") == [ListChanged("tools"), ListChanged("prompts")]


def test_an_acknowledgement_for_another_subscription_grants_nothing() -> None:
    """MC-9: it is matched by its subscription id."""
    client, listening = watching()

    assert give(client, granting(listening + 1, toolsListChanged=True)) == []

    ended(client, listening, "result")
    client.watch_lists()
    assert sent_by(client) == []  # It was refused.


@pytest.mark.parametrize(("subscription", "is_ours"), [("ours", True), (None, True), ("foreign", False), (9999, False)])
def test_a_changed_list_of_another_subscription_is_dropped(subscription: Any, is_ours: bool) -> None:
    """MC-9: on stdio a notification is matched by its subscription id. Ours: some servers send none."""
    client, listening = watching()
    give(client, ACKNOWLEDGED)
    meta = {} if subscription is None else {SUBSCRIPTION: listening if subscription == "ours" else subscription}

    events = give(client, note("notifications/tools/list_changed", {"_meta": meta}))

    assert events == ([ListChanged("tools")] if is_ours else [])


def test_a_subscription_id_means_nothing_in_the_handshake_era() -> None:
    """Spec, server/tools: servers announce unasked there."""
    changed = note("notifications/tools/list_changed", {"_meta": {SUBSCRIPTION: 7}})

    assert give(open_client(OLD), changed) == [ListChanged("tools")]


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_lists_are_not_watched_where_there_is_nothing_to_watch(version: str) -> None:
    """Spec: the handshake era announces unasked; a server without listChanged never does."""
    client = open_client(version, capabilities={"tools": {}, "prompts": "yes"})
    client.watch_lists()
    new = new_client()
    new.watch_lists()

    assert sent_by(client) == []
    assert sent_by(new) == []


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


@endings
def test_a_watch_that_the_server_ended_leaves_the_lists_in_doubt_and_can_begin_again(ending: str) -> None:
    """Spec 2026-07-28, subscriptions: ended by a result or by a cancellation, for it says both. Nothing is repeated."""
    client, listening = watching()
    give(client, ACKNOWLEDGED)

    assert ended(client, listening, ending) == [ListChanged("tools"), ListChanged("prompts")]

    request_id = client.request("tools/list")
    assert give(client, rpc_result(request_id, {})) == [Result(request_id, {})]
    sent_by(client)
    client.watch_lists()
    (again,) = sent_by(client)
    assert again["id"] not in (listening, request_id)


@endings
def test_a_watch_that_ends_before_it_was_acknowledged_was_refused_for_good(ending: str) -> None:
    """MC-9: what was not granted is told. Ours: an owner that looks at once and watches again would never come to an
    end.
    """
    client, listening = watching()

    assert ended(client, listening, ending) == REFUSED

    client.watch_lists()
    assert sent_by(client) == []


def test_a_watch_that_is_refused_the_second_time_is_not_asked_for_a_third_time() -> None:
    """Ours: what was granted once is no promise."""
    client, listening = watching()
    give(client, ACKNOWLEDGED)
    ended(client, listening, "result")
    client.watch_lists()
    (again,) = sent_by(client)

    assert ended(client, again["id"], "error") == REFUSED

    client.watch_lists()
    assert sent_by(client) == []


def test_a_watch_that_is_always_granted_and_ended_is_given_up_some_time() -> None:
    """Ours: the server goes in circles, and so would an owner that looks at once."""
    client = open_client(NEW)
    for _ in range(MAX_WATCHES):
        client.watch_lists()
        (sent,) = sent_by(client)
        give(client, ACKNOWLEDGED)
        assert ended(client, sent["id"], "result") != []

    client.watch_lists()

    assert sent_by(client) == []


def test_the_handshake_is_never_cancelled() -> None:
    """Spec, LC-5."""
    for probe in (False, True):
        client, request_id = opening(probe=probe)
        client.abandon(request_id, "no longer wanted")
        assert sent_by(client) == []


# What the results are.


@handshake_versions
def test_input_that_is_required_as_in_another_era_is_an_invalid_response(version: str) -> None:
    """DE-4: a server that mixes the eras has not run the tool, and its result is not an empty one."""
    client = open_client(version)
    request_id = client.request("tools/call", {"name": "x"})
    required = {"resultType": "input_required", "inputRequests": {"q": {"method": "roots/list"}}, "requestState": "s"}

    (event,) = give(client, rpc_result(request_id, required))

    assert event == InvalidResponse(request_id, "asked for input as no server of this revision does")


@handshake_versions
@pytest.mark.parametrize("kind", ["table", "input_required", "complete", None])
def test_a_result_type_has_no_meaning_before_it_was_introduced(version: str, kind: object) -> None:
    """Spec, DE-4: the member means nothing in the handshake era, whatever a server keeps there."""
    client = open_client(version)
    request_id = client.request("tools/call", {"name": "x"})

    assert give(client, rpc_result(request_id, {"content": [], "resultType": kind})) == [
        Result(request_id, {"content": []})
    ]


@pytest.mark.parametrize(
    "method", ["tools/list", "tools/call", "prompts/get", "completion/complete", "server/discover"]
)
@pytest.mark.parametrize("kind", ["task", "", None, 5, ["complete"]])
def test_a_stateless_result_of_an_unknown_type_is_no_answer(method: str, kind: object) -> None:
    """Spec 2026-07-28, MC-2: an invalid response, to whatever was asked."""
    client = open_client(NEW)
    request_id = client.request(method)

    (event,) = give(client, rpc_result(request_id, {"resultType": kind, "tools": []}))

    assert isinstance(event, InvalidResponse)
    assert event.id == request_id
    assert str(kind) in event.problem


@pytest.mark.parametrize("kind", ["complete", "input_required"])
def test_a_stateless_result_of_a_known_type_is_handed_on_whole(kind: str) -> None:
    """Spec 2026-07-28: the caller goes on by it."""
    client = open_client(NEW)
    request_id = client.request("tools/call", {"name": "x"})
    result = {"resultType": kind, "requestState": "s", "content": []}

    assert give(client, rpc_result(request_id, result)) == [Result(request_id, result)]


# What the server asks.


@handshake_versions
def test_a_ping_is_answered_at_any_time(version: str) -> None:
    """Spec, LC-4: also before the answer to initialize, also while the era is not known."""
    for client in (opening()[0], opening(probe=False)[0], open_client(version)):
        assert give(client, rpc("p", "ping")) == []
        assert sent_by(client) == [rpc_result("p", {})]


@handshake_versions
def test_a_server_request_is_reported_and_answered_once(version: str) -> None:
    """Spec: in the handshake era servers ask; the id goes back as it came."""
    client = open_client(version)

    (asked,) = give(client, rpc("1", "roots/list", {"a": 1}))

    assert isinstance(asked, RequestReceived)
    assert (asked.id, asked.method, asked.params) == ("1", "roots/list", {"a": 1})
    assert asked.context.version == version
    client.respond("1", {"roots": []})
    client.respond("1", {"roots": []})
    client.respond_error("1", -32603, "again")
    assert sent_by(client) == [rpc_result("1", {"roots": []})]


def test_a_server_request_can_be_refused() -> None:
    """Spec, LC-10: what we do not know gets an error, or the server's tool would hang."""
    client = open_client(OLD)
    give(client, rpc(7, "sampling/createMessage", {}))
    client.respond_error(7, -32601, "Method not found")
    client.respond_error(7, -32601, "Method not found")

    assert sent_by(client) == [rpc_error(7, -32601, "Method not found")]


@pytest.mark.parametrize(
    ("version", "params", "code"),
    [
        ("2024-11-05", {}, -32601),
        ("2025-03-26", {"mode": "form"}, -32601),
        ("2025-06-18", {"mode": "url"}, -32602),
        ("2025-06-18", {}, None),
        ("2025-06-18", {"mode": "form"}, None),
        ("2025-11-25", {"mode": "url"}, None),
    ],
)
def test_what_a_revision_does_not_have_is_not_answered(version: str, params: dict[str, Any], code: int | None) -> None:
    """LC-3: elicitation is of 2025-06-18, its URLs of 2025-11-25."""
    client = open_client(version)

    events = give(client, rpc(7, "elicitation/create", params))

    assert len(events) == (1 if code is None else 0)
    assert [sent["error"]["code"] for sent in sent_by(client)] == ([] if code is None else [code])


def test_a_server_request_before_the_response_to_initialize_is_reported_too() -> None:
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


@pytest.mark.parametrize(
    "line",
    [
        b"Server listening on stdio",
        b"{not json}",
        b'{"level":"info","id":1,"msg":"started"}',
        b'{"jsonrpc":"2.0","id":1,"method":"roots/list","params":[]}',
        b'{"jsonrpc":"2.0","method":"notifications/message","params":[]}',
    ],
)
def test_neither_noise_nor_an_invalid_server_request_ends_the_handshake(line: bytes) -> None:
    """Ours: none of these answers anything."""
    client, handshake = opening(probe=False)

    (event,) = give(client, line)

    assert isinstance(event, Discarded)
    assert isinstance(give(client, rpc_result(handshake, initialized()))[0], Opened)


def test_nothing_but_the_codes_for_it_lacks_an_id_once_all_is_open() -> None:
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


@every_version
@pytest.mark.parametrize("params", [{}, {"requestId": None}, {"requestId": 99}, {"requestId": True}, {"requestId": []}])
def test_a_cancellation_of_nothing_is_ignored(version: str, params: dict[str, Any]) -> None:
    """Spec, B-9; our own requests are not the server's to cancel."""
    client = open_client(version)
    client.watch_lists()
    request_id = client.request("tools/list")
    give(client, rpc(1, "roots/list"))

    assert give(client, note("notifications/cancelled", params)) == []
    assert give(client, note("notifications/cancelled", {"requestId": request_id})) == []
    assert give(client, rpc_result(request_id, {})) == [Result(request_id, {})]


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


def test_a_subscription_to_a_resource_and_one_to_lists_are_told_apart() -> None:
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


def test_a_rejected_subscription_is_forgotten() -> None:
    """Ours: a grant that comes after all grants nothing, and there is nothing to give up."""
    client = open_client(NEW)
    asked = client.subscribe(URI)
    sent_by(client)
    give(client, rpc_error(asked, -32602))

    assert give(client, acknowledged(asked, URI)) == []
    assert give(client, updated(URI, asked)) == []
    assert client.unsubscribe(URI) is None
    assert sent_by(client) == []


def test_an_update_of_an_unknown_subscription_is_ignored() -> None:
    """Spec 2026-07-28, MC-9: told apart by the id of the subscription, and its type; without one it is believed."""
    client, asked = subscribed()

    assert give(client, updated(URI, asked)) == [ResourceUpdated(URI)]
    for other in (asked + 1, str(asked), "x"):
        assert give(client, updated(URI, other)) == []
    for nothing in (None, True, 1.5, {}, [asked]):
        assert give(client, updated(URI, nothing)) == [ResourceUpdated(URI)]
    client.unsubscribe(URI)
    assert give(client, updated(URI, asked)) == []


def test_an_update_counts_where_subscriptions_have_no_ids() -> None:
    """Spec up to 2025-11-25: `_meta` is anybody's."""
    client = open_client(HANDSHAKE_VERSIONS[0])

    assert give(client, updated(URI, 7)) == [ResourceUpdated(URI)]


@pytest.mark.parametrize("uris", [(), ("file:///b",)])
def test_a_second_acknowledgement_changes_nothing(uris: tuple[str, ...]) -> None:
    """Ours: the request has had its outcome, and each has one only."""
    client = open_client(NEW)
    asked = client.subscribe(URI)
    assert give(client, acknowledged(asked, URI)) == [Result(asked, {})]

    assert give(client, acknowledged(asked, *uris)) == []
    assert give(client, updated()) == [ResourceUpdated(URI)]


def test_unsubscribing_leaves_alone_what_is_not_acknowledged_yet() -> None:
    """Ours: the caller that waits for the grant would wait in vain."""
    client = open_client(NEW)
    asked = client.subscribe(URI)
    sent_by(client)

    client.unsubscribe(URI)

    assert sent_by(client) == []
    assert give(client, acknowledged(asked, URI)) == [Result(asked, {})]


def test_a_subscription_that_ends_before_it_began_is_an_invalid_response() -> None:
    """Ours: servers answer so that do not know the method well (wire reference, Q9)."""
    for ending in (rpc_result, lambda number, _: cancelled_by_server(number)):
        client = open_client(NEW)
        asked = client.subscribe(URI)

        (broken,) = give(client, ending(asked, {}))

        assert isinstance(broken, InvalidResponse)
        assert broken.id == asked


@pytest.mark.parametrize("how", ["result", "error", "cancelled", "broken"])
def test_a_subscription_that_the_server_ends_is_reported(how: str) -> None:
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


def test_an_abandoned_subscription_is_cancelled() -> None:
    """Ours: its caller has run out of time."""
    client = open_client(NEW)
    asked = client.subscribe(URI)
    sent_by(client)

    client.abandon(asked, "no longer wanted")

    assert [sent["method"] for sent in sent_by(client)] == ["notifications/cancelled"]
    assert give(client, acknowledged(asked, URI)) == []


@every_version
def test_an_unknown_notification_is_ignored(version: str) -> None:
    """Spec: a receiver ignores notifications that it does not know."""
    client = open_client(version)
    give(client, note("notifications/of/tomorrow", {"a": 1}))
    assert client.take_events() == []
    assert sent_by(client) == []


def test_a_client_that_has_probed_may_do_better_without() -> None:
    """IO-10: a new connection may begin with `initialize`; one that has begun so would not differ."""
    assert opening()[0].may_prefer_handshake
    assert not opening(probe=False)[0].may_prefer_handshake
