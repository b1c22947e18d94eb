"""What both roles share: ids, answers, and sorting whatever arrives. Shown on the client, where all of it happens."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.protocol import ALL_VERSIONS, HANDSHAKE_VERSIONS, STATELESS_VERSIONS
from gaia_mcp.protocol.client import ClientConnection
from gaia_mcp.protocol.connection import ABANDONED_KEPT, EXCERPT_CHARS, Connection
from gaia_mcp.protocol.events import (
    Discarded,
    ErrorResponse,
    InvalidResponse,
    ListChanged,
    Logged,
    Progressed,
    RequestReceived,
)
from gaia_mcp.protocol.input_required import RESULT_TYPES
from gaia_mcp.protocol.jsonrpc import Notification, Request, Result
from tests.protocol_support import (
    CLIENT,
    CLIENT_CAPABILITIES,
    ENVELOPE,
    LOG_LEVEL,
    check_each,
    check_rows,
    discovered,
    enveloped,
    give,
    new_client,
    new_server,
    note,
    open_client,
    open_server,
    rpc,
    rpc_error,
    rpc_result,
    sent_by,
    steady,
)

if TYPE_CHECKING:
    from collections.abc import Callable

OLD, NEW = "2025-11-25", "2026-07-28"


def asked(client: ClientConnection, method: str = "tools/list", **how: Any) -> Any:
    request_id = client.request(method, **how)
    sent_by(client)
    return request_id


def test_a_parsed_request_is_received_unchanged() -> None:
    """Ours: an HTTP server has parsed it already, for its headers."""
    server = new_server()
    params = {"name": "t", "arguments": {}, "_meta": ENVELOPE}

    server.receive_request(Request(1, "tools/call", params))

    (event,) = server.take_events()
    assert isinstance(event, RequestReceived)
    assert (event.id, event.method, event.params) == (1, "tools/call", params)


def test_the_methods_of_a_role_are_abstract() -> None:
    """Ours: each role has to decide these."""
    connection = Connection()

    with pytest.raises(NotImplementedError):
        connection._accepts_batches()
    with pytest.raises(NotImplementedError):
        connection._receive_malformed_batch([], b"")
    with pytest.raises(NotImplementedError):
        connection._receive_response("ping", Result(1, {}))
    with pytest.raises(NotImplementedError):
        connection._receive_request(Request(1, "ping", {}))
    with pytest.raises(NotImplementedError):
        connection._receive_notification(Notification("notifications/x", {}))


def test_messages_and_events_are_returned_once() -> None:
    """Ours: nothing is written or reported twice."""
    client = open_client(OLD)
    client.notify("notifications/one")
    client.receive(b"rubbish")

    assert len(client.take_outgoing()) == 1
    assert client.take_outgoing() == []
    assert len(client.take_events()) == 1
    assert client.take_events() == []


def test_responses_in_any_order_are_matched_by_id() -> None:
    """Spec, B-1 and B-2."""

    def check(version: str) -> None:
        client = open_client(version)
        first, second = asked(client), asked(client)

        assert first != second
        assert give(client, rpc_result(second, {"n": 2})) == [Result(second, {"n": 2})]
        assert give(client, rpc_result(first, {"n": 1})) == [Result(first, {"n": 1})]

    check_each(check, ALL_VERSIONS)


def test_an_error_response_has_the_method_and_the_text_of_the_peer() -> None:
    """Ours: the user needs both to find the cause."""

    def check(version: str) -> None:
        client = open_client(version)
        request_id = asked(client, "tools/call")

        assert give(client, rpc_error(request_id, -32602, "Unknown tool: x", {"d": 1})) == [
            ErrorResponse(request_id, "tools/call", -32602, "Unknown tool: x", {"d": 1})
        ]

    check_each(check, ALL_VERSIONS)


@pytest.mark.parametrize("code", [-32700, -32600])
def test_an_error_without_an_id_fails_the_only_pending_request(code: int) -> None:
    """Spec: the codes for a request that could not be read, whose id is therefore unknown."""
    client = open_client(OLD)
    request_id = asked(client)

    assert give(client, rpc_error(..., code)) == [ErrorResponse(request_id, "tools/list", code, "no", None)]
    assert give(client, rpc_result(asked(client), {})) != []


@pytest.mark.parametrize("code", [-32700, -32601])
def test_an_error_without_an_id_is_discarded_when_several_requests_are_pending(code: int) -> None:
    """Ours: a guess could fail the wrong one."""
    client = open_client(OLD)
    first, second = asked(client), asked(client)

    (event,) = give(client, rpc_error(..., code, "what?"))

    assert isinstance(event, Discarded)
    assert "what?" in event.problem
    assert give(client, rpc_result(first, {})) == [Result(first, {})]
    assert give(client, rpc_result(second, {})) == [Result(second, {})]


def test_an_error_without_an_id_is_discarded_when_no_request_is_pending() -> None:
    """Ours: it can be about a notification only, for which no caller waits."""
    (event,) = give(open_client(OLD), rpc_error(None, -32700))

    assert isinstance(event, Discarded)


def test_an_error_to_a_notification_does_not_fail_a_request() -> None:
    """Ours: some servers answer `notifications/initialized` with an error, which has no id to give."""

    def check(code: int) -> None:
        client = open_client(OLD)
        request_id = asked(client)

        (event,) = give(client, rpc_error(None, code, "Method not found: notifications/initialized"))

        assert isinstance(event, Discarded)
        assert give(client, rpc_result(request_id, {})) == [Result(request_id, {})]

    check_each(check, [-32601, -32602, -32603, -32000])


def test_a_response_with_an_unknown_id_fails_the_only_pending_request() -> None:
    """Ours: a server that loses the id's type or makes ids up would otherwise cost the whole deadline."""

    def check(stranger: object) -> None:
        client = open_client(OLD)
        request_id = asked(client)

        (event,) = give(client, rpc_result(stranger, {}))

        assert isinstance(event, InvalidResponse)
        assert event.id == request_id
        assert repr(stranger) in event.problem
        assert give(client, rpc_result(request_id, {})) == []

    check_each(check, ["1", "7", 99, -1, 0, "server-error"])


