"""One request over HTTP: its POST, and every response that a server may send to it."""

from __future__ import annotations

import threading
import tracemalloc
from itertools import product
from typing import Any

import pytest

from gaia_mcp.client.transports.http.auth import NoAuthorizer
from gaia_mcp.client.transports.http.connections import MAX_HELD_BYTES
from gaia_mcp.client.transports.http.exchange import MAX_PAGES, MAX_PAUSES, MAX_REDIRECTS, Exchange, refresh_tools
from gaia_mcp.client.transports.http.worker_connections import Lane, Lanes
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import (
    AuthorizationError,
    ConnectionLostError,
    LocalProtocolError,
    MCPError,
    RemoteProtocolError,
    SessionExpiredError,
    StatusError,
)
from gaia_mcp.protocol import jsonrpc
from tests.client.transports.http.web import (
    Answer,
    Asked,
    Cut,
    accepted,
    always,
    as_events,
    as_json,
    connections_to,
    ending_once,
    error,
    event,
    handshake,
    new_wire,
    noting,
    result,
    serving,
    talking,
)
from tests.protocol_support import ENVELOPE
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, wait_until

OK = {"resultType": "complete", "tools": []}


def response(asked: Asked, **value: Any) -> dict[str, Any]:
    return jsonrpc.result(asked.message["id"], value or OK)


def progress(number: int) -> dict[str, Any]:
    return jsonrpc.notification("notifications/progress", {"progressToken": 1, "progress": number})


def initialize(request_id: int = 1) -> dict[str, Any]:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    return jsonrpc.request(request_id, "initialize", params)


# Success.


@pytest.mark.parametrize("is_event", [False, True])
def test_a_long_response_is_held_in_memory_at_most_twice(is_event: bool) -> None:
    """Ours: as it arrived, and as it is read; not once more as bytes."""
    size = 8 << 20
    text = "x" * size
    message = {"jsonrpc": "2.0", "id": 1, "result": {"text": text}}
    answer = as_events(event(message)) if is_event else as_json(message)

    with talking(lambda _: answer) as (_, line):
        tracemalloc.start()
        received = line.ask("tools/call", name="t").message()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert received["result"]["text"] == text
    assert peak < 2.5 * size


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", ""])
def test_a_response_may_be_a_single_json_object(kind: str) -> None:
    """Spec, HC-3: also from a server that names no type."""
    with talking(lambda asked: Answer(200, {"Content-Type": kind}, jsonrpc.encode(response(asked)))) as (_, line):
        assert line.ask("tools/list").message() == {"jsonrpc": "2.0", "id": 1, "result": OK}


def test_a_response_may_follow_notifications_on_a_stream() -> None:
    """Spec, HC-3: all of them are about the request; comments and other events are ignored."""

    def answer(asked: Asked) -> Answer:
        return as_events(b": hi\n\n", event(progress(1)), b"event: ping\ndata: {}\n\n", event(response(asked)))

    with talking(answer) as (_, line):
        kept = line.ask("tools/call", 7, name="t")
        kept.wait(2)
        assert [(message.get("method"), about) for message, about in kept.messages] == [
            ("notifications/progress", 7),
            (None, 7),
        ]


def test_a_connection_is_reused_after_its_stream_has_ended() -> None:
    """Ours: a connection for each call would cost more than the call."""
    ports = set()

    with talking(lambda asked: as_events(event(response(asked)))) as (web, line):
        for number in range(1, 6):
            line.ask("tools/list", number).wait(number)
            wait_until(lambda: not line.running())
        ports = {lane._stream.get_extra_info("socket").getsockname() for lane in line.channel._lanes._all}  # type: ignore[union-attr]
        assert len(ports) == 1
        assert len(web.asked) == 5


@pytest.mark.parametrize("given", ["1", 1.0])
def test_an_id_of_another_type_is_replaced_by_that_of_the_request(given: Any) -> None:
    """Mcp-wire 2.1: over HTTP the exchange itself identifies the request of a response."""
    if given == 1.0:
        given = "1"
    with talking(lambda _: as_json({"jsonrpc": "2.0", "id": given, "result": OK})) as (_, line):
        assert line.ask("tools/list").message()["id"] == 1


