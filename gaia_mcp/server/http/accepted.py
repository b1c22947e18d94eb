"""Serves apps on connections that the caller has accepted, such as those of Unix sockets, in an event loop that has a
thread of its own. Both begin with the first connection.

The limits of each connection are those of `listening`. The caller decides who may connect.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from uvicorn.server import ServerState

from gaia_mcp.server.http.listening import ConnectionLimits, check_all, config_of

if TYPE_CHECKING:
    import socket

    from starlette.types import ASGIApp

# How often the connections are checked for clients that are too slow.
CHECK_SECONDS = 1.0


class AcceptedConnections:
    """The connections, of any number of apps. Safe to use from several threads, but not from its event loop."""

    def __init__(self, limits: ConnectionLimits | None = None, *, is_pure: bool = False) -> None:
        self._limits = limits or ConnectionLimits()
        self._is_pure = is_pure
        self._state = ServerState()
        # Guards the next three; the last two are used in the event loop alone.
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._has_ended = False
        # The app of each connection that is served, and the tasks that serve them.
        self._apps: dict[Any, ASGIApp] = {}
        self._serving: set[asyncio.Task[Any]] = set()

    def serve(self, app: ASGIApp, connection: socket.socket) -> None:
        """Serve `app` on a connection, until the client or `close` ends it. Closes the connection, after `close` at
        once.
        """
        with connection:
            with self._lock:
                if self._has_ended:
                    return
                serving = asyncio.run_coroutine_threadsafe(self._serve(app, connection), self._running())
            serving.result()

    def end(self, app: ASGIApp, last: Callable[[], object] = lambda: None) -> None:
        """End the connections of `app`, each after the response that it waits for. `last` is called in the event loop
        before.
        """

        async def end() -> None:
            last()
            for protocol in [each for each, served in self._apps.items() if served is app]:
                protocol.shutdown()

        with self._lock:
            if self._loop is None or self._has_ended:
                return
            ending = asyncio.run_coroutine_threadsafe(end(), self._loop)
        ending.result()

    def close(self) -> None:
        """End all connections at once, and the thread. May be called twice."""
        with self._lock:
            loop, thread, has_ended = self._loop, self._thread, self._has_ended
            self._has_ended = True
        if loop is None or thread is None or has_ended:
            return
        asyncio.run_coroutine_threadsafe(self._end(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()

    def _running(self) -> asyncio.AbstractEventLoop:
        """The event loop, which is begun for the first connection."""
        if self._loop is None:
            loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._run, args=(loop,), name="http", daemon=True)
            self._thread.start()
            self._loop = loop
        return self._loop

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        checking = loop.create_task(self._check())
        try:
            loop.run_forever()
            checking.cancel()
            with suppress(asyncio.CancelledError):
                loop.run_until_complete(checking)
            loop.run_until_complete(loop.shutdown_default_executor())
        finally:
            loop.close()

    async def _serve(self, app: ASGIApp, connection: socket.socket) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 (this is a coroutine)
        self._serving.add(task)
        config = config_of(app, self._limits, is_pure=self._is_pure)
        config.load()
        loop = asyncio.get_running_loop()
        kind: Any = type("Connection", (_Noticed, config.http_protocol_class), {"lost": loop.create_future()})
        protocol = kind(config, self._state, {})
        try:
            await loop.connect_accepted_socket(lambda: protocol, connection)
            self._apps[protocol] = app
            await protocol.lost
        finally:
            self._apps.pop(protocol, None)
            self._serving.discard(task)

    async def _check(self) -> None:
        while True:
            await asyncio.sleep(CHECK_SECONDS)
            check_all(self._state.connections)

    async def _end(self) -> None:
        # A connection that is being made is aborted once it has been.
        while self._serving:
            for protocol in list(self._apps):
                protocol.transport.abort()
            await asyncio.sleep(0)
        running = list(self._state.tasks)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


class _Noticed(asyncio.Protocol):
    """Before a class of uvicorn's: sets `lost` when the connection has ended, which uvicorn does not report."""

    lost: asyncio.Future[None]

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.lost.set_result(None)
