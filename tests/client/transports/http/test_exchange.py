"""A message is sent by POST, and what comes back is taken for what it is."""

from __future__ import annotations

import threading
import tracemalloc
from typing import Any

import pytest

from gaia_mcp.client.transports.http.auth.authorizer import NoAuthorizer
from gaia_mcp.client.transports.http.exchange import MAX_PAUSES, MAX_REDIRECTS, Exchange
from gaia_mcp.client.transports.http.network import MAX_HELD_BYTES
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import (
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
    as_events,
    as_json,
    ending_once_asked,
    error,
    event,
    handshake,
    new_wire,
    result,
    talking,
)
from tests.protocol_support import ENVELOPE
from tests.waiting import ENOUGH_SECONDS, wait_until

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
def test_a_long_response_is_in_memory_twice(is_event: bool) -> None:
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
def test_a_response_may_be_one_object(kind: str) -> None:
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


def test_the_connection_of_a_stream_that_ends_is_used_again() -> None:
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
def test_an_id_of_another_type_is_that_of_the_request(given: Any) -> None:
    """Mcp-wire 2.1: on HTTP the exchange tells what a response is to."""
    if given == 1.0:
        given = "1"
    with talking(lambda _: as_json({"jsonrpc": "2.0", "id": given, "result": OK})) as (_, line):
        assert line.ask("tools/list").message()["id"] == 1


def test_a_batch_is_taken_message_by_message() -> None:
    """Spec, LC-9: one revision has them."""
    with talking(lambda asked: as_json([progress(1), response(asked)])) as (_, line):
        line.ask("tools/list").wait(2)
        assert [about for _, about in line.kept.messages] == [1, 1]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
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
    ],
)
def test_a_success_without_a_response_is_the_servers_fault(answer: Answer, problem: str) -> None:
    """Mcp-wire Q26: it fails at once, and says what came instead."""
    with talking(lambda _: answer) as (_, line):
        kept = line.ask("tools/list")
        wait_until(lambda: bool(kept.failures))
        ((_, failure),) = kept.failures
        assert type(failure) is RemoteProtocolError
        assert problem in str(failure)


@pytest.mark.parametrize("pieces", [(), (event(progress(1)),), (b"data: {",), (event(progress(1)), Cut())])
def test_a_stream_that_ends_without_the_response_loses_the_request(pieces: tuple[Any, ...]) -> None:
    """Spec, HC-6: there is no resumption in the stateless era."""
    with talking(lambda _: as_events(*pieces)) as (web, line):
        kept = line.ask("tools/call", name="t")
        wait_until(lambda: bool(kept.failures))
        ((about, failure),) = kept.failures
        assert (about, type(failure)) == (1, ConnectionLostError)
        assert len(web.asked) == 1


def test_what_is_no_json_on_a_stream_is_reported_and_read_over() -> None:
    """Ours: the conversation knows what to make of it."""
    with talking(lambda asked: as_events(b"data: hi\n\n", event(response(asked)))) as (_, line):
        line.ask("tools/list").wait(2)
        assert line.kept.records == [(b"hi", 1)]
        assert len(line.kept.messages) == 1


def test_a_stream_that_goes_on_after_its_response_is_given_up_for_others() -> None:
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


def test_the_end_of_a_subscription_is_an_error_in_response_to_it() -> None:
    """Spec, subscriptions: no caller waits for its end, and changes may be lost from then on."""
    with talking(lambda _: as_events(event(progress(1)))) as (_, line):
        line.ask("subscriptions/listen", 3).wait(2)
        ended, about = line.kept.messages[-1]
        assert (about, ended["id"], ended["error"]["code"]) == (3, 3, jsonrpc.INTERNAL_ERROR)


# Errors of JSON-RPC.


@pytest.mark.parametrize(
    ("body", "text"),
    [({"detail": "a text"}, "a text"), ({"detail": [{"msg": "x"}]}, '[{"msg": "x"}]'), ([], None), ({}, None)],
)
def test_the_reason_of_a_status_for_parameters_is_an_error_in_response(body: Any, text: str | None) -> None:
    """Spec, C2: FastAPI's, at whose status there is no JSON-RPC."""
    with talking(lambda _: as_json(body, 422)) as (_, line):
        kept = line.ask("tools/call", name="t")

        if text is None:
            assert "422" in kept.failure().message
        else:
            assert kept.message()["error"] == {"code": -32602, "message": text}