def test_a_batch_is_delivered_message_by_message() -> None:
    """Spec, LC-9: one revision has them."""
    with talking(lambda asked: as_json([progress(1), response(asked)])) as (_, line):
        line.ask("tools/list").wait(2)
        assert [about for _, about in line.kept.messages] == [1, 1]


NOT_RESPONSES = [
    (Answer(200, {"Content-Type": "text/html"}, b"<p>Hi"), "with an HTML page: this URL is a web page"),
    (Answer(200, {}, b"<!DOCTYPE html><p>Hi"), "with an HTML page"),
    (Answer(200, {"Content-Type": "text/plain"}, b"Hi"), "with 'text/plain', where MCP has JSON"),
    (Answer(200, {"Content-Type": "application/json"}, b'{"jsonrpc":'), "not valid JSON"),
    (Answer(200, {"Content-Type": "application/json"}, b""), "with an empty body"),
    (Answer(202), "with an empty body"),
    (Answer(204), "with an empty body"),
    (as_json({"ok": True}), "JSON that is not a response of MCP"),
    (as_json([]), "JSON that is not a response of MCP"),
    (as_json({"jsonrpc": "2.0", "id": 99, "result": {}}), "JSON that is not a response of MCP"),
    (
        Answer(200, {"Content-Encoding": "gzip", "Content-Type": "application/json"}, b"no"),
        "cannot be decompressed",
    ),
]


def test_a_2xx_without_a_json_rpc_response_is_a_protocol_error() -> None:
    """Mcp-wire Q26: it fails at once, and the error names what was sent instead."""
    wrong = []
    for answer, problem in NOT_RESPONSES:
        with noting(answer), talking(always(answer)) as (_, line):
            failures = line.ask("tools/list").failures
            wait_until(failures.__len__)
            if [(type(failure), problem in str(failure)) for _, failure in failures] != [(RemoteProtocolError, True)]:
                wrong.append((answer, failures))

    assert not wrong


def test_a_stream_that_ends_without_the_response_fails_the_request() -> None:
    """Spec, HC-6: there is no resumption in the stateless era."""
    wrong = []
    for pieces in [(), (event(progress(1)),), (b"data: {",), (event(progress(1)), Cut())]:
        with noting(pieces), talking(always(as_events(*pieces))) as (web, line):
            failures = line.ask("tools/call", name="t").failures
            wait_until(failures.__len__)
            if [(about, type(failure)) for about, failure in failures] != [(1, ConnectionLostError)]:
                wrong.append((pieces, failures))
            assert len(web.asked) == 1

    assert not wrong


def test_invalid_json_on_a_stream_is_reported_and_skipped() -> None:
    """Ours: the conversation quotes it in an error."""
    with talking(lambda asked: as_events(b"data: hi\n\n", event(response(asked)))) as (_, line):
        line.ask("tools/list").wait(2)
        assert line.kept.records == [(b"hi", 1)]
        assert len(line.kept.messages) == 1


def test_the_number_of_streams_left_open_by_the_server_is_limited() -> None:
    """Ours: of servers that never end their streams only so many connections are kept."""
    never = threading.Event()

    with talking(lambda asked: as_events(event(response(asked)), never)) as (web, line):
        for number in range(1, 9):
            line.ask("tools/list", number).wait(number)
        assert line.kept.failures == []
        wait_until(lambda: len(web.broken) == 4)
        # And one whose stream ends after all is a connection like any other.
        never.set()
        wait_until(lambda: not line.running())


def test_the_end_of_a_subscription_stream_is_an_error_response() -> None:
    """Spec, subscriptions: no caller waits for its end, and changes may be lost from then on."""
    with talking(lambda _: as_events(event(progress(1)))) as (_, line):
        line.ask("subscriptions/listen", 3).wait(2)
        ended, about = line.kept.messages[-1]
        assert (about, ended["id"], ended["error"]["code"]) == (3, 3, jsonrpc.INTERNAL_ERROR)


# Errors of JSON-RPC.


def test_the_detail_of_a_422_is_an_invalid_params_error() -> None:
    """Spec, C2: FastAPI's, at whose status there is no JSON-RPC."""
    for body, text in [
        ({"detail": "a text"}, "a text"),
        ({"detail": [{"msg": "x"}]}, '[{"msg": "x"}]'),
        ([], None),
        ({}, None),
    ]:
        with noting(body), talking(always(as_json(body, 422))) as (_, line):
            kept = line.ask("tools/call", name="t")

            if text is None:
                assert "422" in kept.failure().message
            else:
                assert kept.message()["error"] == {"code": -32602, "message": text}