def test_a_subscription_is_not_a_pending_request() -> None:
    """Ours: it is always open, and with it no unmatched response would fail the only other request before its
    deadline.
    """
    lines = [
        b'{"jsonrpc":"2.0","id":"1","result":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":{nonsense}}',
        b'{"jsonrpc":"2.0","result":{}}',
    ]

    def check(line: bytes, first: str) -> None:
        client = open_client(NEW)
        if first == "listen":
            client.watch_lists()
        request_id = asked(client, "tools/call")
        client.watch_lists()

        (event,) = give(client, line)

        assert isinstance(event, InvalidResponse)
        assert event.id == request_id

    check_each(check, lines, ["listen", "ask"])


def test_an_error_without_an_id_does_not_fail_a_subscription() -> None:
    """Ours: it is about the only pending request."""
    client = open_client(NEW)
    client.watch_lists()
    request_id = asked(client)

    assert give(client, rpc_error(..., -32600)) == [ErrorResponse(request_id, "tools/list", -32600, "no", None)]


@pytest.mark.parametrize("line", [rpc_result("1", {}), rpc_error(None, -32600), b'{"jsonrpc":"2.0",'])
def test_an_unmatched_response_does_not_end_a_subscription(line: object) -> None:
    """Ours: the server continues to send its notifications."""
    client = open_client(NEW)
    client.watch_lists()
    sent_by(client)

    (event,) = give(client, line)

    assert isinstance(event, Discarded)
    client.watch_lists()
    assert sent_by(client) == []


def test_a_response_with_an_unknown_id_is_discarded_when_several_requests_are_pending() -> None:
    """Ours: it could be about any of them."""
    client = open_client(OLD)
    first, second = asked(client), asked(client)

    (event,) = give(client, rpc_error(99, -32601))

    assert isinstance(event, Discarded)
    assert give(client, rpc_result(first, {})) == [Result(first, {})]
    assert give(client, rpc_result(second, {})) == [Result(second, {})]


def test_a_duplicate_response_is_discarded() -> None:
    """Ours: its id belongs to an earlier request, so it fails no pending one."""

    def check(version: str) -> None:
        client = open_client(version)
        first = asked(client)
        give(client, rpc_result(first, {}))
        second = asked(client)

        (event,) = give(client, rpc_result(first, {}))

        assert isinstance(event, Discarded)
        assert give(client, rpc_result(second, {})) == [Result(second, {})]

    check_each(check, ALL_VERSIONS)


