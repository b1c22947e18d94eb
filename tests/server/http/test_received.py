"""Bodies and headers as they come, good and bad."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.contrib.agentvault.a2a_endpoint import TaskFront
from gaia_mcp.contrib.agentvault.rpc import RpcFront
from gaia_mcp.core.tracing import with_trace
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.http.received import (
    PIECE_BYTES,
    Caller,
    EventStream,
    RefusalError,
    _count_values,
    overloaded,
    send_body,
    send_refusal,
    store_failed,
)
from gaia_mcp.server.http.workers import Limits
from gaia_mcp.store import StoreError, StoreFullError
from tests.server.http.asgi import Gate, Tools, app_of
from tests.server.talk import DISCOVER, call, plain
from tests.tracing_support import TRACE

if TYPE_CHECKING:
    from tests.server.http.asgi import Server

Serve = Callable[..., "Server"]
JSON = "application/json"
STREAM = "text/event-stream"


def statuses(serve: Serve, header: str, *values: str) -> dict[str, int]:
    """The status of a request for each value of a header."""
    server = serve(Tools())
    return {value: server.stateless(DISCOVER, **{header: value}).reply().status for value in values}


def test_a_content_type_other_than_json_is_refused(serve: Serve) -> None:
    """Wire §3.3: 415."""
    types = ("", "text/plain", "application/xml", "text/plain; a=application/json")

    assert statuses(serve, "content_type", *types) == dict.fromkeys(types, 415)


def test_no_endpoint_reads_a_body_that_is_not_declared_as_json(serve: Serve) -> None:
    """Ours: a browser sends a body of these types for any page, without asking first (a CORS preflight)."""
    called: list[str] = []
    tools = AgentProvider(Tools(do=lambda _: called.append("do")))
    server = serve(app_of(tools, fronts=[RpcFront(["/mcp"]), TaskFront("do", tools)]))
    task = {"message": {"role": "user", "parts": [{"type": "data", "content": {}}]}}
    messages = {"/mcp": call(1, "do"), "/rpc": plain(1, "do"), "/a2a": plain(1, "tasks/send", task)}
    types = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "")

    found = {
        (path, kind): server.stateless(message, path, content_type=kind).reply().status
        for path, message in messages.items()
        for kind in types
    }

    assert found == dict.fromkeys(itertools.product(messages, types), 415)
    assert called == []
    assert [server.stateless(messages[path], path).reply().status for path in ("/mcp", "/rpc")] == [200, 200]
    assert called == ["do", "do"]


def test_a_content_type_may_have_parameters_and_capitals(serve: Serve) -> None:
    """RFC 9110, section 8.3."""
    types = (JSON, "Application/JSON; charset=utf-8", " application/json")

    assert statuses(serve, "content_type", *types) == dict.fromkeys(types, 200)


def test_an_accept_header_without_json_and_event_streams_is_refused(serve: Serve) -> None:
    """Wire §3.3: 406."""
    ranges = ("", JSON, STREAM, "text/html", "application/jsonx, text/event-stream")

    assert statuses(serve, "accept", *ranges) == dict.fromkeys(ranges, 406)


def test_media_ranges_are_accepted(serve: Serve) -> None:
    """RFC 9110, section 12.5.1; wire §6, Q17."""
    ranges = ("*/*", f"{STREAM};q=0.1,{JSON}", "application/*, text/*", f"TEXT/Event-Stream, {JSON}, a/b")

    assert statuses(serve, "accept", *ranges) == dict.fromkeys(ranges, 200)


def test_invalid_json_is_a_parse_error(serve: Serve) -> None:
    """JSON-RPC 2.0: -32700, with status 400, and however deeply it is nested."""
    server = serve(Tools())
    bodies = (
        b"", b"{", b"\xff\xfe", b"nonsense", b"[" * 100_000, b'{"a":' * 100_000, b'{"jsonrpc":"2.0"}}', b"1 2", b"\x00"
    )  # fmt: skip
    replies = [(body[:20], server.send(body).reply()) for body in bodies]

    assert [(body, reply) for body, reply in replies if (reply.status, reply.error) != (400, -32700)] == []


def test_a_body_may_come_in_pieces(serve: Serve) -> None:
    """ASGI: `more_body` is set for all but the last of them."""
    server = serve(Tools())
    asked = server.ask("POST", content_type=JSON, accept="*/*", mcp_protocol_version="2026-07-28", mcp_method="m")
    for piece in (b'{"jsonrpc":', b"", b'"2.0","method":'):
        asked.feed(piece, more=True)

    assert asked.feed(b'"m"}').reply().status == 202


def test_bodies_that_do_not_end_are_limited_together(serve: Serve) -> None:
    """Ours: 503, and there is room again when one has ended, whatever its end."""
    server = serve(Tools(), Limits(bodies_bytes=1000))

    def begun() -> Any:
        asked = server.ask("POST", content_type=JSON, accept="*/*", mcp_protocol_version="2026-07-28", mcp_method="m")
        asked.feed(b" " * 600, more=True)
        return asked

    first = begun()
    assert begun().reply().status == 503
    assert first.feed(b'{"jsonrpc":"2.0","method":"m"}').reply().status == 202
    begun().leave()
    assert begun().feed(b'{"jsonrpc":"2.0","method":"m"}').reply().status == 202


@pytest.mark.parametrize("length", ["1001", "9" * 5000])
def test_a_content_length_beyond_the_limit_is_refused(serve: Serve, length: str) -> None:
    """Ours: 413, before a byte of it has come."""
    server = serve(Tools(), Limits(body_bytes=1000))

    reply = server.ask("POST", content_type=JSON, accept="*/*", content_length=length).reply()

    assert (reply.status, reply.headers["connection"]) == (413, "close")


@pytest.mark.parametrize("pieces", [[b"x" * 1001], [b"x" * 600, b"x" * 600]])
def test_a_body_beyond_the_limit_is_refused(serve: Serve, pieces: list[bytes]) -> None:
    """Ours: 413 at the limit, also for one that never ends."""
    asked = serve(Tools(), Limits(body_bytes=1000)).ask("POST", content_type=JSON, accept="*/*", content_length="x")
    for piece in pieces:
        asked.feed(piece, more=True)

    assert asked.reply().status == 413


@pytest.mark.parametrize("values", ["{}", "[]", "1", '""', '{"a":1}'])
def test_a_body_with_too_many_values_is_refused_unparsed(serve: Serve, values: str) -> None:
    """Ours: 413, since a body of 4 MiB may take 200 MB as Python objects. An invalid one is refused all the same."""
    limits = Limits(values=1000)
    server = serve(Tools(), limits)

    replies = [server.send(f"[{','.join([values] * 1001)}{end}".encode()).reply() for end in ("]", "")]

    assert [(reply.status, reply.json["error"]["message"]) for reply in replies] == [
        (413, "the body has more than 1000 values")
    ] * 2


@pytest.mark.parametrize("value", ["{}", "[ ]", "1", '""', '{"a":1}', "[[],{}]", '{"a":{"b":[1,2]},"c":"d"}'])
def test_the_values_of_a_body_are_counted_exactly(serve: Serve, value: str) -> None:
    """Ours: before it is parsed, and in the same way after."""
    values = json.loads(f"[{value}, {value}]")
    headers = {"mcp_protocol_version": "2026-07-28", "mcp_method": "m"}
    body = {"jsonrpc": "2.0", "method": "m", "params": {"x": values}}
    count = _count_values(body, Limits())

    for limit, status in ((count - 1, 413), (count, 202)):
        server = serve(Tools(), Limits(values=limit))
        assert server.send(body, **headers).reply().status == status


@pytest.mark.parametrize("text", ["," * 2000, '\\",' * 2000, "[{" * 2000, "\\\\", '\\\\\\"[,'])
def test_the_text_of_strings_does_not_count_as_values(serve: Serve, text: str) -> None:
    """Ours: an argument may be a table with many commas, or JSON itself."""
    server = serve(Tools(hi=lambda call: "hello"), Limits(values=100))
    body = json.dumps(call(1, "hi") | {"x": [text.replace("\\", chr(92))] * 50}).encode()

    assert server.stateless(call(1, "hi")).reply().status == 200
    reply = server.send(body, mcp_protocol_version="2026-07-28", mcp_method="tools/call", mcp_name="hi").reply()
    assert reply.status == 200


def test_an_unterminated_string_is_a_parse_error_however_many_commas_follow(serve: Serve) -> None:
    """Ours: the time to count values is linear in the length of the body."""
    body = b'["' + b'",' * 100_001 + b'"' + b"," * 1_000_000

    reply = serve(Tools(), Limits(values=100_010)).send(body).reply()

    assert (reply.status, reply.error) == (400, -32700)


@pytest.mark.parametrize("nested", ['{"a":' * 300 + "1" + "}" * 300, "[" * 300 + "]" * 300])
def test_a_body_that_is_nested_too_deeply_is_a_parse_error(serve: Serve, nested: str) -> None:
    """Ours: code that walks arguments must not reach the limit of nested calls."""
    body = f'{{"jsonrpc":"2.0","method":"m","params":{{"x":{nested}}}}}'.encode()

    refused = serve(Tools()).send(body).reply()
    assert (refused.status, refused.json["error"]["message"]) == (400, "Parse error: nested more than 256 levels deep")
    headers = {"mcp_protocol_version": "2026-07-28", "mcp_method": "m"}
    assert serve(Tools(), Limits(depth=302)).send(body, **headers).reply().status == 202


def test_a_body_with_a_repeated_member_is_refused(serve: Serve) -> None:
    """Ours: what checks a request, and what carries it out, may read different ones."""
    body = b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","name":"b"}}'

    refused = serve(Tools()).send(body).reply()
    assert (refused.status, refused.json["id"], refused.error) == (400, 3, -32600)
    assert refused.json["error"]["message"] == "Invalid request: the member 'name' is given twice"


def test_a_body_with_a_key_that_is_too_long_is_refused(serve: Serve) -> None:
    """Ours: keys are repeated in error messages, and compared with those of schemas."""
    server = serve(Tools())
    headers = {"mcp_protocol_version": "2026-07-28", "mcp_method": "m"}
    bodies = [{"jsonrpc": "2.0", "method": "m", "params": {"x": [{"k" * size: 1}]}} for size in (4096, 4097)]

    assert [server.send(body, **headers).reply().status for body in bodies] == [202, 413]


def test_a_body_that_does_not_end_in_time_is_refused(serve: Serve) -> None:
    """Ours: 408."""
    asked = serve(Tools(), Limits(body_seconds=0.01)).ask("POST", content_type=JSON, accept="*/*")

    assert asked.feed(b"{", more=True).reply().status == 408


def test_a_client_that_disconnects_within_its_body_gets_no_response(serve: Serve) -> None:
    """Ours: there is no connection left to send it on."""
    asked = serve(Tools()).ask("POST", content_type=JSON, accept="*/*")
    asked.feed(b"{", more=True)
    asked.leave()
    asked.end()

    assert asked._sent.empty()


def test_a_repeated_header_is_a_mismatch(serve: Serve) -> None:
    """Ours: a proxy in between may have used the other value."""
    doubled = serve(Tools()).stateless(DISCOVER, mcp_method="server/discover, server/discover").reply()

    assert doubled.error == -32020


def test_values_of_a_repeated_header_are_joined(serve: Serve) -> None:
    """RFC 9110, section 5.2."""
    from gaia_mcp.server.http.received import Received

    scope = {"method": "GET", "headers": [(b"a", b"1"), (b"b", b"x"), (b"a", b"2\xff")]}

    assert Received(scope, None).headers == {"a": "1, 2\xff", "b": "x"}  # type: ignore[arg-type]


def test_white_space_at_the_end_of_a_header_is_not_part_of_its_value(serve: Serve) -> None:
    """RFC 9110, section 5.5."""
    server = serve(Tools(hi=lambda call: "hello"))
    body = json.dumps(call(1, "hi")).encode()

    reply = server.send(body, mcp_protocol_version="2026-07-28 ", mcp_method="tools/call", mcp_name="hi \t").reply()

    assert reply.status == 200


def test_the_size_of_headers_is_limited(serve: Serve) -> None:
    """Ours: 431."""
    server = serve(Tools(), Limits(header_bytes=1000))

    assert server.stateless(DISCOVER).reply().status == 200
    assert server.stateless(DISCOVER, x="y" * 1000).reply().status == 431


def test_content_length_beside_transfer_encoding_is_refused(serve: Serve) -> None:
    """RFC 9112, section 6.3: of two lengths, a proxy in between may have used the other."""
    reply = serve(Tools()).stateless(DISCOVER, content_length="5", transfer_encoding="chunked").reply()

    assert (reply.status, reply.headers["connection"]) == (400, "close")


def test_a_client_that_disconnects_after_its_body_gets_no_response(serve: Serve) -> None:
    """Ours: events that the server sends after the body and before the disconnect are ignored."""
    gate = Gate()
    asked = serve(Tools(gate=gate)).stateless(call(1, "gate"))
    gate.await_entered()
    asked.feed(b"")
    asked.leave()
    asked.end()
    gate.open()

    assert asked.start is None


@pytest.mark.parametrize("era", ["stateless", "handshake"])
def test_the_headers_of_a_trace_reach_the_call(serve: Serve, era: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: where `_meta` has no trace; and no other headers do."""
    monkeypatch.delitem(sys.modules, "opentelemetry.trace", raising=False)
    seen: list[Any] = []

    def look(running: Any) -> None:
        seen.append((dict(running.transport.trace), dict(running.transport.attributes), with_trace({})))

    server = serve(Tools(look=look))
    session = server.open_session() if era == "handshake" else {}

    def ask(request_id: int, **headers: str) -> None:
        if era == "stateless":
            server.stateless(call(request_id, "look"), **headers).reply()
        else:
            server.send(plain(request_id, "tools/call", {"name": "look"}), **session, **headers).reply()

    ask(1, **TRACE, authorization="Bearer x")
    ask(2, baggage="user=ada")

    own = {"mcp.session.id": session["mcp_session_id"]} if session else {}
    attributes = {"network.transport": "tcp", "network.protocol.name": "http", **own}
    assert seen == [(TRACE, attributes, {"_meta": TRACE}), ({}, attributes, {})]