def test_a_json_rpc_error_is_read_at_any_status() -> None:
    """Spec, HC-8: and belongs to the request whatever its id."""
    wrong = []
    for status, given in product([200, 400, 403, 404, 500], [1, None, "server-error"]):
        body = {"jsonrpc": "2.0", "id": given, "error": {"code": -32602, "message": "no"}}
        with noting((status, given)), talking(always(as_json(body, status))) as (_, line):
            received = line.ask("tools/call", name="t").message()
        if received != {**body, "id": 1}:
            wrong.append((status, given, received))

    assert not wrong


def test_a_header_mismatch_refreshes_the_tools_and_repeats_the_call() -> None:
    """Spec, HC-5: the tool has changed since it was listed."""

    def answer(asked: Asked) -> Answer:
        if asked.message["method"] == "tools/list":
            schema = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": "A"}}}
            return result(asked, tools=[{"name": "t", "inputSchema": schema}])
        if "mcp-param-a" not in asked.headers:
            return error(asked, jsonrpc.HEADER_MISMATCH, "Header mismatch")
        return result(asked, content=[])

    with talking(answer) as (web, line):
        assert line.ask("tools/call", name="t", arguments={"a": "x"}).message()["result"] == {"content": []}
        assert web.methods() == ["tools/call", "tools/list", "tools/call"]


def test_a_header_mismatch_with_unchanged_tools_is_reported() -> None:
    """Ours: repeating the same request would fail in the same way."""

    def answer(asked: Asked) -> Answer:
        if asked.message["method"] == "tools/list":
            return result(asked, tools=[])
        return error(asked, jsonrpc.HEADER_MISMATCH, "Header mismatch")

    with talking(answer) as (web, line):
        assert line.ask("tools/call", name="t").message()["error"]["code"] == jsonrpc.HEADER_MISMATCH
        assert web.methods() == ["tools/call", "tools/list"]


# Statuses.


def test_a_refused_probe_is_reported_as_method_not_found() -> None:
    """Spec, HC-7 and DE-2: older servers refuse an unknown request in many ways, and all mean the handshake."""
    codes = {}
    for status, body in product([400, 404, 405, 406, 415], [b"", b"<html>no</html>", b'{"detail":"no"}']):
        with noting((status, body)), talking(always(Answer(status, {}, body))) as (_, line):
            codes[status, body] = line.ask("server/discover", "d").message()["error"]["code"]

    assert codes == dict.fromkeys(codes, jsonrpc.METHOD_NOT_FOUND)


def test_other_error_statuses_of_the_probe_are_errors() -> None:
    """Mcp-wire 1.4: access, load and failures tell nothing about the era."""
    wrong = []
    for status in [403, 407, 408, 429, 500, 502, 503]:
        with noting(status), talking(always(Answer(status))) as (_, line):
            failure = line.ask("server/discover", "d").failure()
            if not isinstance(failure, (StatusError, ConnectionLostError)):
                wrong.append((status, failure))

    assert not wrong


@pytest.mark.parametrize(
    ("way", "status", "case"), [("http", 405, "not-http"), ("http", 404, "http-404"), (None, 405, "http-405")]
)
def test_a_server_without_streamable_http_is_reported(way: str | None, status: int, case: str) -> None:
    """Ours: where the other transport is not looked for; a path that is wrong is not taken for that."""
    with talking(lambda _: Answer(status), way) as (_, line):
        line.send(initialize())
        assert line.kept.failure().case == case


def test_an_error_status_is_reported_and_a_500_counts_as_lost() -> None:
    """Ours: after a failure of the server a tool may have run; after a refusal not."""
    wrong = []
    for status, kind in [
        (400, StatusError),
        (404, StatusError),
        (413, StatusError),
        (500, ConnectionLostError),
        (501, StatusError),
    ]:
        with noting(status), talking(always(Answer(status, {}, b"why not"))) as (_, line):
            failure = line.ask("tools/call", name="t").failure()
            named = all(words in str(failure) for words in (f"with {status} ", "why not"))
            if (type(failure), named, failure.facts) != (kind, True, {"status": status}):
                wrong.append((status, failure))

    assert not wrong


