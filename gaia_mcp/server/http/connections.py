"""The limits of the server's connections: their number, how long they may be idle, and how slowly they may read.

An ASGI app gets a request after its headers are complete. Only the server can limit the time before that, and how
slowly a client reads a response: this is uvicorn's HTTP/1.1 protocol with limits that are checked once a second.
"""

from __future__ import annotations

import asyncio
import socket
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvicorn import Config
    from uvicorn.server import ServerState

# A request whose headers do not end within so many bytes is refused.
HEADER_BYTES = 64 * 1024
# Buffered data is sent at once when it reaches this size.
_JOINED_BYTES = 16 * 1024
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# How long after that the first look for a reset is: on most networks it has arrived. Later ones are once a second.
_RESET_SECONDS = 0.1
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 2\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class ConnectionLimits(NamedTuple):
    """The limits of all connections together, and of each."""

    connections: int = 10_000
    # From the beginning of a connection, or of the next request on it, to the end of the headers.
    header_seconds: float = 20.0
    # How long the rest of a refused request is still read, and ignored: a client that sends its whole body before it
    # reads would miss the response if the connection were closed at once (RFC 9112, section 9.6).
    rest_seconds: float = 10.0
    # How long a connection is kept open for the next request.
    idle_seconds: float = 75.0
    # A client that reads nothing of its pending data for this long is disconnected.
    stalled_seconds: float = 60.0


class JoinedWrites:
    """A transport that joins the writes of one iteration of the event loop: the head and the body of a response become
    one system call, and one packet. Other attributes are those of the wrapped transport.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Buffer `data` until the event loop's next callback, or send it at once if the buffer is full."""
        if len(self._unsent) + len(data) >= _JOINED_BYTES:
            self._send()
            self._transport.write(data)
        elif data:
            if not self._unsent:
                self._loop.call_soon(self._send)
            self._unsent += data

    def close(self) -> None:
        """Send the buffered data, and close the connection."""
        self._send()
        self._transport.close()

    def _send(self) -> None:
        if self._unsent:
            unsent, self._unsent = self._unsent, bytearray()
            self._transport.write(unsent)


class LimitedConnection(H11Protocol):
    """One connection."""

    limits = ConnectionLimits()

    def __init__(self, config: Config, server_state: ServerState, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        # When the headers of the next request have to be complete; None if no deadline applies.
        self._headers_due: float | None = None
        # When the rest of a refused request has to be complete; None if no deadline applies.
        self._rest_due: float | None = None
        # Whether the client has closed its side of the connection.
        self._has_ended = False
        # The unsent bytes at the last check, and the time since which they have not decreased.
        self._unsent = 0
        self._unsent_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, or refuse it with status 503 if there are too many."""
        if len(self.connections) >= self.limits.connections:
            self.transport = transport
            transport.write(_BUSY)
            transport.close()
            return
        super().connection_made(transport)
        self.transport = JoinedWrites(transport)  # type: ignore[assignment]
        self._headers_due = time.monotonic() + self.limits.header_seconds

    def data_received(self, data: bytes) -> None:
        """Process received bytes, and update the deadline of the headers."""
        super().data_received(data)
        if self.conn.their_state is not h11.SEND_BODY:
            self._rest_due = None
        if self.conn.their_state is not h11.IDLE:
            self._headers_due = None
        elif self._headers_due is None:
            self._headers_due = time.monotonic() + self.limits.header_seconds

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep the connection until the response, if a client closes its side after a complete request.

        A client that has closed both sides sends the same, and resets the connection only when it is sent something. So
        it is sent an interim response, which every client of HTTP/1.1 ignores (RFC 9110, section 15.2).
        """
        cycle = self.cycle
        if cycle is None or cycle.more_body or cycle.response_started or self.scope["http_version"] != "1.1":
            # Not by asyncio, which does not know of buffered data: the end of an earlier response.
            self.transport.close()
            return True
        self._has_ended = True
        self.transport.write(_CONTINUE)
        self.loop.call_later(_RESET_SECONDS, self._check_reset)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up. A connection that was refused was never set up."""
        if self.flow is not None:
            super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Wait for the rest of this request, or for the next one until the keep-alive timeout of uvicorn."""
        self._headers_due = None
        if self.conn.their_state is h11.SEND_BODY:
            # Each byte of it would end that timeout.
            self._rest_due = time.monotonic() + self.limits.rest_seconds
        super().on_response_complete()
        # The next request may have been received already.
        if self._has_ended and self.cycle.response_complete:
            self.transport.close()

    def check(self, now: float) -> None:
        """Disconnect a client that is too slow."""
        if any(due is not None and now > due for due in (self._headers_due, self._rest_due)):
            self.transport.abort()
            return
        self._check_reset()
        unsent = self.transport.get_write_buffer_size()
        if self._unsent == 0 or unsent < self._unsent:
            self._unsent_since = now
        elif now > self._unsent_since + self.limits.stalled_seconds:
            self.transport.abort()
        self._unsent = unsent

    def _check_reset(self) -> None:
        """Disconnect a client that has closed both sides. asyncio reads nothing more after the end of one."""
        if self._has_ended and not self.transport.is_closing():
            connection = self.transport.get_extra_info("socket")
            if connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self.transport.abort()


def check_all(connections: Iterable[Any]) -> None:
    """Disconnect the clients that are too slow."""
    now = time.monotonic()
    for connection in list(connections):
        connection.check(now)