def test_abandoning_a_request_sends_a_cancellation_and_ignores_the_late_response() -> None:
    """Spec, IO-5 and MC-15."""

    def check(version: str) -> None:
        client = open_client(version)
        request_id = asked(client, "tools/call", progress=True)

        client.abandon(request_id, "no longer wanted")

        assert sent_by(client) == [
            note("notifications/cancelled", {"requestId": request_id, "reason": "no longer wanted"})
        ]
        other = asked(client)
        assert give(client, note("notifications/progress", {"progressToken": request_id, "progress": 1})) == []
        assert give(client, rpc_result(request_id, {})) == []
        assert give(client, rpc_result(other, {})) == [Result(other, {})]

    check_each(check, ALL_VERSIONS)


@pytest.mark.parametrize("late", [rpc_error(2, 0, "Request cancelled"), rpc_result(2, None), rpc_result(2, "text")])
def test_any_late_response_to_a_cancelled_request_is_ignored(late: dict[str, Any]) -> None:
    """Spec, MC-15. Python's first SDK answers with code 0; an invalid response must not fail the next request."""
    client = open_client(OLD)
    assert asked(client) == 2
    client.abandon(2, "")
    other = asked(client)

    assert give(client, late) == []
    assert give(client, rpc_result(other, {})) == [Result(other, {})]


def test_cancelling_twice_or_after_the_response_sends_nothing() -> None:
    """Spec, cancellation: only requests that are still open are cancelled."""
    client = open_client(OLD)
    request_id = asked(client)
    client.abandon(request_id, "")
    sent_by(client)
    client.abandon(request_id, "")
    answered = asked(client)
    give(client, rpc_result(answered, {}))
    client.abandon(answered, "")
    client.abandon("never", "")

    assert sent_by(client) == []


def test_the_number_of_remembered_cancelled_requests_is_limited() -> None:
    """Ours: a long-lived client must not grow; the response to a forgotten one is still not unknown."""
    client = open_client(OLD)
    first = asked(client)
    client.abandon(first, "")
    for _ in range(ABANDONED_KEPT):
        client.abandon(client.request("tools/list"), "")
    waiting = asked(client)

    assert len(client._abandoned) == ABANDONED_KEPT
    (event,) = give(client, rpc_result(first, {}))
    assert isinstance(event, Discarded)
    assert give(client, rpc_result(waiting, {})) == [Result(waiting, {})]


def test_progress_is_reported_while_it_increases() -> None:
    """Spec, B-7: strictly increasing."""

    def check(version: str) -> None:
        client = open_client(version)
        token = asked(client, "tools/call", progress=True)

        def reported(progress: object, **members: object) -> list[Any]:
            return list(
                give(client, note("notifications/progress", {"progressToken": token, "progress": progress, **members}))
            )

        assert reported(0) == [Progressed(token, 0, None, "")]
        assert reported(0.5, total=2, message="half") == [Progressed(token, 0.5, 2, "half")]
        assert reported(0.5) == []
        assert reported(0.25) == []
        assert reported(2, total="many", message=5) == [Progressed(token, 2, None, "")]
        for number, total in enumerate((10**400, -(10**400), float("inf"), float("nan"), True), 3):
            assert reported(number, total=total) == [Progressed(token, number, None, "")]
        assert reported(10**300, total=10**308) == [Progressed(token, 10**300, 10**308, "")]
        give(client, rpc_result(token, {}))
        assert reported(10**301) == []

    check_each(check, ALL_VERSIONS)


def test_invalid_progress_is_ignored() -> None:
    """Ours: progress is optional, and no result depends on it."""
    cases = [
        {},
        {"progressToken": 2},
        {"progress": 1},
        {"progressToken": 2, "progress": "1"},
        {"progressToken": 2, "progress": None},
        {"progressToken": True, "progress": 1},
        {"progressToken": [2], "progress": 1},
        {"progressToken": {"a": 1}, "progress": 1},
        {"progressToken": "2", "progress": 1},
        {"progressToken": 99, "progress": 1},
        {"progressToken": 2, "progress": float("nan")},
        {"progressToken": 2, "progress": float("inf")},
        {"progressToken": 2, "progress": 10**400},
        {"progressToken": 2, "progress": True},
    ]

    def check(params: dict[str, Any]) -> None:
        client = open_client(OLD)
        assert asked(client, "tools/call", progress=True) == 2

        assert give(client, note("notifications/progress", params)) == []

    check_each(check, cases)