def test_a_401_raises_an_authorization_error() -> None:
    """Ours: without an authorizer the request is not repeated."""
    with talking(lambda _: Answer(401)) as (web, line):
        assert type(line.ask("tools/list").failure()) is AuthorizationError
        assert len(web.asked) == 1


class Renewing(NoAuthorizer):
    """Has another token after each challenge, and gives up after the second."""

    def __init__(self) -> None:
        super().__init__("web")
        self.tokens = 0

    def headers(self, method: str, url: str, deadline: Deadline) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.tokens}"}

    def challenged(self, response: Any, deadline: Deadline) -> bool:
        self.tokens += 1
        return self.tokens < 3


@pytest.mark.parametrize("status", [401, 403])
def test_a_request_is_repeated_with_the_token_that_a_challenge_leads_to(status: int) -> None:
    """Spec, AC-10: and refused in the end if that does not help."""

    def answer(asked: Asked) -> Answer:
        return result(asked) if asked.headers["authorization"] == "Bearer 1" else Answer(status)

    with talking(answer, authorizer=Renewing()) as (_, line):
        assert "result" in line.ask("tools/call", name="t").message()
    with talking(lambda _: Answer(status), authorizer=Renewing()) as (web, line):
        assert type(line.ask("tools/call", name="t").failure()) is StatusError
        assert [asked.headers["authorization"] for asked in web.asked] == ["Bearer 0", "Bearer 1", "Bearer 2"]


# Patience.


def test_a_request_is_repeated_after_the_time_in_retry_after() -> None:
    """HTTP: `Retry-After` holds seconds, or a date."""
    for status, when in product([429, 503], ["0", "Mon, 23 Nov 2020 02:48:29 GMT"]):
        answers = [Answer(status, {"Retry-After": when})] * 2

        def answer(asked: Asked, left: list[Answer] = answers) -> Answer:
            return left.pop() if left else result(asked)

        with noting((status, when)), talking(answer) as (_, line):
            assert "result" in line.ask("tools/call", name="t").message()


def test_a_retry_after_beyond_the_deadline_is_an_error_at_once() -> None:
    """Ours: at once, and not when time has run out."""
    for when in ["3600", "9" * 5000, "soon", "", "-1", "Sat, 28 Nov 99999 14:00:00 GMT"]:
        with noting(when), talking(always(Answer(503, {"Retry-After": when}))) as (web, line):
            assert type(line.ask("tools/call", name="t").failure()) is StatusError
            assert len(web.asked) == 1


def test_the_number_of_retries_is_limited() -> None:
    """Ours: a caller waits for the outcome."""
    with talking(lambda _: Answer(429, {"Retry-After": "0"})) as (web, line):
        assert type(line.ask("tools/call", name="t").failure()) is StatusError
        assert len(web.asked) == MAX_PAUSES + 1


def test_closing_the_channel_ends_the_pause_before_a_retry() -> None:
    """Ours: no thread may be left behind."""
    with talking(lambda _: Answer(503, {"Retry-After": "15"})) as (web, line):
        line.ask("tools/call", name="t")
        wait_until(lambda: any(exchange._pauses for exchange in line.running()))
    assert len(web.asked) == 1
    assert line.kept.failures == []


# Redirects.


@pytest.mark.parametrize("status", [307, 308])
def test_a_307_or_308_within_the_origin_is_followed(status: int) -> None:
    """Mcp-wire Q18: and the next message goes there at once."""

    def answer(asked: Asked) -> Answer:
        return result(asked) if asked.path == "/mcp/" else Answer(status, {"Location": "/mcp/"})

    with talking(answer) as (web, line):
        line.ask("tools/call", 1, name="t").wait()
        line.ask("tools/call", 2, name="t").wait(2)
        assert line.kept.failures == []
        assert [asked.path for asked in web.asked] == ["/mcp", "/mcp/", "/mcp/"]
        assert web.asked[0].message == web.asked[1].message


def test_another_redirect_is_an_error() -> None:
    """Spec, AC-9: nothing that is for this origin goes to another one; and no message becomes a GET."""
    for status, place in [
        (301, "/mcp/"),
        (302, "/login"),
        (303, "/mcp/"),
        (307, "http://127.0.0.2/mcp"),
        (307, ""),
        (308, "ftp://x/"),
    ]:
        answer = Answer(status, {"Location": place} if place else {})
        secret = {"X-Key": "hunter22"}
        with noting((status, place)), talking(always(answer), headers=secret) as (web, line):
            failure = line.ask("tools/call", name="t").failure()
            assert type(failure) is StatusError
            assert f"redirects to {place or 'nowhere'}"[:20] in str(failure)
            assert len(web.asked) == (MAX_REDIRECTS + 1 if not place else 1)


