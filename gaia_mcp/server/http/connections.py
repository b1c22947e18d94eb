"""The connections of a server on a socket of its own: how many, how long they may be silent, how slowly they may read.

An ASGI app sees a request once its headers are there. What happens before, and how fast a response is taken, only the
server sees: this is uvicorn's protocol for HTTP/1.1 with limits, looked at once in a second.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, NamedTuple

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable

    from uvicorn import Config
    from uvicorn.server import ServerState

# Headers that have not ended within so many bytes are given up.
HEADER_BYTES = 64 * 1024
# What is written is sent at once when it has become so much.
_JOINED_BYTES = 16 * 1024
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 2\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class ConnectionLimits(NamedTuple):
    """The limits of all connections together, and of each."""

    connections: int = 10_000
    # From the beginning of a connection, or of the next request on it, to the end of the headers.
    header_seconds: float = 20.0
    # A connection is kept so long for the next request.
    idle_seconds: float = 75.0
    # In this time a client takes some of what is sent to it, or is disconnected.
    stalled_seconds: float = 60.0


class JoinedWrites:
    """A transport that sends together what is written in one turn of its event loop: the head of a response and its
    body are one call of the system, and one packet. Everything else is as the transport has it.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._unsent = bytearray()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send this soon, after what was written before."""
        if len(self._unsent) + len(data) >= _JOINED_BYTES:
            self._send()
            self._transport.write(data)
        elif data:
            if not self._unsent:
                self._loop.call_soon(self._send)
            self._unsent += data

    def close(self) -> None:
        """Send what was written, and close the connection."""
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
        # When the headers that are expected have to be complete; None while none are.
        self._headers_due: float | None = None
        # How much waited to be sent when that was last looked at, and since when it has been no less.
        self._unsent = 0
        self._unsent_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, unless there are too many."""
        if len(self.connections) >= self.limits.connections:
            self.transport = transport
            transport.write(_BUSY)
            transport.close()
            return
        super().connection_made(transport)
        self.transport = JoinedWrites(transport)  # type: ignore[assignment]
        self._headers_due = time.monotonic() + self.limits.header_seconds

    def data_received(self, data: bytes) -> None:
        """Read on."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._headers_due = None
        elif self._headers_due is None:
            self._headers_due = time.monotonic() + self.limits.header_seconds

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        if self.flow is not None:
            super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Wait for the next request, as long as an idle connection is kept."""
        self._headers_due = None
        super().on_response_complete()

    def check(self, now: float) -> None:
        """Disconnect a client that is too slow."""
        if self._headers_due is not None and now > self._headers_due:
            self.transport.abort()
            return
        unsent = self.transport.get_write_buffer_size()
        if self._unsent == 0 or unsent < self._unsent:
            self._unsent_since = now
        elif now > self._unsent_since + self.limits.stalled_seconds:
            self.transport.abort()
        self._unsent = unsent


def check_all(connections: Iterable[Any]) -> None:
    """Disconnect the clients that are too slow."""
    now = time.monotonic()
    for connection in list(connections):
        connection.check(now)
