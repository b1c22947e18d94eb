"""Streams that have ended before their time, in the handshake era: they are read on from the last event (LC-8)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

from gaia_mcp.client.transports.http import bodies
from gaia_mcp.client.transports.http.connections import TRANSPORT_ERRORS
from gaia_mcp.client.transports.http.lanes import InterruptedExchangeError

if TYPE_CHECKING:
    import threading

    from gaia_mcp.client.transports.http.connections import Response
    from gaia_mcp.client.transports.http.lanes import Lane
    from gaia_mcp.client.transports.http.wire import Wire
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.protocol.sse import EventParser

# Where the server names no time: that of the specification's SDKs.
RETRY_MS = 1000
# A server that names no pause at all would be asked without end.
SHORTEST_RETRY_MS = 50
# In a row, without a new event between them.
MAX_RESUMPTIONS = 5
# No server wants a client back later than this.
LONGEST_RETRY_MS = 60_000
MAX_DOUBLINGS = 11


def pause_seconds(parser: EventParser, failures: int = 0) -> float:
    """How long to wait before a stream is asked for again: as its server wishes, and longer after the second of several
    `failures` in a row.
    """
    wished = RETRY_MS if parser.retry_ms is None else max(parser.retry_ms, SHORTEST_RETRY_MS)
    return min(wished << min(max(failures - 1, 0), MAX_DOUBLINGS), LONGEST_RETRY_MS) / 1000


def resume(
    lane: Lane,
    wire: Wire,
    deadline: Deadline,
    parser: EventParser,
    given_up: threading.Event,
    read_events: Callable[[Response, EventParser], bool],
) -> None:
    """Read on after the last event of `parser`, until `read_events` returns True or the server has no such stream.

    Raises `InterruptedExchangeError` if it is given up meanwhile, and as `Wire.stream_headers` does.
    """
    left = MAX_RESUMPTIONS
    while left:
        left -= 1
        if given_up.wait(pause_seconds(parser)):
            raise InterruptedExchangeError
        last_id = parser.last_id
        try:
            headers = wire.stream_headers("GET", deadline, last_id)
            response = lane.open("GET", wire.url, headers, None, deadline.remaining())
            with closing(response):
                if response.status_code != 200 or bodies.kind_of(response) != bodies.EVENTS:
                    return
                # What was begun when the stream broke will be sent again.
                parser = parser.resumed()
                if read_events(response, parser):
                    return
        except TRANSPORT_ERRORS:
            lane.check()
        if parser.last_id != last_id:
            left = MAX_RESUMPTIONS