def test_a_redirect_loop_is_an_error() -> None:
    """Ours: a server must not keep us busy for ever."""
    with talking(lambda _: Answer(307, {"Location": "/mcp"})) as (web, line):
        assert type(line.ask("tools/call", name="t").failure()) is StatusError
        assert len(web.asked) == MAX_REDIRECTS + 1


# Sessions.


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b""),
        (410, b"gone"),
        (400, b'{"error":"No valid Session ID"}'),
        (400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: Server not initialized"}}'),
        (401, b"Unauthorized: Session not found"),
        (503, b'{"error":"unknown session"}'),
        (200, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}'),
    ],
)
def test_an_expired_session_is_reported(status: int, body: bytes) -> None:
    """Spec, LC-6: nothing has been done; others that wait may have lost something. Servers that were started anew have
    many ways to say it.
    """
    with talking(handshake(lambda _: Answer(status, {"Content-Type": "application/json"}, body))) as (_, line):
        line.send(initialize())
        line.kept.wait()
        line.send(jsonrpc.request(2, "tools/list", {}))
        wait_until(lambda: bool(line.kept.ends))
        ((about, failure),) = line.kept.failures
        assert (about, type(failure)) == (2, SessionExpiredError)
        assert type(line.kept.ends[0]) is ConnectionLostError
        assert not line.channel.is_running()


def test_an_expired_session_ends_the_channel_before_the_request_fails() -> None:
    """Spec, LC-6: a caller that gets this error repeats its request at once, maybe on another thread."""
    with talking(handshake(lambda _: Answer(404))) as (_, line):
        line.send(initialize())
        line.kept.wait()
        running: list[bool] = []
        line.kept.request_failed = lambda *_: running.append(line.channel.is_running())  # type: ignore[method-assign]
        line.send(jsonrpc.request(2, "tools/list", {}))
        wait_until(lambda: bool(line.kept.ends))
        assert running == [False]


@pytest.mark.parametrize(
    ("status", "headers", "body"),
    [
        (500, {}, b"no session with the database"),
        (403, {}, b"this session may not do that"),
        (503, {}, b"overloaded"),
        (200, {"Content-Type": "application/json"}, b'{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}'),
        (401, {"WWW-Authenticate": "Bearer"}, b"your session is over: log in"),
        (
            200,
            {"Content-Type": "application/json"},
            b'{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"no session with the database"}}',
        ),
    ],
)
def test_another_failure_keeps_the_session(status: int, headers: dict[str, str], body: bytes) -> None:
    """Ours: a request that may have run is not sent again, and a login is not a session."""
    with talking(handshake(lambda _: Answer(status, headers, body))) as (_, line):
        line.send(initialize())
        line.kept.wait()
        line.send(jsonrpc.request(2, "tools/call", {"name": "t"}))
        wait_until(lambda: bool(line.kept.failures) or len(line.kept.messages) > 1)
        assert not any(isinstance(failure, SessionExpiredError) for _, failure in line.kept.failures)
        assert line.channel.is_running()


def test_a_404_without_a_session_is_a_status_error() -> None:
    """Spec, LC-6: 404 is an address that does not exist then."""
    with talking(handshake(lambda _: Answer(404), session="")) as (_, line):
        line.send(initialize())
        line.kept.wait()
        line.send(jsonrpc.request(2, "tools/list", {}))
        wait_until(lambda: bool(line.kept.failures))
        assert type(line.kept.failures[0][1]) is StatusError
        assert line.channel.is_running()


# Resumption.