@pytest.mark.parametrize("status", [200, 400, 403, 404, 500])
@pytest.mark.parametrize("given", [1, None, "server-error"])
def test_an_error_is_read_at_any_status(status: int, given: Any) -> None:
    """Spec, HC-8: and belongs to the request whatever its id."""
    body = {"jsonrpc": "2.0", "id": given, "error": {"code": -32602, "message": "no"}}

    with talking(lambda _: as_json(body, status)) as (_, line):
        assert line.ask("tools/call", name="t").message() == {**body, "id": 1}


def test_a_call_whose_headers_are_refused_is_sent_again_with_those_of_the_newest_tools() -> None:
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


def test_headers_that_stay_as_they_were_are_refused_once() -> None:
    """Ours: the server's error is reported."""

    def answer(asked: Asked) -> Answer:
        if asked.message["method"] == "tools/list":
            return result(asked, tools=[])
        return error(asked, jsonrpc.HEADER_MISMATCH, "Header mismatch")

    with talking(answer) as (web, line):
        assert line.ask("tools/call", name="t").message()["error"]["code"] == jsonrpc.HEADER_MISMATCH
        assert web.methods() == ["tools/call", "tools/list"]


# Statuses.


@pytest.mark.parametrize("status", [400, 404, 405, 406, 415])
@pytest.mark.parametrize("body", [b"", b"<html>no</html>", b'{"detail":"no"}'])
def test_a_refused_probe_means_the_handshake(status: int, body: bytes) -> None:
    """Spec, HC-7 and DE-2: whatever an older server says to a request that it does not know."""
    with talking(lambda _: Answer(status, {}, body)) as (_, line):
        assert line.ask("server/discover", "d").message()["error"]["code"] == jsonrpc.METHOD_NOT_FOUND


@pytest.mark.parametrize("status", [403, 407, 408, 429, 500, 502, 503])
def test_access_load_and_failure_mean_nothing_about_the_era(status: int) -> None:
    """Mcp-wire 1.4: they are errors."""
    with talking(lambda _: Answer(status)) as (_, line):
        assert isinstance(line.ask("server/discover", "d").failure(), (StatusError, ConnectionLostError))


@pytest.mark.parametrize(
    ("way", "status", "case"), [("http", 405, "not-http"), ("http", 404, "http-404"), (None, 405, "http-405")]
)
def test_a_server_that_is_not_of_streamable_http_is_reported(way: str | None, status: int, case: str) -> None:
    """Ours: where the other transport is not looked for; a path that is wrong is not taken for that."""
    with talking(lambda _: Answer(status), way) as (_, line):
        line.send(initialize())
        assert line.kept.failure().case == case


@pytest.mark.parametrize(
    ("status", "kind"),
    [(400, StatusError), (404, StatusError), (413, StatusError), (500, ConnectionLostError), (501, StatusError)],
)
def test_a_status_is_reported_with_whether_something_may_have_been_done(status: int, kind: type[MCPError]) -> None:
    """Ours: after a failure of the server a tool may have run; after a refusal not."""
    with talking(lambda _: Answer(status, {}, b"why not")) as (_, line):
        failure = line.ask("tools/call", name="t").failure()
        assert type(failure) is kind
        assert f"with {status} " in str(failure)
        assert "why not" in str(failure)
        assert failure.facts == {"status": status}


def test_a_server_that_requires_authorization_is_reported_as_that() -> None:
    """Ours: the authorizer knows what to do."""
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
def test_a_request_is_repeated_with_what_the_challenge_brought(status: int) -> None:
    """Spec, AC-10: and refused in the end if that does not help."""

    def answer(asked: Asked) -> Answer:
        return result(asked) if asked.headers["authorization"] == "Bearer 1" else Answer(status)

    with talking(answer, authorizer=Renewing()) as (_, line):
        assert "result" in line.ask("tools/call", name="t").message()
    with talking(lambda _: Answer(status), authorizer=Renewing()) as (web, line):
        assert type(line.ask("tools/call", name="t").failure()) is StatusError
        assert [asked.headers["authorization"] for asked in web.asked] == ["Bearer 0", "Bearer 1", "Bearer 2"]


# Patience.


@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("when", ["0", "Mon, 23 Nov 2020 02:48:29 GMT"])
def test_a_busy_server_is_asked_again_when_it_wants_to_be(status: int, when: str) -> None:
    """HTTP: `Retry-After` holds seconds, or a date."""
    answers = [Answer(status, {"Retry-After": when})] * 2

    with talking(lambda asked: answers.pop() if answers else result(asked)) as (_, line):
        assert "result" in line.ask("tools/call", name="t").message()


