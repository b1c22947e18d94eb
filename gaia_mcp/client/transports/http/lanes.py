"""Connections to one server, each with a thread that uses it for one exchange at a time.

A blocked read ends only when its connection is shut down. So no two exchanges share a connection, and cancelling one
does not affect another. The same holds for HTTP/2: `httpcore2` does not reset a stream that is closed early, so a
cancelled call would continue on the server. A connection is reused by the next exchange.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

import httpcore2

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.connections import Connections, Response

# A program usually calls one tool at a time, and listens meanwhile. Further connections are closed after use.
IDLE_KEPT = 4


class InterruptedExchangeError(Exception):
    """The exchange has been cancelled."""


class Work(Protocol):
    """A job for a lane."""

    given_up: threading.Event

    def run(self, lane: Lane) -> None:
        """Use `lane` until done. Must not raise."""


class Lane:
    """One connection of `connections`, opened when needed and reopened after it was closed, and the thread that uses
    it. `release` is called when the lane is free.
    """

    def __init__(self, connections: Connections, release: Callable[[Lane], None], name: str) -> None:
        self._connections = connections
        self._connection: httpcore2.ConnectionInterface | None = None
        self._release = release
        self._todo: SimpleQueue[Work | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._work: Work | None = None
        self._socket: socket.socket | None = None
        self._thread = threading.Thread(target=self._loop, name=f"{name} http", daemon=True)
        self._thread.start()

    def give(self, work: Work) -> None:
        """Queue `work`, to run as soon as the lane is free."""
        self._todo.put(work)

    def open(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None, connect_seconds: float
    ) -> Response:
        """The response to a request, its body unread; the caller closes it. For the work of this lane.

        Raises `InterruptedExchangeError`, and one of `TRANSPORT_ERRORS`.
        """
        request = self._connections.request(method, url, headers, content, connect_seconds)
        self.check()
        try:
            connection, received = self._send(request)
        except Exception:
            self._disconnect()
            self.check()
            raise
        return self._connections.response(url, request, received, connection)

    def check(self) -> None:
        """Raise `InterruptedExchangeError` if the work of this lane has been cancelled."""
        if self._work is not None and self._work.given_up.is_set():
            raise InterruptedExchangeError

    def interrupt(self, work: Work) -> None:
        """Cancel `work`, from any thread. Does nothing if it is done."""
        work.given_up.set()
        with self._lock:
            if self._work is not work or self._socket is None:
                return
            # The shutdown of the plain socket, also for TLS: the TLS state belongs to the reading thread.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def stop(self) -> None:
        """Close the connection and end the thread, once its work is done. May be called twice."""
        self._todo.put(None)

    def join(self, seconds: float) -> None:
        """Wait for the thread to end."""
        if self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def _loop(self) -> None:
        while (work := self._todo.get()) is not None:
            with self._lock:
                self._work = work
            work.run(self)
            with self._lock:
                self._work = None
            self._release(self)
        self._disconnect()

    def _send(self, request: httpcore2.Request) -> tuple[httpcore2.ConnectionInterface, httpcore2.Response]:
        connection = self._connection
        if connection is not None and connection.is_available() and not connection.has_expired():
            try:
                return connection, connection.handle_request(request)
            except httpcore2.ConnectionNotAvailable:
                # The HTTP/2 server closed the connection, and reports that it has not processed this request.
                pass
        self._disconnect()
        connection = self._connection = self._connections.connect(request)
        request.extensions["trace"] = self._trace
        return connection, connection.handle_request(request)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            stream = info["return_value"]
            with self._lock:
                self._socket = stream.get_extra_info("socket")
            try:
                # It may have been cancelled before there was a socket to shut down.
                self.check()
            except InterruptedExchangeError:
                stream.close()
                raise


class Lanes:
    """The lanes to one server, created on demand."""

    def __init__(self, connections: Connections, name: str) -> None:
        self._connections = connections
        self._name = name
        self._lock = threading.Lock()
        self._all: list[Lane] = []
        self._idle: list[Lane] = []
        self._is_closed = False

    def use(self, work: Work) -> Lane:
        """Run `work` on a free lane. Does nothing after `close`."""
        with self._lock:
            lane = self._idle.pop() if self._idle else None
        if lane is None:
            lane = Lane(self._connections, self._free, self._name)
            with self._lock:
                self._all.append(lane)
                if self._is_closed:
                    work.given_up.set()
        lane.give(work)
        if work.given_up.is_set():
            lane.stop()
        return lane

    def close(self, seconds: float) -> None:
        """End all lanes; their work must have been interrupted. Waits up to `seconds`."""
        with self._lock:
            self._is_closed = True
            lanes, self._idle = list(self._all), []
        for lane in lanes:
            lane.stop()
        for lane in lanes:
            lane.join(seconds / len(lanes))

    def _free(self, lane: Lane) -> None:
        with self._lock:
            if self._is_closed or len(self._idle) >= IDLE_KEPT:
                self._all.remove(lane)
                lane.stop()
            else:
                self._idle.append(lane)
