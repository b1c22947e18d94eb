"""The network backend of the connections: combines small writes into one, and ends a read at a deadline."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import httpcore2

from gaia_mcp.deadline import WAIT_SLICE_SECONDS

if TYPE_CHECKING:
    import socket
    import ssl

    from gaia_mcp.deadline import Deadline

# A longer body is sent as it is written, so that it is not in memory twice.
MAX_HELD_BYTES = 64 * 1024
# A timeout of zero would not wait at all.
_SHORTEST_SECONDS = 0.001


class InterruptedExchangeError(Exception):
    """The exchange has been cancelled, or its caller's time is up."""


class Stream(httpcore2.NetworkStream):
    """Buffers writes until the next read: the head and the body of a request become one packet for the network, and one
    event for the server.

    While `deadline` is set, it counts instead of the timeouts: a read raises `InterruptedExchangeError` once it has
    passed. For plain connections: one with TLS may wait for the rest of a record.
    """

    def __init__(self, stream: httpcore2.NetworkStream) -> None:
        self.deadline: Deadline | None = None
        self._stream = stream
        self._held = b""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self.deadline is not None:
            return self._read_until(self.deadline, max_bytes)
        # A server may have closed its side after an early response, which can still be read.
        with suppress(httpcore2.WriteError):
            self._flush(timeout)
        return self._stream.read(max_bytes, timeout)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._held += buffer
        # Only a read ends at the deadline.
        if len(self._held) > MAX_HELD_BYTES and self.deadline is None:
            self._flush(timeout)

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        return Stream(self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)

    def _read_until(self, deadline: Deadline, max_bytes: int) -> bytes:
        # On the socket itself: the stream in between would cost a small call some percent.
        own: socket.socket = self._stream.get_extra_info("socket")
        held, self._held = self._held, b""
        if held:
            own.settimeout(max(deadline.remaining(), _SHORTEST_SECONDS))
            try:
                own.sendall(held)
            except TimeoutError:
                raise InterruptedExchangeError from None
            except OSError:
                pass  # As in `read`.
        # Also with data waiting: some servers never pause.
        while not deadline.expired:
            # In slices: the deadline may be held or extended meanwhile.
            own.settimeout(max(min(deadline.remaining(), WAIT_SLICE_SECONDS), _SHORTEST_SECONDS))
            try:
                return own.recv(max_bytes)
            except TimeoutError:
                continue
            except OSError as cause:
                raise httpcore2.ReadError(str(cause)) from cause
        raise InterruptedExchangeError

    def _flush(self, timeout: float | None) -> None:
        held, self._held = self._held, b""
        if held:
            self._stream.write(held, timeout)


class Network(httpcore2.SyncBackend):
    """Sockets."""

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        return Stream(super().connect_tcp(host, port, timeout, local_address, socket_options))