def test_missing_members_of_a_log_message_have_defaults() -> None:
    """Spec: level, logger and any JSON as data. Ours: an incomplete message is still shown."""
    client = open_client(OLD)

    assert give(client, note("notifications/message", {"level": "error", "logger": "db", "data": {"a": [1]}})) == [
        Logged("error", "db", {"a": [1]})
    ]
    assert give(client, note("notifications/message", {"level": 5, "logger": None})) == [Logged("info", "", None)]
    assert give(client, note("notifications/message")) == [Logged("info", "", None)]


def test_a_list_change_is_reported() -> None:
    """Spec: list_changed; a stateless server adds the subscription, which changes nothing for us."""

    def check(version: str, kind: str) -> None:
        client = open_client(version)

        assert give(client, note(f"notifications/{kind}/list_changed", {"_meta": {"a": 1}})) == [ListChanged(kind)]

    check_each(check, ALL_VERSIONS, ["tools", "prompts", "resources"])


def test_an_unknown_notification_is_ignored() -> None:
    """Spec: unknown notifications are ignored; that is the owner's choice."""
    wrong = [
        (version, found)
        for version in ALL_VERSIONS
        if (found := give(open_client(version), note("notifications/x", {"a": 1}))) != []
    ]

    assert not wrong


def test_a_line_that_is_not_a_message_is_discarded() -> None:
    """Spec, IO-9: banners and JSON log lines are skipped and shown to the person, and answers still come."""
    cases = [
        b"Server listening on stdio",
        b"Content-Length: 120",
        b"\xff\xfe\xfa",
        b"{not json}",
        b'{"level":"info","msg":"started"}',
        b'{"level":"info","id":2,"msg":"an id like ours"}',
        b'["a list"]',
        b"[]",
        b"42",
        b"null",
        b'"text"',
    ]

    def check(version: str, line: bytes) -> None:
        client = open_client(version)
        request_id = asked(client)

        (event,) = give(client, line)

        assert isinstance(event, Discarded)
        assert event.problem
        # Where there are batches, it is the member that is shown.
        assert event.excerpt in line.decode("utf-8", "replace")
        assert len(event.excerpt) >= len(line) - 2
        assert give(client, rpc_result(request_id, {})) == [Result(request_id, {})]

    check_each(check, ALL_VERSIONS, cases)


def test_the_excerpt_of_a_discarded_line_is_limited() -> None:
    """Ours: enough to recognise it, not enough to fill a screen."""
    (event,) = give(open_client(OLD), b"\xc3\xa9" * 100_000)

    assert isinstance(event, Discarded)
    assert event.excerpt == "é" * (EXCERPT_CHARS + 1)


def test_an_invalid_response_ends_its_request() -> None:
    """Ours: the caller gets the error at once instead of waiting for the deadline."""
    cases = [
        b'{"jsonrpc":"2.0","id":2,"result":{"tools":[',
        b'{"jsonrpc":"2.0","id":2,"result":null}',
        b'{"jsonrpc":"2.0","id":2,"result":[]}',
        b'{"jsonrpc":"2.0","id":2,"error":"no"}',
        b'{"jsonrpc":"2.0","id":2}',
        b'{"jsonrpc":"2.0","id":null,"result":{}}',
        b'{"jsonrpc":"2.0","id":2.0,"result":{}}',
        b'{"id":2,"result":{}}',
        b'{"jsonrpc":"1.0","id":2,"result":{}}',
        b'[{"jsonrpc":"2.0","id":2,"result":{}}]',
    ]

    def check(version: str, line: bytes) -> None:
        client = open_client(version)
        while (request_id := asked(client)) != 2:
            give(client, rpc_result(request_id, {}))

        (event,) = give(client, line)

        assert isinstance(event, InvalidResponse)
        assert event.id == 2
        assert event.problem
        assert give(client, rpc_result(2, {})) == []

    check_each(check, ["2025-06-18", NEW], cases)


def test_an_invalid_response_without_an_id_is_discarded_when_several_requests_are_pending() -> None:
    """Ours: a guess could fail the wrong request."""
    client = open_client(OLD)
    first, second = asked(client), asked(client)

    (event,) = give(client, b'{"jsonrpc":"2.0","id":2,"result":{"tools":[')

    assert isinstance(event, Discarded)
    assert give(client, rpc_result(first, {})) == [Result(first, {})]
    (broken,) = give(client, rpc_result(second, None))
    assert isinstance(broken, InvalidResponse)
    assert broken.id == second