@pytest.mark.parametrize("when", ["3600", "soon", "", "-1"])
def test_a_server_that_stays_busy_longer_than_there_is_time_is_reported(when: str) -> None:
    """Ours: at once, and not when time has run out."""
    with talking(lambda _: Answer(503, {"Retry-After": when})) as (web, line):
        assert type(line.ask("tools/call", name="t").failure()) is StatusError
        assert len(web.asked) == 1


def test_a_server_that_is_always_busy_is_asked_only_so_often() -> None:
    """Ours: the caller waits meanwhile."""
    with talking(lambda _: Answer(429, {"Retry-After": "0"})) as (web, line):
        assert type(line.ask("tools/call", name="t").failure()) is StatusError
        assert len(web.asked) == MAX_PAUSES + 1


def test_a_pause_ends_with_the_channel() -> None:
    """Ours: nothing is left behind."""
    with talking(lambda _: Answer(503, {"Retry-After": "15"})) as (web, line):
        line.ask("tools/call", name="t")
        wait_until(lambda: any(exchange._pauses for exchange in line.running()))
    assert len(web.asked) == 1
    assert line.kept.failures == []


# Redirects.


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_of_the_same_origin_is_followed_with_the_message(status: int) -> None:
    """Mcp-wire Q18: and the next message goes there at once."""

    def answer(asked: Asked) -> Answer:
        return result(asked) if asked.path == "/mcp/" else Answer(status, {"Location": "/mcp/"})

    with talking(answer) as (web, line):
        line.ask("tools/call", 1, name="t").wait()
        line.ask("tools/call", 2, name="t").wait(2)
        assert line.kept.failures == []
        assert [asked.path for asked in web.asked] == ["/mcp", "/mcp/", "/mcp/"]
        assert web.asked[0].message == web.asked[1].message


@pytest.mark.parametrize(
    ("status", "place"),
    [(301, "/mcp/"), (302, "/login"), (303, "/mcp/"), (307, "http://127.0.0.2/mcp"), (307, ""), (308, "ftp://x/")],
)
def test_another_redirect_is_an_error(status: int, place: str) -> None:
    """Spec, AC-9: nothing that is for this origin goes to another one; and no message becomes a GET."""
    with talking(lambda _: Answer(status, {"Location": place} if place else {}), headers={"X-Key": "hunter22"}) as (
        web,
        line,
    ):
        failure = line.ask("tools/call", name="t").failure()
        assert type(failure) is StatusError
        assert f"redirects to {place or 'nowhere'}"[:20] in str(failure)
        assert len(web.asked) == (MAX_REDIRECTS + 1 if not place else 1)


def test_a_circle_of_redirects_ends() -> None:
    """Ours: after as many as anyone needs."""
    with talking(lambda _: Answer(307, {"Location": "/mcp"})) as (web, line):
        assert type(line.ask("tools/call", name="t").failure()) is StatusError
        assert len(web.asked) == MAX_REDIRECTS + 1


# Sessions.


@pytest.mark.parametrize(("status", "body"), [(404, b""), (400, b'{"error":"No valid Session ID"}')])
def test_a_session_that_is_gone_is_reported_as_that(status: int, body: bytes) -> None:
    """Spec, LC-6: nothing has been done; others that wait may have lost something."""
    with talking(handshake(lambda _: Answer(status, {}, body))) as (_, line):
        line.send(initialize())
        line.kept.wait()
        line.send(jsonrpc.request(2, "tools/list", {}))
        wait_until(lambda: bool(line.kept.ends))
        ((about, failure),) = line.kept.failures
        assert (about, type(failure)) == (2, SessionExpiredError)
        assert type(line.kept.ends[0]) is ConnectionLostError
        assert not line.channel.is_running()


