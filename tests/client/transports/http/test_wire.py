"""What all exchanges with one server share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpcore2
import httpx2
import pytest

from gaia_mcp.client.transports.http.connections import Response
from gaia_mcp.client.transports.http.wire import (
    MAX_EXCERPT_BYTES,
    Annotations,
    Wire,
    begin,
    events,
    is_response_to,
    kind_of,
    read,
    text_of,
)
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import ConnectError, RemoteProtocolError
from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.sse import EventParser, ServerSentEvent
from tests.client.transports.http.web import new_wire
from tests.protocol_support import ENVELOPE

SOON = Deadline(5)
INITIALIZE = jsonrpc.request(1, "initialize", {"protocolVersion": "2025-11-25"})


def after_handshake(revision: Any, session: str = "s-1") -> Wire:
    wire, _ = new_wire("http://host/mcp")
    wire.initialized(httpx2.Response(200, headers={"mcp-session-id": session.encode()}))
    wire.receive_value(jsonrpc.result(1, {"protocolVersion": revision}), INITIALIZE)
    return wire


def test_the_headers_of_a_stateless_request_repeat_its_method_and_arguments() -> None:
    """Spec, HC-1 and HC-4."""
    wire, _ = new_wire("http://host/mcp")
    schema = {"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}
    listed = {"tools": [{"name": "t", "inputSchema": schema}]}
    wire.headers_of(jsonrpc.request(1, "tools/list", {"_meta": ENVELOPE}), SOON)
    wire.receive_value(jsonrpc.result(1, listed), jsonrpc.request(1, "tools/list", None))

    params = {"name": "t", "arguments": {"a": "é"}, "_meta": ENVELOPE}
    assert wire.headers_of(jsonrpc.request(2, "tools/call", params), SOON) == {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "t",
        "Mcp-Param-A": "=?base64?w6k=?=",
    }
    notification = wire.headers_of(jsonrpc.notification("notifications/x", None), SOON)
    assert notification["MCP-Protocol-Version"] == "2026-07-28"
    assert notification["Mcp-Method"] == "notifications/x"


def test_the_dropped_tools_of_all_pages_are_collected_until_the_next_list() -> None:
    """Ours: only the first page has no cursor."""
    wire, _ = new_wire("http://host/mcp")
    wire.headers_of(jsonrpc.request(1, "tools/list", {"_meta": ENVELOPE}), SOON)
    for name, params in (("one", {}), ("two", {"cursor": "2"}), ("three", {})):
        schema = {"properties": {"a": {"type": "string", "x-mcp-header": "no token"}}}
        listed = jsonrpc.result(1, {"tools": [{"name": name, "inputSchema": schema}]})
        wire.receive_value(listed, jsonrpc.request(1, "tools/list", params))
        if name == "two":
            assert list(wire.annotations.left_out) == ["one", "two"]
    assert list(wire.annotations.left_out) == ["three"]


def test_an_initialize_request_has_no_session_or_revision_header() -> None:
    """Spec, LC-6 and LC-7: there is no session and no revision yet, also if there was a session before."""
    assert set(after_handshake("2025-11-25").headers_of(INITIALIZE, SOON)) == {"Content-Type", "Accept"}


def test_session_and_revision_headers_are_sent_after_the_handshake() -> None:
    """Spec, LC-6 and LC-7: on every request, stream and end; the revision since 2025-06-18."""
    for revision, named in [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", None),
        ("2024-11-05", None),
        (7, None),
    ]:
        wire = after_handshake(revision)

        for headers in (
            wire.headers_of(jsonrpc.request(2, "tools/list", None), SOON),
            wire.headers_of(jsonrpc.result(2, {}), SOON),
            wire.stream_headers("GET", SOON, "e-1"),
            wire.stream_headers("DELETE", SOON),
        ):
            found = (headers["Mcp-Session-Id"], headers.get("MCP-Protocol-Version"), "Mcp-Method" in headers)
            assert found == ("s-1", named, False), revision


def test_a_stream_is_requested_with_the_last_event_id() -> None:
    """Spec, LC-8."""
    wire = after_handshake("2025-11-25", session="")

    assert wire.stream_headers("GET", SOON) == {"Accept": "text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
    assert wire.stream_headers("GET", SOON, "e-1")["Last-Event-ID"] == "e-1"


def test_an_invalid_session_id_is_ignored() -> None:
    """Spec, Streamable HTTP: nothing else is sent back."""
    sessions = ["", "a b", "é", "a\tb"]

    found = {session: after_handshake("2025-11-25", session=session).session for session in sessions}

    assert found == dict.fromkeys(sessions)


def test_a_missing_revision_means_the_proposed_one() -> None:
    """Ours: as the negotiation reads it."""
    wire, _ = new_wire("http://host/mcp")
    wire.receive_value(jsonrpc.result(1, {}), INITIALIZE)
    assert wire.revision == "2025-11-25"


def test_a_redirect_within_the_origin_changes_the_url() -> None:
    """Spec, AC-9: and to no other origin."""
    wire, _ = new_wire("http://host/mcp")

    assert wire.redirected("/mcp/")
    assert not wire.redirected("http://evil/mcp/")
    assert wire.url == "http://host/mcp/"


def test_messages_are_delivered_with_the_id_of_their_request() -> None:
    """Ours: and whether it is the response to that."""
    wire, kept = new_wire("http://host/mcp")
    request = jsonrpc.request(4, "tools/list", None)

    assert not wire.receive(b"no json", request)
    assert not wire.receive(b'{"jsonrpc":"2.0","method":"x"}', request)
    assert wire.receive(b'{"jsonrpc":"2.0","id":4,"result":{}}', request)
    assert wire.receive('{"jsonrpc":"2.0","id":4,"result":{}}', request)
    assert not wire.receive(b'{"jsonrpc":"2.0","method":"y"}', None)
    wire.request_failed(request, ConnectError("gone"))

    assert kept.records == [(b"no json", 4)]
    assert [about for _, about in kept.messages] == [4, 4, 4, None]
    assert [about for about, _ in kept.failures] == [4]


def test_a_wire_reports_whether_a_message_is_being_received() -> None:
    """Ours: a listener may take long, or receive more itself."""
    seen: list[bool] = []
    wire, kept = new_wire("http://127.0.0.1:1/mcp")

    def listener(value: Any, about: Any = None) -> None:
        if about is None:
            wire.receive_value({}, jsonrpc.request(1, "ping", None))
        seen.append(wire.is_receiving)

    kept.receive_message = listener  # type: ignore[method-assign]
    wire.receive_value({}, None)

    assert (seen, wire.is_receiving) == ([True, True], False)


@pytest.mark.parametrize("response", [{"result": 7}, {"result": {}}, {"error": {"code": 1, "message": "no"}}])
def test_an_unusable_initialize_response_is_passed_on(response: dict[str, Any]) -> None:
    """Ours: the conversation reports what is wrong with it."""
    wire, kept = new_wire("http://host/mcp")

    assert wire.receive_value({"jsonrpc": "2.0", "id": 1, **response}, INITIALIZE)
    assert kept.messages[0][0] == {"jsonrpc": "2.0", "id": 1, **response}


MAYBE_RESPONSES: list[tuple[Any, bool]] = [
    ({"id": 1, "result": {}}, True),
    ({"id": "1", "result": {}}, True),
    ({"id": 2, "result": {}}, False),
    ({"error": {}}, True),
    ({"id": "server-error", "error": {}}, True),
    ({"id": 1, "method": "x", "error": {}}, False),
    ({"error": "no"}, False),
    ({"id": 1}, False),
    ([], False),
    (None, False),
]


def test_a_result_needs_the_id_of_its_request_and_an_error_does_not() -> None:
    """Spec, HC-8: a server that cannot read a request answers without its id."""
    assert [(value, is_response_to(value, 1)) for value, _ in MAYBE_RESPONSES] == MAYBE_RESPONSES


def tool(name: Any, annotation: Any = None, key: str = "region") -> dict[str, Any]:
    schema = {"type": "string", **({"x-mcp-header": annotation} if annotation is not None else {})}
    return {"name": name, "inputSchema": {"type": "object", "properties": {key: schema}}}


def test_arguments_are_sent_as_headers_by_the_newest_tool_list() -> None:
    """Spec, HC-4: each list may change what a tool wants."""
    annotations = Annotations()
    call = {"name": "t", "arguments": {"region": "x"}}
    assert annotations.headers(call) == {}

    annotations.learn({"tools": [tool("t", "Region")]})
    assert annotations.headers(call) == {"Mcp-Param-Region": "x"}

    annotations.learn({"tools": [tool("t")]})
    assert annotations.headers(call) == {}


def test_a_tool_with_an_invalid_annotation_is_dropped() -> None:
    """Spec, HC-4: one malformed tool must not sink the list. The reader of the list reports it."""
    good, bad = tool("good", "Region"), tool("bad", "no token")
    annotations = Annotations()

    assert annotations.learn({"tools": [good, bad], "nextCursor": "2"}) == {"tools": [good], "nextCursor": "2"}
    assert list(annotations.left_out) == ["bad"]
    assert "no token" in annotations.left_out["bad"]


def test_the_validation_errors_of_one_list_are_collected_across_its_pages() -> None:
    """Ours: further pages of a list add to it, another list begins anew."""
    annotations = Annotations()

    annotations.learn({"tools": [tool("one", "no token")]})
    annotations.learn({"tools": [tool("two", "no token")]}, is_first=False)
    assert list(annotations.left_out) == ["one", "two"]
    assert "no token" in annotations.left_out["one"]

    annotations.learn({"tools": [tool("one")]})
    assert annotations.left_out == {}


def test_other_invalid_lists_are_passed_on_unchanged() -> None:
    """Ours: the reader of the list reports it."""
    results: list[dict[str, Any]] = [{}, {"tools": "x"}, {"tools": ["x", {"name": 7}]}, {"tools": [tool("t")]}]

    assert [result for result in results if Annotations().learn(result) is not result] == []


class Pieces:
    def __init__(self, *pieces: bytes) -> None:
        self.left = list(pieces)

    def __iter__(self) -> Iterator[bytes]:
        while self.left:
            yield self.left.pop(0)


def response(pieces: Pieces, kind: str | None = None) -> Response:
    sent = httpcore2.Request("POST", "http://web", extensions={"timeout": {}})
    received = httpcore2.Response(200, headers=[("Content-Type", kind)] if kind else [], content=pieces)
    return Response("http://web", sent, received, httpcore2.ConnectionPool().create_connection(sent.url.origin))


@pytest.mark.parametrize(
    ("given", "kind"),
    [("application/json; charset=utf-8", "application/json"), ("Text/Event-Stream", "text/event-stream"), (None, "")],
)
def test_a_media_type_is_compared_without_its_parameters(given: str | None, kind: str) -> None:
    """HTTP: types are compared ignoring case."""
    assert kind_of(response(Pieces(), given)) == kind


def test_a_body_is_read_up_to_a_size_limit() -> None:
    """Ours: a server that never ends its body does not exhaust the memory."""
    assert read(response(Pieces(b"ab", b"c")), "web", limit=3) == b"abc"

    with pytest.raises(RemoteProtocolError, match="more than 3 bytes"):
        read(response(Pieces(b"ab", b"cd")), "web", limit=3)


def test_the_excerpt_of_a_body_is_limited() -> None:
    """Ours: the body of an error page may be endless."""
    endless = Pieces(*[b"a" * MAX_EXCERPT_BYTES] * 3)

    assert len(begin(response(endless))) == MAX_EXCERPT_BYTES
    assert endless.left
    assert begin(response(Pieces(b"a", b"b"))) == b"ab"
    assert begin(response(Pieces(b"a", b"b")), seconds=-1) == b"a"


def test_the_excerpt_of_an_interrupted_body_is_returned() -> None:
    """Ours: it is read for an error that is known already."""

    class Broken(Pieces):
        def __iter__(self) -> Iterator[bytes]:
            yield b"a"
            raise httpcore2.ReadTimeout

    assert begin(response(Broken())) == b"a"


def test_events_are_returned_as_they_arrive() -> None:
    """Spec, HC-3: progress comes before the response."""
    pieces = Pieces(b"data: a\n\nda", b"ta: b\n\ndata: c\n\n")
    found = events(response(pieces), EventParser(), "web")

    assert next(found) == ServerSentEvent(b"a")
    assert pieces.left
    assert [event.data for event in found] == [b"b", b"c"]


def test_an_event_that_is_too_long_is_a_protocol_error() -> None:
    """Ours: records are bounded."""
    with pytest.raises(RemoteProtocolError, match="an event of more than 5 bytes"):
        list(events(response(Pieces(b"data: abcdef")), EventParser(limit=5), "web"))


def test_a_record_is_decoded_if_it_is_valid_utf_8() -> None:
    """Ours: what is no text goes to the log as it is."""
    assert text_of("é".encode()) == "é"
    assert text_of(b"\xff") == b"\xff"
