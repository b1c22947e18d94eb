"""Streams that a client opens by GET."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.transports.http import wire as bodies
from gaia_mcp.client.transports.http.auth import NoAuthorizer
from gaia_mcp.client.transports.http.connections import InterruptedExchangeError
from gaia_mcp.client.transports.http.streams import MAX_RESUMPTIONS, OptionalStream, ServerStream, pause_seconds, resume
from gaia_mcp.client.transports.http.worker_connections import Lane, Lanes
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import (
    AuthorizationError,
    ConnectError,
    ConnectionLostError,
    MCPError,
    RemoteProtocolError,
    StatusError,
)
from gaia_mcp.protocol import jsonrpc
from gaia_mcp.protocol.sse import EventParser
from tests.client.transports.http.web import (
    Answer,
    Asked,
    Cut,
    always,
    as_events,
    as_json,
    connections_to,
    event,
    new_wire,
    noting,
    serving,
)
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.connections import Response

ENDPOINT = b"event: endpoint\ndata: /messages?s=1\n\n"
NOTE = jsonrpc.notification("notifications/tools/list_changed", None)


class Streaming:
    """A stream of a server that answers so, from its start to the end of the `with`."""

    def __init__(self, answer: Any, *, is_optional: bool = False, url: str = "") -> None:
        self.answer = answer
        self.is_optional = is_optional
        self.url = url
        self.ends: list[MCPError] = []

    def __enter__(self) -> Streaming:
        self.serving = serving(self.answer)
        self.web = self.serving.__enter__()
        self.wire, self.kept = new_wire(self.url or self.web.url)
        self.lanes = Lanes(connections_to(self.wire.endpoint), "web")
        deadline = Deadline(ENOUGH_SECONDS)
        self.stream = ServerStream(self.wire, deadline, self.ends.append)
        self.optional = OptionalStream(self.wire, 5)
        self.lane = self.lanes.use(self.optional if self.is_optional else self.stream)
        return self

    def __exit__(self, *problem: Any) -> None:
        self.lane.interrupt(self.optional if self.is_optional else self.stream)
        self.lanes.close(PATIENCE_SECONDS)
        self.serving.__exit__(*problem)

    def failure(self) -> MCPError | None:
        assert self.stream.known.wait(PATIENCE_SECONDS)
        return self.stream.failure


# HTTP+SSE.


def test_the_endpoint_event_sets_the_url_and_messages_arrive_on_the_stream() -> None:
    """Spec, HTTP+SSE: what comes before the endpoint, or has another name, means nothing."""
    note = event(NOTE)

    with Streaming(lambda _: as_events(note, ENDPOINT, b"event: x\ndata: {}\n\n", note, ENDPOINT)) as streaming:
        assert streaming.failure() is None
        assert streaming.wire.url == f"{streaming.web.origin}/messages?s=1"
        assert streaming.wire.answers_on_stream
        wait_until(lambda: bool(streaming.ends))
        assert streaming.kept.messages == [(NOTE, None)]
        assert type(streaming.ends[0]) is ConnectionLostError


def test_an_interrupted_sse_stream_ends_the_connection() -> None:
    """Spec, HTTP+SSE: it is the session."""
    with Streaming(lambda _: as_events(ENDPOINT, Cut())) as streaming:
        assert streaming.failure() is None
        wait_until(lambda: bool(streaming.ends))


def test_closing_the_stream_is_not_reported() -> None:
    """Ours: the channel knows."""
    with Streaming(lambda _: as_events(ENDPOINT, threading.Event())) as streaming:
        assert streaming.failure() is None
    assert streaming.ends == []


def test_a_stream_interrupted_before_it_begins_sends_nothing() -> None:
    """Ours: the channel may be closed meanwhile."""
    with serving(lambda _: as_events(ENDPOINT)) as web:
        wire, _ = new_wire(web.url)
        lanes = Lanes(connections_to(wire.endpoint), "web")
        stream = ServerStream(wire, Deadline(ENOUGH_SECONDS), lambda _: None)
        stream.is_given_up = True
        lanes.use(stream)
        lanes.close(PATIENCE_SECONDS)
        assert stream.failure is not None
        assert web.asked == []


def test_a_stream_may_be_interrupted_before_the_endpoint_event() -> None:
    """Ours: before an endpoint was named."""
    with Streaming(lambda _: as_events(threading.Event())) as streaming:
        wait_until(lambda: bool(streaming.web.asked))
    assert streaming.stream.known.is_set()
    assert streaming.ends == []


NO_STREAM = [
    (Answer(404), StatusError, "404"),
    (Answer(500), ConnectionLostError, "500"),
    (Answer(401), AuthorizationError, "authorization"),
    (Answer(403), StatusError, "403"),
    (Answer(307, {"Location": "http://127.0.0.2/sse"}), StatusError, "redirects to http://127.0.0.2/sse"),
    (Answer(302, {"Location": "/login"}), StatusError, "302"),
    (Answer(200, {"Content-Type": "text/html"}, b"<html>"), RemoteProtocolError, "HTML page"),
    (as_json({}), RemoteProtocolError, "JSON"),
    (as_events(), RemoteProtocolError, "without naming an endpoint"),
    (as_events(event(NOTE)), RemoteProtocolError, "without naming an endpoint"),
    (as_events(b"event: endpoint\ndata: http://127.0.0.2/x\n\n"), RemoteProtocolError, "at http://127.0.0.2, which"),
]


def test_a_server_without_an_sse_stream_is_reported_with_the_reason() -> None:
    """Ours: the status, the redirect or the content that was sent instead."""
    wrong = []
    for answer, kind, words in NO_STREAM:
        with noting(answer), Streaming(always(answer)) as streaming:
            failure = streaming.failure()
            if type(failure) is not kind or words not in str(failure):
                wrong.append((answer, failure))

    assert not wrong


def test_an_unreachable_server_is_reported() -> None:
    """Ours: as for a request."""
    with Streaming(lambda _: Answer(), url="http://server.invalid/sse") as streaming:
        assert type(streaming.failure()) is ConnectError


def test_a_redirect_of_the_same_origin_is_followed() -> None:
    """Mcp-wire Q18."""

    def answer(asked: Asked) -> Answer:
        return as_events(ENDPOINT) if asked.path == "/mcp/" else Answer(308, {"Location": "/mcp/"})

    with Streaming(answer) as streaming:
        assert streaming.failure() is None


def test_a_stream_is_requested_again_with_the_token_that_a_challenge_leads_to() -> None:
    """Spec, AC-9: on every request."""

    class Renewing(NoAuthorizer):
        tokens = 0

        def headers(self, method: str, url: str, deadline: Deadline) -> dict[str, str]:
            return {"Authorization": f"Bearer {self.tokens}"}

        def challenged(self, response: Any, deadline: Deadline) -> bool:
            self.tokens += 1
            return True

    def answer(asked: Asked) -> Answer:
        return as_events(ENDPOINT) if asked.headers.get("authorization") == "Bearer 1" else Answer(401)

    with serving(answer) as web:
        wire, _ = new_wire(web.url)
        wire.authorizer = Renewing("web")
        lanes = Lanes(connections_to(wire.endpoint), "web")
        stream = ServerStream(wire, Deadline(ENOUGH_SECONDS), lambda _: None)
        lanes.use(stream)
        assert stream.known.wait(PATIENCE_SECONDS)
        lanes.close(PATIENCE_SECONDS)
    assert stream.failure is None


# The optional stream.


def test_a_server_without_an_optional_stream_is_asked_once() -> None:
    """Mcp-wire Q16: that is never an error."""
    for answer in [
        Answer(405),
        Answer(404),
        Answer(400),
        Answer(200, {"Content-Type": "text/html"}, b"<html>"),
        as_json({}),
    ]:
        with noting(answer), Streaming(always(answer), is_optional=True) as streaming:
            wait_until(streaming.lanes._idle.__len__)
            assert len(streaming.web.asked) == 1
            assert streaming.kept.messages == []


def test_messages_on_the_optional_stream_belong_to_no_request() -> None:
    """Spec, LC-8: and it is read on after its last event."""
    answers = [
        as_events(event(NOTE, "2"), threading.Event()),
        as_events(b"retry: 1\n", event(NOTE, "1"), b"event: x\ndata: y\n\n"),
    ]

    with Streaming(lambda _: answers.pop(), is_optional=True) as streaming:
        streaming.kept.wait(2)
        assert streaming.kept.messages == [(NOTE, None)] * 2
        assert [asked.headers.get("last-event-id") for asked in streaming.web.asked] == [None, "1"]


def test_an_interrupted_optional_stream_is_requested_again() -> None:
    """Ours: less and less often, until it is no longer wanted."""
    with Streaming(lambda _: as_events(b"retry: 1\n\n", Cut()), is_optional=True) as streaming:
        wait_until(lambda: len(streaming.web.asked) > 3)


def test_each_connection_of_the_optional_stream_has_its_own_deadline() -> None:
    """Ours: it may last for days, and its server be started again in between."""
    deadlines: list[Deadline] = []

    class Noting(NoAuthorizer):
        def headers(self, method: str, url: str, deadline: Deadline) -> dict[str, str]:
            deadlines.append(deadline)
            return {}

    with Streaming(lambda _: as_events(b"retry: 1\n\n"), is_optional=True) as streaming:
        streaming.wire.authorizer = Noting("web")
        wait_until(lambda: len(deadlines) > 1)
    assert deadlines[0] is not deadlines[1]


def test_an_authorization_error_ends_the_optional_stream() -> None:
    """Ours: the requests report it."""

    class Refusing(NoAuthorizer):
        def headers(self, method: str, url: str, deadline: Deadline) -> dict[str, str]:
            raise AuthorizationError("web", "requires authorization")

    wire, kept = new_wire("http://server.invalid/mcp")
    wire.authorizer = Refusing("web")
    OptionalStream(wire, 5).run(None)  # type: ignore[arg-type]
    assert kept.failures == []


BEGUN = b"id: 0\nretry: 1\ndata: \n\n"


class Resuming:
    """Reads on, until an event "end"."""

    def __init__(self, wire: Any, begun: bytes) -> None:
        self.is_given_up = False
        self.wire = wire
        self.parser = EventParser()
        self.parser.feed(begun)
        self.seen: list[bytes] = []
        self.problem: Exception | None = None

    def run(self, lane: Lane) -> None:
        try:
            resume(lane, self.wire, Deadline(ENOUGH_SECONDS), self.parser, self.read)
        except Exception as problem:
            self.problem = problem

    def read(self, response: Response, parser: EventParser) -> bool:
        for received in bodies.events(response, parser, "web"):
            self.seen.append(received.data)
        return b"end" in self.seen


def resumed(answer: Any, begun: bytes = BEGUN, *, is_given_up: bool = False) -> tuple[Resuming, list[str]]:
    """What was read, and after which event each time."""
    with serving(answer) as web:
        wire, _ = new_wire(web.url)
        work = Resuming(wire, begun)
        lanes = Lanes(connections_to(wire.endpoint), "web")
        work.is_given_up = is_given_up
        lanes.use(work)
        lanes.close(PATIENCE_SECONDS)
        assert all(asked.method == "GET" for asked in web.asked)
        return work, [asked.headers["last-event-id"] for asked in web.asked]


def test_each_resumption_continues_after_the_newest_event() -> None:
    """Spec, LC-8: what was begun when it broke is sent again."""
    answers = [as_events(b"id: 2\ndata: end\n\n"), as_events(b"id: 1\ndata: a\n\nid: x\ndata: b", Cut())]

    work, after = resumed(lambda _: answers.pop())

    assert (work.seen, after) == ([b"a", b"end"], ["0", "1"])


@pytest.mark.parametrize("answer", [Answer(405), Answer(404), Answer(200, {}, b"{}")])
def test_a_server_without_resumption_is_asked_once(answer: Answer) -> None:
    """Mcp-wire Q16: the request is lost then."""
    work, after = resumed(lambda _: answer)
    assert (work.seen, after) == ([], ["0"])


def test_the_number_of_resumptions_without_a_new_event_is_limited() -> None:
    """Ours: a server that repeats itself is not asked without end."""
    assert len(resumed(lambda _: as_events())[1]) == MAX_RESUMPTIONS


def test_an_interrupted_connection_counts_as_a_resumption() -> None:
    """Ours: the server may be starting again."""
    assert len(resumed(lambda _: as_events(b": x\n", Cut()))[1]) == MAX_RESUMPTIONS


# The wish of the server in milliseconds, the connections that failed, and the seconds to wait.
PAUSES = {
    (None, 0): 1.0,
    (None, 3): 4.0,
    (500, 0): 0.5,
    (500, 1): 0.5,
    (0, 0): 0.05,
    (0, 10**6): 60.0,
    (10**9, 1): 60.0,
}


def test_the_pause_follows_retry_within_limits() -> None:
    """Spec, LC-8, `retry`. Ours: one that wishes for no pause at all would keep a processor busy."""

    def seconds_after(wished: int | None, failures: int) -> float:
        parser = EventParser()
        parser.retry_ms = wished
        return pause_seconds(parser, failures)

    assert {row: seconds_after(*row) for row in PAUSES} == PAUSES


def test_the_pause_ends_when_the_request_is_interrupted() -> None:
    """Ours: at once."""
    work, after = resumed(lambda _: as_events(), b"id: 0\nretry: 99999999\ndata: \n\n", is_given_up=True)
    assert type(work.problem) is InterruptedExchangeError
    assert after == []


def test_the_stream_is_resumed_without_a_retry_field() -> None:
    """Ours: as the specification's SDKs do."""
    work, after = resumed(lambda _: as_events(b"data: end\n\n"), b"id: 0\ndata: \n\n")
    assert (work.seen, after) == ([b"end"], ["0"])