def test_an_interrupted_stream_is_resumed_after_its_last_event() -> None:
    """Spec, LC-8: by GET with the last id, after the time that the server names."""

    def answer(asked: Asked) -> Answer:
        if asked.method == "GET":
            return as_events(event(jsonrpc.result(2, {"content": []}), "s-3"))
        return as_events(b"id: s-1\nretry: 1\ndata: \n\n", event(progress(1), "s-2"))

    def script(asked: Asked) -> Answer:
        return answer(asked) if asked.method == "GET" else handshake(answer)(asked)

    with talking(script) as (web, line):
        line.send(initialize())
        line.kept.wait()
        line.send(jsonrpc.request(2, "tools/call", {"name": "t"}))
        line.kept.wait(3)
        assert line.kept.messages[-1] == (jsonrpc.result(2, {"content": []}), 2)
        assert line.kept.failures == []
        asked = web.asked[-1]
        assert (asked.method, asked.headers["last-event-id"]) == ("GET", "s-2")
        assert (asked.headers["mcp-session-id"], asked.headers["mcp-protocol-version"]) == ("s-1", "2025-11-25")


# Notifications.


def test_any_2xx_accepts_a_notification() -> None:
    """Spec, LS-3: any success will do, whatever its body."""
    for answer in [accepted(), Answer(200, {}, b"{}"), Answer(204), Answer(200, {}, (b"a",))]:
        with noting(answer), talking(always(answer)) as (web, line):
            line.send(jsonrpc.notification("notifications/x", None))
            assert web.methods() == ["notifications/x"]
            assert line.kept.messages == []


def test_a_notification_that_is_refused_raises() -> None:
    """Ours: its sender waits for no response that would tell."""
    with talking(lambda _: Answer(400)) as (_, line), pytest.raises(StatusError):
        line.send(jsonrpc.notification("notifications/x", None))


# Faults.


def test_an_unexpected_exception_fails_the_request() -> None:
    """Ours: otherwise a bug would leave the caller waiting until its deadline."""

    class Broken(NoAuthorizer):
        def headers(self, method: str, url: str, deadline: Deadline) -> dict[str, str]:
            raise KeyError("bug")

    with talking(accepted, authorizer=Broken("web")) as (_, line):  # type: ignore[arg-type]
        assert type(line.ask("tools/list").failure()) is LocalProtocolError


def test_a_failure_after_the_response_is_ignored() -> None:
    """Ours: the request has its outcome."""
    with talking(lambda asked: as_events(event(response(asked)), Cut())) as (_, line):
        line.ask("tools/list").message()
        wait_until(lambda: not line.running())
        assert line.kept.failures == []


def test_a_request_that_has_its_response_cannot_fail() -> None:
    """Ours: whatever happens to the rest of its stream."""
    with talking(result) as (_, line):
        wire, kept = new_wire("http://server.invalid/")
        message = jsonrpc.request(1, "tools/list", {})
        exchange = Exchange(wire, line.channel, message, b"", Deadline(ENOUGH_SECONDS), "tools/list")
        exchange.is_settled = True
        line.channel._use(exchange)
        wait_until(lambda: not line.running())
        assert (kept.failures, line.kept.failures) == ([], [])


@pytest.mark.parametrize("body", [[b"a" * 100, Cut()], b"x"])
def test_an_incomplete_body_fails_the_request(body: Any) -> None:
    """Ours: a length that is not reached, or a chunk that is not finished."""
    headers = {"Content-Type": "application/json", **({"Content-Length": "100"} if isinstance(body, bytes) else {})}

    with talking(lambda _: Answer(200, {**headers, "Connection": "close"}, body)) as (_, line):
        failure = line.ask("tools/call", name="t").failure()
        assert type(failure) is ConnectionLostError
        assert "in the middle of its answer to tools/call" in str(failure)


def test_a_large_response_may_be_json_or_an_event() -> None:
    """Ours: pictures and sound."""
    text = "a" * 5_000_000

    with talking(lambda asked: result(asked, text=text)) as (_, line):
        assert line.ask("tools/call", name="t").message()["result"]["text"] == text
    with talking(lambda asked: as_events(event(response(asked, text=text)))) as (_, line):
        assert line.ask("tools/call", name="t").message()["result"]["text"] == text


def test_an_initialize_refused_by_post_falls_back_to_http_and_sse() -> None:
    """Spec, HC-7: HTTP+SSE last; the same message is then sent to the endpoint that the stream names."""
    asked_initialize = threading.Event()

    def answer(asked: Asked) -> Answer:
        if asked.method == "GET":
            reply = event(jsonrpc.result(1, {"protocolVersion": "2024-11-05"}))
            return as_events(b"event: endpoint\ndata: /messages?s=1\n\n", asked_initialize, reply)
        if asked.path == "/mcp":
            return Answer(405)
        asked_initialize.set()
        return accepted()

    with talking(answer) as (web, line):
        line.send(initialize())
        assert "result" in line.kept.message()
        assert [(asked.method, asked.path) for asked in web.asked] == [
            ("POST", "/mcp"),
            ("GET", "/mcp"),
            ("POST", "/messages?s=1"),
        ]


