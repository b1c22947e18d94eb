"""Connections to one server, each used for one exchange at a time, by a thread of its own or by the caller.

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

from gaia_mcp.client.transports.http.connections import Connections, InterruptedExchangeError, Response, Stream

if TYPE_CHECKING:
    from gaia_mcp.core.deadline import Deadline

# A program usually calls one tool at a time, and listens meanwhile. Further connections are closed after use.
IDLE_KEPT = 4


class Work(Protocol):
    """A job for a lane, which sets `is_given_up` when it is cancelled."""

    is_given_up: bool

    def run(self, lane: Lane) -> None:
        """Use `lane` until done. Must not raise."""


class ShortWork(Work, Protocol):
    """A job that is usually short, so that its caller can begin it."""

    def begin(self, lane: Lane) -> bool:
        """Use `lane` as long as that is no longer than the caller wants to wait. Returns whether all is done; if not,
        `run` does the rest. Raises nothing of its own.
        """


class Lane:
    """One connection of `connections`, opened when needed and reopened after it was closed, and the thread that uses
    it. `release` is called with the work that is done when the lane is free.
    """

    def __init__(self, connections: Connections, release: Callable[[Lane, Work], None], name: str) -> None:
        self._connections = connections
        self._connection: httpcore2.ConnectionInterface | None = None
        self._release = release
        self._todo: SimpleQueue[Work | None] = SimpleQueue()
        # Reentrant: a signal handler may close the channel, in a thread that holds it already.
        self._lock = threading.RLock()
        self._work: Work | None = None
        self._interrupted = threading.Event()
        self._stream: Stream | None = None
        # The work that was begun by its caller. Ignore it while the lane is free.
        self.borrower: ShortWork | None = None
        # Started with the first work: a Ctrl-C during the creation of the lane would leave it behind.
        self._thread = threading.Thread(target=self._loop, name=f"{name} http", daemon=True)

    def give(self, work: Work) -> None:
        """Queue `work`, to run as soon as the lane is free."""
        self._todo.put(work)
        if self._thread.ident is None:
            self._thread.start()

    @property
    def is_ready(self) -> bool:
        """Whether the lane is open for `begin`: over a plain connection, whose reads end when their caller wants."""
        connection, stream = self._connection, self._stream
        if connection is None or stream is None or not self._is_open(connection):
            return False
        return type(stream.get_extra_info("socket")) is socket.socket

    def begin(self, work: ShortWork, deadline: Deadline) -> bool:
        """Begin `work` on this thread, until it is interrupted at `deadline`. Returns whether it is done. For a lane
        that `is_ready`; after a Ctrl-C, which is raised, it is not used again.
        """
        stream = self._stream
        assert stream is not None  # noqa: S101 (it is ready)
        with self._lock:
            self._work = work
        stream.deadline = deadline
        is_done = work.begin(self)
        stream.deadline = None
        if is_done:
            with self._lock:
                self._work = None
        return is_done

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
        if self._work is not None and self._work.is_given_up:
            raise InterruptedExchangeError

    def pause(self, seconds: float) -> None:
        """Wait so long. Raises `InterruptedExchangeError` once the work of this lane has been cancelled. For the thread
        of the lane.
        """
        self.check()
        if self._interrupted.wait(seconds):
            raise InterruptedExchangeError

    def interrupt(self, work: Work) -> None:
        """Cancel `work`, from any thread. Does nothing if it is done."""
        work.is_given_up = True
        with self._lock:
            if self._work is not work:
                return
            self._interrupted.set()
            if self._stream is None:
                return
            # The shutdown of the plain socket, also for TLS: the TLS state belongs to the reading thread.
            with contextlib.suppress(OSError):
                socket.socket.shutdown(self._stream.get_extra_info("socket"), socket.SHUT_RDWR)

    def stop(self) -> None:
        """Close the connection and end the thread, once its work is done. May be called twice."""
        self._todo.put(None)

    def join(self, seconds: float) -> None:
        """Wait for the thread to end."""
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def _loop(self) -> None:
        while (work := self._todo.get()) is not None:
            with self._lock:
                self._work, self.borrower = work, None
                self._interrupted.clear()
            work.run(self)
            with self._lock:
                self._work = None
            self._release(self, work)
        self._disconnect()

    def _send(self, request: httpcore2.Request) -> tuple[httpcore2.ConnectionInterface, httpcore2.Response]:
        connection = self._connection
        # A caller has just looked, and must not wait for another connection: that could not be interrupted.
        if connection is not None and (self.borrower is not None or self._is_open(connection)):
            try:
                return connection, connection.handle_request(request)
            except httpcore2.ConnectionNotAvailable:
                # The HTTP/2 server closed the connection, and reports that it has not processed this request.
                if self.borrower is not None:
                    raise
        self._disconnect()
        connection = self._connection = self._connections.connect(request)
        request.extensions["trace"] = self._trace
        return connection, connection.handle_request(request)

    @staticmethod
    def _is_open(connection: httpcore2.ConnectionInterface) -> bool:
        return connection.is_available() and not connection.has_expired()

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            stream = info["return_value"]
            with self._lock:
                self._stream = stream
            try:
                # It may have been cancelled before there was a connection to shut down.
                self.check()
            except InterruptedExchangeError:
                stream.close()
                raise


class Lanes:
    """The lanes to one server, created on demand."""

    def __init__(self, connections: Connections, name: str) -> None:
        self._connections = connections
        self._name = name
        # Reentrant, as those of the lanes.
        self._lock = threading.RLock()
        self._all: list[Lane] = []
        self._idle: list[Lane] = []
        # The number of idle lanes that are kept open.
        self.kept = IDLE_KEPT
        self._is_closed = False
        # The lanes of all work that is not done.
        self._running: dict[Work, Lane] = {}

    def use(self, work: Work) -> Lane:
        """Run `work` on a free lane, which is returned. Does nothing after `close`. After a Ctrl-C, which is raised,
        call `drop`.
        """
        lane: Lane | None = None
        try:
            with self._lock:
                if self._idle:
                    lane = self._idle[-1]
                    lane.borrower = None
                    self._idle.pop()
            if lane is None:
                lane = Lane(self._connections, self._free, self._name)
                with self._lock:
                    self._all.append(lane)
                    if self._is_closed:
                        work.is_given_up = True
            self._running[work] = lane
            lane.give(work)
            if work.is_given_up:
                lane.stop()
        except BaseException:
            with self._lock:
                if lane is not None and lane not in self._idle:
                    self._discard(lane)
            raise
        return lane

    def begin(self, work: ShortWork, deadline: Deadline) -> bool:
        """Begin `work` on this thread, until it is interrupted at `deadline`; the thread of a lane does the rest.
        Returns False if no free lane is ready for that.

        After a Ctrl-C, which is raised, call `drop`. It may arrive between any two steps, so their order matters: a
        lane that is not free belongs to its borrower.
        """
        with self._lock:
            if not self._idle or not self._idle[-1].is_ready:
                return False
            lane = self._idle[-1]
            lane.borrower = work
            self._running[work] = lane
            self._idle.pop()
        if lane.begin(work, deadline):
            self._free(lane, work)
        else:
            lane.give(work)
        return True

    def drop(self, work: ShortWork) -> None:
        """Cancel `work`, whose caller has left `begin` or `use`. Does nothing if it is done."""
        self.interrupt(work)
        with self._lock:
            lane = self._running.get(work)
            if lane is not None and lane.borrower is work and lane not in self._idle:
                self._discard(lane)
            self._running.pop(work, None)

    def running(self) -> list[Work]:
        """All work that is not done."""
        return list(self._running)

    def interrupt(self, work: Work) -> None:
        """Cancel `work`, from any thread. Does nothing if it is done."""
        lane = self._running.get(work)
        if lane is not None:
            lane.interrupt(work)

    def close(self, seconds: float) -> None:
        """End all lanes; their work must have been interrupted. Waits up to `seconds`. A lane that a caller uses ends
        when its caller leaves.
        """
        with self._lock:
            self._is_closed = True
            lanes = [lane for lane in self._all if lane.borrower is None or lane in self._idle]
            self._idle = []
        for lane in lanes:
            lane.stop()
        for lane in lanes:
            lane.join(seconds / len(lanes))

    def _free(self, lane: Lane, work: Work) -> None:
        with self._lock:
            if self._is_closed or lane not in self._all or len(self._idle) >= self.kept:
                self._discard(lane)
            else:
                self._idle.append(lane)
            self._running.pop(work, None)

    def _discard(self, lane: Lane) -> None:
        if lane in self._all:
            self._all.remove(lane)
        lane.stop()