def test_an_invalid_message_that_is_not_a_response_fails_no_request() -> None:
    """Spec: a server's request differs from a response by its method alone; its id is its own."""
    cases = [
        {"jsonrpc": "2.0", "method": "notifications/message", "params": ["text"]},
        {"jsonrpc": "2.0", "id": 2, "method": "roots/list", "params": []},
        {"jsonrpc": "2.0", "id": 1.5, "method": "roots/list"},
        {"jsonrpc": "2.0", "id": 2, "method": 5},
        {"id": 2, "method": "ping"},
    ]

    def check(message: dict[str, Any]) -> None:
        client = open_client(OLD)
        assert asked(client) == 2

        (event,) = give(client, message)

        assert isinstance(event, Discarded)
        assert give(client, rpc_result(2, {})) == [Result(2, {})]

    check_each(check, cases)


def test_no_state_is_left_of_a_request_with_an_invalid_response() -> None:
    """Ours: a long-lived client must not grow."""
    client = open_client(OLD)
    token = asked(client, "tools/call", progress=True)
    give(client, note("notifications/progress", {"progressToken": token, "progress": 1}))
    give(client, rpc_result(token, None))

    assert client._progress == {}
    assert client._pending == {}


def test_a_batch_of_responses_is_accepted_in_2025_03_26() -> None:
    """Spec 2025-03-26, LC-9: receivers MUST accept batches."""
    client = open_client("2025-03-26")
    first, second = asked(client), asked(client)

    events = give(client, [rpc_result(second, {"n": 2}), note("notifications/message"), 5, rpc_result(first, {"n": 1})])

    assert [type(event) for event in events] == [Result, Logged, Discarded, Result]
    assert events[0] == Result(second, {"n": 2})
    assert events[3] == Result(first, {"n": 1})


def test_a_batch_member_with_nan_is_discarded() -> None:
    """Ours: NaN can be read but not written."""
    client = open_client("2025-03-26")

    (event,) = give(client, b'[{"x":NaN}]')

    assert isinstance(event, Discarded)


def test_batches_are_not_accepted_in_other_revisions() -> None:
    """Spec 2025-06-18: batches are removed."""
    cases = [version for version in ALL_VERSIONS if version != "2025-03-26"]

    def check(version: str) -> None:
        client = open_client(version)
        first, second = asked(client), asked(client)

        (event,) = give(client, [rpc_result(first, {}), rpc_result(second, {})])

        assert isinstance(event, Discarded)

    check_each(check, cases)


STATES: dict[str, Callable[[], Connection]] = {
    "a new client": new_client,
    "a client of the handshake era": lambda: open_client("2025-03-26"),
    "a stateless client": lambda: open_client(NEW),
    "a new server": new_server,
    "a server of the handshake era": lambda: open_server("2025-03-26"),
}
KEYS = [
    *("jsonrpc", "id", "method", "params", "result", "error", "code", "message", "data", "_meta", "requestId"),
    *("progressToken", "progress", "total", "level", "protocolVersion", "supportedVersions", "supported"),
    *("capabilities", "notifications", "toolsListChanged", "clientInfo", "serverInfo", "nextCursor", "cursor"),
    *("io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"),
]
VALUES = [
    *("2.0", 1, 2, "1", True, 1.5, None, -32022, -32602, "discover-1", *ALL_VERSIONS, "debug", "emergency"),
    *("initialize", "ping", "server/discover", "tools/list", "tools/call", "subscriptions/listen", "logging/setLevel"),
    *("notifications/cancelled", "notifications/progress", "notifications/message", "notifications/initialized"),
]
VALUE = st.recursive(
    st.sampled_from(VALUES) | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=25,
)
MESSAGE = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0")},
    optional={
        "id": VALUE,
        "method": st.sampled_from([value for value in VALUES if isinstance(value, str)]),
        "params": VALUE,
        "result": VALUE,
        "error": VALUE,
    },
)


def survives(state: str, records: list[bytes]) -> None:
    connection = STATES[state]()
    if state == "a new client":
        connection.open()  # type: ignore[attr-defined]
    elif "client" in state:
        connection.request("tools/call", progress=True)  # type: ignore[attr-defined]
    else:
        connection.receive(json.dumps(enveloped(1, "tools/call", progressToken=1)).encode())
    for record in records:
        connection.receive(record)
        connection.take_events()
        sent_by(connection)