def test_an_initialize_refused_by_both_transports_is_an_error() -> None:
    """Ours: the error is that of Streamable HTTP."""
    with talking(lambda asked: Answer(404 if asked.method == "POST" else 405)) as (_, line):
        line.send(initialize(), Deadline(ENOUGH_SECONDS))
        assert str(line.kept.failure()) == "server 'web' answered initialize with 404 Not Found"


@pytest.mark.parametrize(
    ("stream", "kind", "words"),
    [
        (
            as_events(b"event: endpoint\ndata: https://proxy.example/messages\n\n"),
            RemoteProtocolError,
            "https://proxy.example",
        ),
        (Answer(401), AuthorizationError, "authorization"),
    ],
)
def test_the_error_of_the_transport_that_got_furthest_is_reported(
    stream: Answer, kind: type[MCPError], words: str
) -> None:
    """Ours: the stream is there, so that the status of the first attempt says nothing about the URL."""
    with talking(lambda asked: Answer(405) if asked.method == "POST" else stream) as (web, line):
        line.send(initialize(), Deadline(ENOUGH_SECONDS))
        failure = line.kept.failure()
        assert type(failure) is kind
        assert words in str(failure)
        assert [asked.method for asked in web.asked] == ["POST", "GET"]


# Begun by the caller.


@pytest.mark.parametrize("is_event", [False, True])
def test_a_caller_reads_its_response_in_its_own_thread(is_event: bool) -> None:
    """Ours: two threads would have to be woken. What follows the response on a stream is read by another thread."""
    more = threading.Event()

    def answer(asked: Asked) -> Answer:
        own = response(asked)
        return as_events(event(own), more, event(progress(1))) if is_event else as_json(own)

    with talking(result) as (web, line):
        line.opened()
        web.answer = answer
        kept = line.kept
        assert line.call(2)["id"] == 2
        assert kept.threads[-1] is threading.current_thread()
        assert len(line.running()) == is_event
        more.set()
        wait_until(lambda: not line.running())
        assert len(kept.messages) == 2 + is_event
        assert (kept.threads[-1] is threading.current_thread()) is not is_event


def test_events_and_retries_are_processed_by_another_thread() -> None:
    """Ours: a caller that processes an event does not read, and a retry must not block it."""
    with talking(result) as (web, line):
        line.opened()
        web.answer = lambda asked: as_events(event(progress(1)), event(response(asked)))
        assert line.call(2)["id"] == 2
        assert [thread is threading.current_thread() for thread in line.kept.threads[-2:]] == [True, False]
        wait_until(lambda: not line.running())

        busy = [Answer(503, {"Retry-After": "0"})]
        web.answer = lambda asked: busy.pop() if busy else result(asked)
        assert line.call(3)["id"] == 3
        assert line.kept.threads[-1] is not threading.current_thread()


@pytest.mark.parametrize("is_event", [False, True])
def test_a_caller_does_not_wait_for_the_listener_of_another_message(is_event: bool) -> None:
    """Ours: it may take long, and the time of the caller is limited."""
    note = jsonrpc.notification("notifications/tools/list_changed", None)
    listening, may_go_on = threading.Event(), threading.Event()
    at_once = threading.Barrier(2)

    def answer(asked: Asked) -> Answer:
        if asked.message["method"] == "tools/list":
            at_once.wait(ENOUGH_SECONDS)
        if asked.message["method"] == "subscriptions/listen":
            return as_events(event(note), threading.Event())
        return as_events(event(response(asked))) if is_event else result(asked)

    def listener(value: Any, about: Any = None) -> None:
        if value == note:
            listening.set()
            may_go_on.wait(ENOUGH_SECONDS)
        else:
            received(value, about)

    with talking(answer) as (web, line):
        # Two connections, one of which is left.
        line.ask("tools/list", 0)
        line.ask("tools/list", 1).wait(2)
        wait_until(lambda: not line.running())
        received, line.kept.receive_message = line.kept.receive_message, listener  # type: ignore[method-assign]
        line.ask("subscriptions/listen", 2)
        assert listening.wait(ENOUGH_SECONDS)
        assert line.channel._lanes is not None
        assert line.channel._lanes._idle[-1].is_ready
        # When the response has been read, and the thread of the connection is to pass it on.
        assert line.call(3, ending_once(lambda: len(web.asked) == 4 and not line.channel._begun)) is None
        may_go_on.set()
        line.kept.wait(3)


