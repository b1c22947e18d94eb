"""Streams that a client opens with GET: the one of HTTP+SSE, on which everything arrives; the optional one of
Streamable HTTP in the handshake era, on which a server sends messages that belong to no request; and the one that
resumes a stream that was cut off, from the last event on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import closing, suppress
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from gaia_mcp.client.transports.http import wire as bodies
from gaia_mcp.client.transports.http.connections import (
    TRANSPORT_ERRORS,
    InterruptedExchangeError,
    Response,
    same_origin,
    shown_origin,
)
from gaia_mcp.client.transports.http.failures import failure_of, lost, not_mcp, redirected, refused
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import MCPError, RemoteProtocolError
from gaia_mcp.protocol.sse import EventParser

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.wire import Wire
    from gaia_mcp.client.transports.http.worker_connections import Lane

_STAGE = "the request for its event stream"
# The default if the server names no time, as in the SDKs of the specification.
RETRY_MS = 1000
# A server that asks for no pause would be polled without end.
SHORTEST_RETRY_MS = 50
# Consecutive attempts without a new event.
MAX_RESUMPTIONS = 5
# The longest pause that a server may ask for.
LONGEST_RETRY_MS = 60_000
MAX_DOUBLINGS = 11


class ServerStream:
    """The stream of HTTP+SSE. `known` is set once it is known whether the server has one; `failure` is then the reason
    if it has none. `has_other_origin` tells that it has one, which leads to another origin.

    `on_end` is called when an open stream has ended.
    """

    def __init__(self, wire: Wire, deadline: Deadline, on_end: Callable[[MCPError], None]) -> None:
        self.is_given_up = False
        self.known = threading.Event()
        self.failure: MCPError | None = None
        self.has_other_origin = False
        self._wire = wire
        self._deadline = deadline
        self._on_end = on_end

    def run(self, lane: Lane) -> None:
        wire = self._wire
        reason: MCPError = lost(wire.endpoint.server, "anything more")
        try:
            while self._goes_on(lane):
                pass
        except InterruptedExchangeError:
            pass
        except MCPError as error:
            reason = error
        except TRANSPORT_ERRORS as cause:
            reason = failure_of(cause, wire.endpoint, _STAGE)
        if not self.known.is_set():
            self.failure = reason
            self.known.set()
        elif not self.is_given_up:
            self._on_end(reason)

    def _goes_on(self, lane: Lane) -> bool:
        """Read the stream to its end. Returns whether to request it once more."""
        wire = self._wire
        headers = wire.stream_headers("GET", self._deadline)
        response = lane.open("GET", wire.url, headers, None, self._deadline.remaining())
        with closing(response):
            status = response.status_code
            if status in (307, 308):
                place = response.headers.get("location", "")
                if wire.redirected(place):
                    return True
                raise redirected(wire.endpoint, status, place)
            if status in (401, 403) and wire.authorizer.challenged(response, self._deadline):
                return True
            if status != 200:
                raise refused(wire.endpoint, _STAGE, response, bodies.begin(response))
            if bodies.kind_of(response) != bodies.EVENTS:
                raise not_mcp(wire.endpoint, _STAGE, bodies.kind_of(response), bodies.begin(response))
            for event in bodies.events(response, EventParser(), wire.endpoint.server):
                if event.name == "endpoint" and not self.known.is_set():
                    self._begin(event.data.decode(errors="replace"))
                elif event.name == "message" and self.known.is_set():
                    wire.receive(bodies.text_of(event.data), None)
        if not self.known.is_set():
            raise RemoteProtocolError(wire.endpoint.server, "ended its event stream without naming an endpoint")
        return False

    def _begin(self, place: str) -> None:
        wire = self._wire
        url = same_origin(wire.url, place)
        if url is None:
            self.has_other_origin = True
            named, own = shown_origin(urljoin(wire.url, place)), shown_origin(wire.url)
            told = f"names an endpoint at {named}, which is another origin than its own, {own}: nothing is sent there"
            raise RemoteProtocolError(wire.endpoint.server, told, case="other-origin")
        wire.url = url
        wire.answers_on_stream = True
        self.known.set()


class OptionalStream:
    """The stream for messages that belong to no request. If the server has none, nothing happens. `begun` is set once
    that is known. Each connection is made within `seconds`.
    """

    def __init__(self, wire: Wire, seconds: float) -> None:
        self.is_given_up = False
        self.begun = threading.Event()
        self._wire = wire
        self._seconds = seconds

    def run(self, lane: Lane) -> None:
        try:
            with suppress(InterruptedExchangeError):
                self._follow(lane)
        finally:
            self.begun.set()

    def _follow(self, lane: Lane) -> None:
        parser = EventParser()
        failures = 0
        while True:
            before = parser.last_id
            deadline = Deadline(self._seconds)
            try:
                headers = self._wire.stream_headers("GET", deadline, parser.last_id)
                response = lane.open("GET", self._wire.url, headers, None, deadline.remaining())
                with closing(response):
                    # Servers without one respond with 405, 404, 400 or a page (specification, MCP quirk Q16).
                    if response.status_code != 200 or bodies.kind_of(response) != bodies.EVENTS:
                        return
                    self.begun.set()
                    parser = parser.resumed()
                    for event in bodies.events(response, parser, self._wire.endpoint.server):
                        if event.name == "message":
                            failures = 0
                            self._wire.receive(bodies.text_of(event.data), None)
            except TRANSPORT_ERRORS:
                pass
            except MCPError:
                return
            # If the server repeatedly ends the stream at once, the pause grows.
            failures = 0 if parser.last_id != before else failures + 1
            lane.pause(pause_seconds(parser, failures))


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