@steady
@given(st.lists(st.binary(max_size=60), max_size=3))
def test_receiving_any_bytes_never_raises(records: list[bytes]) -> None:
    """Ours: a hostile peer gets error responses that can be encoded."""
    check_each(survives, STATES, [records])


@steady
@given(st.lists(MESSAGE | VALUE | st.lists(MESSAGE, max_size=3), max_size=4))
def test_receiving_any_json_never_raises(messages: list[Any]) -> None:
    """Ours: a hostile peer gets error responses that can be encoded."""
    check_each(survives, STATES, [[json.dumps(message).encode() for message in messages]])


def test_receiving_deeply_nested_json_never_raises() -> None:
    """Ours: also at the depths that can just be parsed, but not formatted or compared."""

    def check(state: str) -> None:
        for depth in [*range(900, 1000), 100_000]:
            deep = b"[" * depth + b"]" * depth
            for frame in (
                b"%s",
                b"[%s]",
                b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":%s}}',
                b'{"jsonrpc":"2.0","id":1,"result":{"resultType":%s}}',
                b'{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":%s,"data":%s}}',
                b'{"jsonrpc":"2.0","id":"discover-1","error":{"code":-32022,"message":"no","data":{"supported":%s}}}',
                b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%s}}',
                b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"reason":%s}}',
            ):
                survives(state, [frame.replace(b"%s", deep)])

    check_each(check, STATES)


def test_both_sides_may_use_the_same_request_id() -> None:
    """Spec: in the handshake era either side may ask, and the same id may be open in both directions."""

    def check(version: str) -> None:
        client = open_client(version)
        request_id = asked(client)

        give(client, rpc(request_id, "ping"))

        assert sent_by(client) == [rpc_result(request_id, {})]
        assert give(client, rpc_result(request_id, {"tools": []})) == [Result(request_id, {"tools": []})]

    check_each(check, HANDSHAKE_VERSIONS)


def test_abandoning_the_first_request_sends_no_cancellation() -> None:
    """Spec, LC-5: initialize MUST NOT be cancelled, and the probe is harmless."""
    for probe in (True, False):
        client = new_client(probe=probe)
        client.open()
        (sent,) = sent_by(client)
        client.abandon(sent["id"], "no longer wanted")

        assert sent_by(client) == []
        assert give(client, rpc_error(sent["id"], -32601)) == []


# Streams: what belongs to which request.


def test_every_message_about_a_request_names_that_request() -> None:
    """Spec, Streamable HTTP: a request's own stream carries its notifications and its response, and no other's."""

    def check(version: str) -> None:
        server = open_server(version)
        with_token: dict[str, Any] = {"name": "x", "_meta": {"progressToken": "t"}}
        for request_id in (1, 2):
            message = rpc(request_id, "tools/call", with_token)
            if version in STATELESS_VERSIONS:
                message["params"]["_meta"] = {**ENVELOPE, "progressToken": "t", LOG_LEVEL: "info"}
            give(server, message)
        for request_id in (2, 1):
            server.log(request_id, "info", "a step", "x")
            server.report_progress(request_id, 1, None, "")
            server.respond(request_id, {"content": []})

        sent = server.take_outgoing()

        assert [outgoing.about for outgoing in sent] == [2, 2, 2, 1, 1, 1]
        assert not any(outgoing.cancels for outgoing in sent)

    check_each(check, ALL_VERSIONS)


def test_a_subscription_s_notifications_belong_to_the_request_that_opened_it() -> None:
    """Spec 2026-07-28, subscriptions: each `subscriptions/listen` has a stream of its own."""
    server = open_server(STATELESS_VERSIONS[0])
    for request_id in ("a", "b"):
        give(server, enveloped(request_id, "subscriptions/listen", {"notifications": {"toolsListChanged": True}}))
    server.announce_list_changed("tools")
    server.close()

    assert [outgoing.about for outgoing in server.take_outgoing()] == ["a", "b", "a", "b", "a", "b"]


def test_an_announcement_of_the_handshake_era_belongs_to_no_request() -> None:
    """Spec 2025-11-25: it goes to the stream that a client listens on."""
    server = open_server("2025-11-25")
    server.announce_list_changed("tools")

    assert [outgoing.about for outgoing in server.take_outgoing()] == [None]


