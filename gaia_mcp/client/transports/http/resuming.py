"""Resuming streams that were cut off, in the handshake era: from the last event on (LC-8)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

from gaia_mcp.client.transports.http import wire as bodies
from gaia_mcp.client.transports.http.connections import TRANSPORT_ERRORS

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.connections import Response
    from gaia_mcp.client.transports.http.lanes import Lane
    from gaia_mcp.client.transports.http.wire import Wire
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.protocol.sse import EventParser

# The default if the server names no time, as in the SDKs of the specification.
RETRY_MS = 1000
# A server that asks for no pause would be polled without end.
SHORTEST_RETRY_MS = 50
# Consecutive attempts without a new event.
MAX_RESUMPTIONS = 5
# The longest pause that a server may ask for.
LONGEST_RETRY_MS = 60_000
MAX_DOUBLINGS = 11


def pause_seconds(parser: EventParser, failures: int = 0) -> float:
    """How long to wait before a stream is requested again: as the server asks, and longer after several consecutive
    `failures`.
    """
    wished = RETRY_MS if parser.retry_ms is None else max(parser.retry_ms, SHORTEST_RETRY_MS)
    return min(wished << min(max(failures - 1, 0), MAX_DOUBLINGS), LONGEST_RETRY_MS) / 1000


def resume(
    lane: Lane,
    wire: Wire,
    deadline: Deadline,
    parser: EventParser,
    read_events: Callable[[Response, EventParser], bool],
) -> None:
    """Resume after the last event of `parser`, until `read_events` returns True or the server has no such stream.

    Raises `InterruptedExchangeError` if the exchange is cancelled meanwhile, and as `Wire.stream_headers` does.
    """
    left = MAX_RESUMPTIONS
    while left:
        left -= 1
        lane.pause(pause_seconds(parser))
        last_id = parser.last_id
        try:
            headers = wire.stream_headers("GET", deadline, last_id)
            response = lane.open("GET", wire.url, headers, None, deadline.remaining())
            with closing(response):
                if response.status_code != 200 or bodies.kind_of(response) != bodies.EVENTS:
                    return
                # An event that was cut off will be sent again.
                parser = parser.resumed()
                if read_events(response, parser):
                    return
        except TRANSPORT_ERRORS:
            lane.check()
        if parser.last_id != last_id:
            left = MAX_RESUMPTIONS
