"""Serves an app on a local socket until a signal ends it."""

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

# After a signal, running calls may finish. Kubernetes and systemd send SIGKILL after 30 and 90 seconds.
GRACE_SECONDS = 25.0
# Connections that wait to be accepted.
BACKLOG = 2048
# Of the allowed open files, these are reserved for the agent.
_RESERVED_FILES = 256
_TICKS_PER_SECOND = 10
# The addresses that stand for every address of the machine: the family, an address of the documentation's networks
# (RFC 5737, RFC 3849), which only a default route leads to, and the loopback address.
_UNSPECIFIED = {
    "0.0.0.0": (socket.AF_INET, "192.0.2.1", "127.0.0.1"),  # noqa: S104 (compared, not bound)
    "::": (socket.AF_INET6, "2001:db8::1", "::1"),
}


class Address(NamedTuple):
    """The address to listen on: a host name or IP address, and a port, 0 for any free one."""

    host: str
    port: int

    def url(self, path: str) -> str:
        """The URL of a path."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{path}"

    def reachable(self) -> Address:
        """This address, or where it is every address of this machine, the one that others reach it by. Nothing is
        sent to find that out; without a network it is the loopback address.
        """
        if self.host not in _UNSPECIFIED:
            return self
        family, elsewhere, loopback = _UNSPECIFIED[self.host]
        with socket.socket(family, socket.SOCK_DGRAM) as route:
            try:
                route.connect((elsewhere, 9))
                return self._replace(host=str(route.getsockname()[0]))
            except OSError:
                return self._replace(host=loopback)


def parsed_address(text: str) -> Address:
    """The address in `HOST:PORT`, `[IPv6]:PORT`, `:PORT` or `PORT`. The default host is 127.0.0.1.

    Raises `ValueError`.
    """
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port[:6]) < 2**16):
        raise ValueError(f"{text!r} has no port from 0 to 65535")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise ValueError(f"{text!r} has an IPv6 address without brackets")
    # `localhost` may resolve to 127.0.0.1 or ::1: a client could use the one that the server does not listen on.
    return Address("127.0.0.1" if host in ("", "localhost") else host, int(port))


def listen(address: Address) -> socket.socket:
    """A socket that listens on an address. Raises `OSError`."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # asyncio sets TCP_NODELAY only if the protocol is given as TCP. Without it, the second part of a response would
    # be delayed by 40 ms.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name != "nt":  # On Windows, it would let another program bind the same port.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address.host, address.port))
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


class HttpServer:
    """Serves an app on a socket. `on_ready` is called when it accepts requests; `on_cut` at the end of the grace
    period, with the number of calls that have not ended.
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
            # A hostile client could fill the log.
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
        """Serve until SIGINT or SIGTERM, then let the running calls finish. The signal is raised again at the end."""
        self._server.run([self._listener])

    @property
    def connections(self) -> Sequence[Any]:
        """The open connections."""
        return list(self._server.server_state.connections)

    def stop(self) -> None:
        """End `run` as a signal does. May be called from any thread."""
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
        # A call whose client has not yet read the response has ended, and is not counted.
        if unfinished := self._mcp_app.unfinished:
            self._on_cut(unfinished)
        for task in list(self.server_state.tasks):
            task.cancel()
        for connection in list(self.server_state.connections):
            connection.transport.abort()


def _raised_files() -> int:
    """The limit of open files, after raising it as far as possible without being root."""
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