def test_a_challenge_names_all_scopes_once_and_where_to_get_them() -> None:
    """Spec, AS-3: RFC 6750, section 3."""
    caller = Caller("ada", frozenset({"use"}), ["use"], ['resource_metadata="https://a.example/m"'])

    assert caller.scope_challenge(["write", "use"]) == (
        (
            b"www-authenticate",
            b'Bearer error="insufficient_scope", scope="use write", resource_metadata="https://a.example/m"',
        ),
    )


def test_a_refusal_has_a_status_and_an_error() -> None:
    """Ours: for HTTP, and for the JSON-RPC client behind it."""
    refusal = RefusalError(400, "no", -32602, data={"a": 1}, request_id=7)

    assert (refusal.status, refusal.text, refusal.code, refusal.data, refusal.request_id) == (
        400,
        "no",
        -32602,
        {"a": 1},
        7,
    )
    assert str(refusal) == "no"
    assert refusal.headers == ()


@pytest.mark.parametrize("problem", [StoreError("password"), StoreFullError("password")])
def test_a_failing_store_is_a_503_with_retry_after(problem: StoreError) -> None:
    """Ours: the reason is only for the owner of the server, for it may contain a URL with a password."""
    refusal = store_failed(problem)

    assert refusal.status == 503
    assert ("is full" in refusal.text) == isinstance(problem, StoreFullError)
    assert "password" not in refusal.text
    assert dict(refusal.headers)[b"retry-after"].isdigit()