def test_a_request_with_an_id_in_use_is_not_answered_on_the_stream_of_the_first() -> None:
    """Ours: the first request's caller would take the error for its own response."""
    server = open_server("2025-11-25")
    give(server, rpc(1, "tools/call", {"name": "x"}))
    give(server, rpc(1, "tools/call", {"name": "x"}))

    (refused,) = server.take_outgoing()

    assert refused.about is None


def test_every_client_message_names_its_request() -> None:
    """Ours: a transport with a stream for each request may cancel by closing the stream instead."""
    client = open_client("2025-11-25")
    first, second = client.request("tools/list"), client.request("tools/list")
    client.notify("notifications/roots/list_changed")
    client.abandon(first, "no longer wanted")

    sent = client.take_outgoing()

    assert [(outgoing.about, outgoing.cancels) for outgoing in sent] == [
        (first, False),
        (second, False),
        (None, False),
        (first, True),
    ]


@pytest.mark.parametrize(
    "record", [b'{"jsonrpc":"2.0","error":{"code":-32000,"message":"no"}}', b'{"jsonrpc":"2.0",,}']
)
def test_an_error_without_an_id_on_a_request_s_own_stream_is_about_that_request(record: bytes) -> None:
    """Spec, Streamable HTTP: a server that cannot read a request answers its POST with an error that has no id."""
    client = open_client("2025-11-25")
    first, second = client.request("tools/list"), client.request("prompts/list")

    client.receive(record, about=first)

    (event,) = client.take_events()
    assert isinstance(event, (ErrorResponse, InvalidResponse))
    assert event.id == first
    assert give(client, rpc_result(second, {"prompts": []})) == [Result(second, {"prompts": []})]


def test_an_error_without_an_id_on_the_stream_of_an_answered_request_is_discarded() -> None:
    """Ours: it must not be blamed on another request."""
    client = open_client("2025-11-25")
    first, second = client.request("tools/list"), client.request("prompts/list")
    give(client, rpc_result(first, {}))

    client.receive(b'{"jsonrpc":"2.0","error":{"code":-32700,"message":"no"}}', about=first)

    (event,) = client.take_events()
    assert isinstance(event, Discarded)
    assert give(client, rpc_result(second, {})) == [Result(second, {})]


def test_an_extension_may_add_a_result_type() -> None:
    """Spec 2026-07-28, extensions: `resultType` is open; without the extension an unknown value is an error."""
    for known, expected in (({}, InvalidResponse), ({"task": frozenset({"tools/call"})}, Result)):
        client = ClientConnection(
            "peer", info=CLIENT, capabilities=CLIENT_CAPABILITIES, result_types={**RESULT_TYPES, **known}
        )
        client.open()
        (asked,) = sent_by(client)
        give(client, rpc_result(asked["id"], discovered()))
        called = client.request("tools/call", {"name": "x"})
        listed = client.request("tools/list")

        (event,) = give(client, rpc_result(called, {"resultType": "task", "taskId": "1"}))
        assert type(event) is expected
        (event,) = give(client, rpc_result(listed, {"resultType": "task"}))
        assert isinstance(event, InvalidResponse)


def test_a_record_with_a_repeated_member_is_no_valid_message_of_a_client() -> None:
    """Ours: what checks a request, and what carries it out, may read different ones."""
    cases = [
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","method":"tools/list"}', (7, -32600)),
        (b'{"a":1,"a":2}{}', (None, -32700)),
    ]

    def check(record: bytes, refused: tuple[int | None, int]) -> None:
        server = new_server()
        assert give(server, record) == []
        (sent,) = sent_by(server)
        assert (sent.get("id"), sent["error"]["code"]) == refused

    check_rows(check, cases)


def test_a_repeated_member_refuses_each_request_of_a_batch() -> None:
    """Ours: each gets a response. The rest of the array is ignored."""
    server = open_server("2025-03-26")
    twice = {"jsonrpc": "2.0", "id": 3, "method": "ping"}
    parts = [rpc(2, "ping", None), note("notifications/x"), rpc_result(9, {})]
    record = json.dumps([*parts, twice]).replace('"id": 3', '"id": 3, "id": 3').encode()
    events = give(server, record)
    (refused,) = sent_by(server)

    assert [(each["id"], each["error"]["code"]) for each in refused] == [(2, -32600), (3, -32600)]
    assert {type(event) for event in events} == {Discarded}
