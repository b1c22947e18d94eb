"""Streams are read on from their last event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.transports.http import wire as bodies
from gaia_mcp.client.transports.http.connections import InterruptedExchangeError
from gaia_mcp.client.transports.http.lanes import Lane, Lanes
from gaia_mcp.client.transports.http.resuming import MAX_RESUMPTIONS, pause_seconds, resume
from gaia_mcp.deadline import Deadline
from gaia_mcp.protocol.sse import EventParser
from tests.client.transports.http.web import Answer, Cut, as_events, connections_to, new_wire, serving
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.connections import Response
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
        for event in bodies.events(response, parser, "web"):
            self.seen.append(event.data)
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