def test_nothing_more_is_sent_in_a_session_once_its_loss_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spec, LC-6: the caller that is told so asks again at once, on another thread."""
    with talking(handshake(lambda _: Answer(404))) as (_, line):
        line.send(initialize())
        line.kept.wait()
        running: list[bool] = []
        monkeypatch.setattr(line.kept, "request_failed", lambda *_: running.append(line.channel.is_running()))
        line.send(jsonrpc.request(2, "tools/list", {}))
        wait_until(lambda: bool(line.kept.ends))
        assert running == [False]


def test_a_client_that_has_no_session_has_none_to_lose() -> None:
    """Spec, LC-6: 404 is an address that does not exist then."""
    with talking(handshake(lambda _: Answer(404), session="")) as (_, line):
        line.send(initialize())
        line.kept.wait()
        line.send(jsonrpc.request(2, "tools/list", {}))
        wait_until(lambda: bool(line.kept.failures))
        assert type(line.kept.failures[0][1]) is StatusError
        assert line.channel.is_running()


# Resumption.


def test_a_stream_that_ends_early_is_read_on_from_its_last_event() -> None:
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


@pytest.mark.parametrize("answer", [accepted(), Answer(200, {}, b"{}"), Answer(204), Answer(200, {}, (b"a",))])
def test_a_notification_is_sent_when_the_server_has_accepted_it(answer: Answer) -> None:
    """Spec, LS-3: any success will do, whatever its body."""
    with talking(lambda _: answer) as (web, line):
        line.send(jsonrpc.notification("notifications/x", None))
        assert web.methods() == ["notifications/x"]
        assert line.kept.messages == []


def test_a_notification_that_is_refused_raises() -> None:
    """Ours: its sender waits for no response that would tell."""
    with talking(lambda _: Answer(400)) as (_, line), pytest.raises(StatusError):
        line.send(jsonrpc.notification("notifications/x", None))


# Faults.


def test_what_cannot_be_sent_is_our_fault() -> None:
    """Ours: also a bug ends the request, and not its caller's patience."""

    class Broken(NoAuthorizer):
        def headers(self, method: str, url: str, deadline: Deadline) -> dict[str, str]:
            raise KeyError("bug")

    with talking(accepted, authorizer=Broken("web")) as (_, line):  # type: ignore[arg-type]
        assert type(line.ask("tools/list").failure()) is LocalProtocolError


def test_a_failure_after_the_response_is_nobodys() -> None:
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
def test_a_cut_body_loses_the_request(body: Any) -> None:
    """Ours: a length that is not reached, or a chunk that is not finished."""
    headers = {"Content-Type": "application/json", **({"Content-Length": "100"} if isinstance(body, bytes) else {})}

    with talking(lambda _: Answer(200, {**headers, "Connection": "close"}, body)) as (_, line):
        failure = line.ask("tools/call", name="t").failure()
        assert type(failure) is ConnectionLostError
        assert "in the middle of its answer to tools/call" in str(failure)


def test_a_large_response_passes_as_an_object_and_as_an_event() -> None:
    """Ours: pictures and sound."""
    text = "a" * 5_000_000

    with talking(lambda asked: result(asked, text=text)) as (_, line):
        assert line.ask("tools/call", name="t").message()["result"]["text"] == text
    with talking(lambda asked: as_events(event(response(asked, text=text)))) as (_, line):
        assert line.ask("tools/call", name="t").message()["result"]["text"] == text


def test_an_initialize_that_is_refused_by_post_leads_to_the_stream_of_an_older_server() -> None:
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


def test_an_initialize_that_nothing_takes_is_refused() -> None:
    """Ours: the error is that of Streamable HTTP."""
    with talking(lambda asked: Answer(404 if asked.method == "POST" else 405)) as (_, line):
        line.send(initialize(), Deadline(ENOUGH_SECONDS))
        assert str(line.kept.failure()) == "server 'web' answered initialize with 404 Not Found"


# Begun by the caller.


@pytest.mark.parametrize("is_event", [False, True])
def test_a_caller_reads_its_response_by_itself(is_event: bool) -> None:
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


def test_what_takes_longer_is_done_by_another_thread() -> None:
    """Ours: a caller that has an event to process is not the one that reads, nor is one that has to repeat it all."""
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
        assert line.call(3, ending_once_asked(web, 4)) is None
        may_go_on.set()
        line.kept.wait(3)


@pytest.mark.parametrize(
    "kind",
    ["short", "long", "handshake", "notification", "with a token"],
)
def test_a_caller_begins_only_what_is_short_and_may_be_cut_off(kind: str) -> None:
    """Ours: a Ctrl-C closes the connection, which must cancel the request, and must not interrupt the renewal of a
    token; a request that the server does not read must not block its caller.
    """
    params: dict[str, Any] = {"_meta": ENVELOPE} if kind != "handshake" else {}
    message = jsonrpc.request(1, "tools/list", params)
    if kind == "notification":
        message = jsonrpc.notification("notifications/cancelled", params)

    class Authorized(NoAuthorizer):
        def secrets(self) -> list[str]:
            return ["token"]

    wire, _ = new_wire("http://127.0.0.1:1/mcp")
    if kind == "with a token":
        wire.authorizer = Authorized("web")
    record = b"x" * (MAX_HELD_BYTES + (kind == "long"))
    exchange = Exchange(wire, None, message, record, Deadline(1), "a request")  # type: ignore[arg-type]

    assert exchange.may_begin_here is (kind == "short")
