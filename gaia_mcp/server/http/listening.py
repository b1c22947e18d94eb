"""An app on a socket of this machine, until a signal ends it."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from uvicorn import Config, Server

from gaia_mcp.server.http.connections import HEADER_BYTES, ConnectionLimits, LimitedConnection, check_all

if TYPE_CHECKING:
    from gaia_mcp.server.http.app import HttpApp

# After a signal, calls that run may finish. Kubernetes and systemd wait 30 and 90 seconds before they use force.
GRACE_SECONDS = 25.0
# Connections that have not been accepted yet.
BACKLOG = 2048
# Of the files that may be open, these are for the agent.
_RESERVED_FILES = 256
_TICKS_PER_SECOND = 10


class Address(NamedTuple):
    """Where to listen: a host, by its name or address, and a port, 0 for one that is free."""

    host: str
    port: int

    def url(self, path: str) -> str:
        """The URL of a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{path}"


def parsed_address(text: str) -> Address:
    """The address of `HOST:PORT`, `[IPv6]:PORT`, `:PORT` or `PORT`; without a host, of this machine alone.

    Raises `ValueError`.
    """
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port[:6]) < 2**16):
        raise ValueError(f"{text!r} has no port from 0 to 65535")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"{text!r} has an IPv6 address without brackets")
    # `localhost` may stand for ::1 too, and a client that is given one of them alone would not find the other.
    return Address("127.0.0.1" if host in ("", "localhost") else host, int(port))


def listen(address: Address) -> socket.socket:
    """A socket that listens there. Raises `OSError`."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # Named as TCP: only then asyncio sends small pieces at once. A response is two, and would wait for 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name != "nt":  # There, it would let another program take the port over.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address.host, address.port))
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


class HttpServer:
    """Serves an app on a socket. `on_ready` is called once it does; `on_cut` with the number of the calls that had
    not ended in time.
    """

    def __init__(
        self,
        app: HttpApp,
        listener: socket.socket,
        *,
        connections: ConnectionLimits | None = None,
        grace_seconds: float = GRACE_SECONDS,
        on_ready: Callable[[], None] = lambda: None,
        on_cut: Callable[[int], None] = lambda _: None,
    ) -> None:
        limits = connections or ConnectionLimits()
        limits = limits._replace(connections=min(limits.connections, _raised_files() - _RESERVED_FILES))
        config = Config(
            app,
            http=type("Connection", (LimitedConnection,), {"limits": limits}),
            ws="none",
            loop="asyncio",
            lifespan="on",
            # What a hostile client makes of its connections is not for the log.
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            h11_max_incomplete_event_size=HEADER_BYTES,
            timeout_keep_alive=int(limits.idle_seconds),
        )
        _silence()
        self._listener = listener
        self._server = _Server(config, app, grace_seconds, on_ready, on_cut)

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM, which is then raised again; then let the calls that run finish."""
        self._server.run([self._listener])

    @property
    def connections(self) -> Sequence[Any]:
        """Those that are open."""
        return list(self._server.server_state.connections)

    def stop(self) -> None:
        """Have `run` return, from any thread, as a signal does."""
        self._server.should_exit = True


class _Server(Server):
    def __init__(
        self,
        config: Config,
        app: HttpApp,
        grace_seconds: float,
        on_ready: Callable[[], None],
        on_cut: Callable[[int], None],
    ) -> None:
        super().__init__(config)
        self._mcp_app = app
        self._grace_seconds = grace_seconds
        self._on_ready = on_ready
        self._on_cut = on_cut

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._on_ready()

    async def on_tick(self, counter: int) -> bool:
        if counter % _TICKS_PER_SECOND == 0:
            check_all(self.server_state.connections)
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._mcp_app.end_streams()
        timer = asyncio.get_running_loop().call_later(self._grace_seconds, self._cut)
        await super().shutdown(sockets)
        timer.cancel()

    def _cut(self) -> None:
        # A client that has yet to read the response to a call that has ended loses nothing of the call.
        if unfinished := self._mcp_app.unfinished:
            self._on_cut(unfinished)
        for task in list(self.server_state.tasks):
            task.cancel()
        for connection in list(self.server_state.connections):
            connection.transport.abort()


def _raised_files() -> int:
    """How many files may be open; raised as far as it goes without being root."""
    try:
        import resource
    except ImportError:  # Windows has no such limit.
        return 1 << 20
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError):
        return soft
    return hard if hard != resource.RLIM_INFINITY else 1 << 20


def _silence() -> None:
    logger = logging.getLogger("uvicorn.error")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