def test_a_caller_begins_only_short_requests_that_may_be_interrupted() -> None:
    """Ours: a Ctrl-C closes the connection, which must cancel the request, and must not interrupt the renewal of a
    token; a request that the server does not read must not block its caller.
    """

    class Authorized(NoAuthorizer):
        def secrets(self) -> list[str]:
            return ["token"]

    def may_begin_here(message: dict[str, Any], length: int = MAX_HELD_BYTES, *, has_token: bool = False) -> bool:
        wire, _ = new_wire("http://127.0.0.1:1/mcp")
        if has_token:
            wire.authorizer = Authorized("web")
        exchange = Exchange(wire, None, message, b"x" * length, Deadline(1), "a request")  # type: ignore[arg-type]
        return exchange.may_begin_here

    stateless = jsonrpc.request(1, "tools/list", {"_meta": ENVELOPE})

    assert may_begin_here(stateless)
    assert {
        "too long": may_begin_here(stateless, MAX_HELD_BYTES + 1),
        "of the handshake era": may_begin_here(jsonrpc.request(1, "tools/list", {})),
        "a notification": may_begin_here(jsonrpc.notification("notifications/cancelled", {"_meta": ENVELOPE})),
        "with a token": may_begin_here(stateless, has_token=True),
    } == dict.fromkeys(("too long", "of the handshake era", "a notification", "with a token"), False)


TOOL = {"name": "t", "inputSchema": {"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}}

META = {**ENVELOPE, "progressToken": 4}

CALL = jsonrpc.request(4, "tools/call", {"name": "t", "arguments": {"a": "x"}, "_meta": META})


def refreshed(answer: Any) -> tuple[bool, list[Asked]]:
    """Whether the headers of the call have changed, and what was asked for that."""
    found: list[bool] = []

    class Work:
        is_given_up = False

        def run(self, lane: Lane) -> None:
            found.append(refresh_tools(lane, wire, CALL, Deadline(ENOUGH_SECONDS)))

    with serving(answer) as web:
        wire, _ = new_wire(web.url)
        lanes = Lanes(connections_to(wire.endpoint), "web")
        lanes.use(Work())
        lanes.close(PATIENCE_SECONDS)
        return found[0], web.asked


def test_all_pages_are_read_as_json_or_as_events() -> None:
    """Spec, HC-5: with the envelope of the call, but for what belongs to that alone."""

    def answer(asked: Asked) -> Answer:
        if "cursor" not in asked.message["params"]:
            return result(asked, tools=[], nextCursor="2")
        reply = jsonrpc.result(asked.message["id"], {"tools": [TOOL]})
        return as_events(b"data: no\n\n", event(jsonrpc.notification("x", None)), event(reply))

    is_other, asked = refreshed(answer)

    assert is_other
    first, second = (each.message for each in asked)
    assert first["params"] == {"_meta": ENVELOPE}
    assert second["params"] == {"cursor": "2", "_meta": ENVELOPE}
    assert isinstance(first["id"], str)
    assert first["id"] != second["id"]
    assert asked[0].headers["mcp-method"] == "tools/list"


def test_a_failed_or_empty_list_does_not_change_the_headers() -> None:
    """Ours: the server's error is reported then."""
    answers = [
        lambda asked: result(asked, tools=[]),
        always(as_json({"error": "x"}, 400)),
        always(Answer(500, {}, b"no")),
        always(as_events()),
    ]

    assert [refreshed(answer)[0] for answer in answers] == [False] * 4


def test_the_number_of_pages_is_limited() -> None:
    """Ours: the call waits; and a cursor that repeats itself ends the list."""
    assert len(refreshed(lambda asked: result(asked, tools=[], nextCursor="same"))[1]) == 2
    endless = refreshed(lambda asked: result(asked, tools=[], nextCursor=asked.message["id"]))[1]
    assert len(endless) == MAX_PAGES