def test_an_overloaded_server_sends_retry_after() -> None:
    """RFC 9110, section 15.6.4."""
    refusal = overloaded("too many", 3)

    assert (refusal.status, refusal.request_id) == (503, 3)
    assert dict(refusal.headers)[b"retry-after"].isdigit()


Wire = dict[str, Any]


class Sent:
    """What was sent."""

    def __init__(self) -> None:
        self.messages: list[Wire] = []

    async def __call__(self, message: Any) -> None:
        self.messages.append(message)


def test_a_body_has_its_type_and_its_length() -> None:
    """RFC 9110, section 8."""
    sent = Sent()

    asyncio.run(send_body(sent, 200, b"{}", ((b"a", b"b"),)))

    start, body = sent.messages
    assert start["headers"] == [(b"a", b"b"), (b"content-length", b"2"), (b"content-type", b"application/json")]
    assert (start["status"], body["body"]) == (200, b"{}")


def test_a_large_body_is_sent_in_pieces() -> None:
    """Ours: an ASGI server keeps what it is given until the client has taken it."""
    sent = Sent()
    body = bytes(range(256)) * (PIECE_BYTES // 128 + 1)

    asyncio.run(send_body(sent, 200, body))

    pieces = sent.messages[1:]
    assert b"".join(piece["body"] for piece in pieces) == body
    assert max(len(piece["body"]) for piece in pieces) == PIECE_BYTES
    assert [piece["more_body"] for piece in pieces] == [True, True, False]


def test_a_response_without_a_body_has_no_content_type() -> None:
    """RFC 9110, section 8.3."""
    sent = Sent()

    asyncio.run(send_body(sent, 202, b""))

    assert sent.messages[0]["headers"] == [(b"content-length", b"0")]


def test_a_refusal_is_a_json_rpc_error() -> None:
    """JSON-RPC 2.0; without an id where the request was not read."""
    sent = Sent()

    asyncio.run(send_refusal(sent, RefusalError(405, "no", headers=((b"allow", b"POST"),))))

    start, body = sent.messages
    assert (start["status"], start["headers"][0]) == (405, (b"allow", b"POST"))
    assert json.loads(body["body"]) == {"jsonrpc": "2.0", "error": {"code": -32600, "message": "no"}}


def test_an_event_stream_disables_buffering_in_proxies() -> None:
    """Spec 2026-07-28, HS-8."""
    sent = Sent()

    async def stream() -> None:
        events = EventStream(sent)
        await events.start(((b"a", b"b"),))
        await events.write(b"data: 1\n\n")
        await events.end()

    asyncio.run(stream())

    start, event, end = sent.messages
    headers = dict(start["headers"])
    assert headers[b"content-type"] == b"text/event-stream"
    assert headers[b"x-accel-buffering"] == b"no"
    assert headers[b"a"] == b"b"
    assert event == {"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True}
    assert end == {"type": "http.response.body", "body": b""}
