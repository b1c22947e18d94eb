"""Serves an app on a local socket until a signal ends it, within limits of its connections: their number, how long they
may be idle, and how slowly they may read, which only the server can know.

uvicorn runs with httptools and uvloop, which the extra `http` installs, or where they are missing with h11 and asyncio.
The limits are the same.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from uvicorn import Config, Server

if TYPE_CHECKING:
    from starlette.types import ASGIApp
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Protocol
    from uvicorn.protocols.http.httptools_impl import RequestResponseCycle
    from uvicorn.server import ServerState

    from gaia_mcp.server.http.app import HttpApp
else:
    # `_connection_class` adds uvicorn's class for one of the parsers, and loads only that.
    Protocol = object

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
# A request whose headers do not end within so many bytes is refused.
HEADER_BYTES = 64 * 1024
# Requests that may wait for the response to an earlier one of the same connection.
MAX_PIPELINED = 100
# Buffered data is sent at once when it reaches this size.
_JOINED_BYTES = 16 * 1024
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# How long after that the first look for a reset is: on most networks it has arrived. Later ones are once a second.
_RESET_SECONDS = 0.1
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 2\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


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
    period, with the number of calls that have not ended. With `is_pure`, only modules in Python are used.
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
        is_pure: bool = False,
    ) -> None:
        limits = connections or ConnectionLimits()
        limits = limits._replace(connections=min(limits.connections, _raised_files() - _RESERVED_FILES))
        config = config_of(app, limits, is_pure=is_pure, lifespan="on")
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
        self.is_closing = transport.is_closing

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


class LimitedConnection(Protocol):
    """One connection: what does not depend on the parser. `is_in_body`: the rest of a request's body is awaited."""

    limits = ConnectionLimits()
    is_in_body: bool

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
        self._await_headers()

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
        if not getattr(self, "pipeline", None):  # An earlier response may have begun.
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
        if self.is_in_body and self.cycle.response_complete:
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

    def _await_headers(self) -> None:
        self._headers_due = time.monotonic() + self.limits.header_seconds

    def _check_reset(self) -> None:
        """Disconnect a client that has closed both sides. asyncio reads nothing more after the end of one."""
        if self._has_ended and not self.transport.is_closing():
            connection = self.transport.get_extra_info("socket")
            if connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self.transport.abort()


class H11Connection(LimitedConnection):
    """A connection whose requests are parsed by h11, which limits their headers itself."""

    conn: Any
    # Two of its states.
    idle: Any
    sends_body: Any

    @property
    def is_in_body(self) -> bool:  # type: ignore[override]
        return self.conn.their_state is self.sends_body

    def data_received(self, data: bytes) -> None:
        """Process received bytes, and update the deadlines."""
        super().data_received(data)
        if not self.is_in_body:
            self._rest_due = None
        if self.conn.their_state is not self.idle:
            self._headers_due = None
        elif self._headers_due is None:
            self._await_headers()


class HttpToolsConnection(LimitedConnection):
    """A connection whose requests are parsed by httptools, which has no limits, and reads all that has arrived before
    the first response is sent.
    """

    httptools: Any

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.is_in_body = False
        # The bytes since the last end of headers, piece of a body, or end of a request.
        self._unparsed = 0
        # The request that is being answered, if others are waiting.
        self._answered: RequestResponseCycle | None = None
        # What is wrong with the data after the last complete request.
        self._problem = ""

    def data_received(self, data: bytes) -> None:
        """Process received bytes, and update the deadline of the headers."""
        self._unset_keepalive_if_required()
        self._unparsed += len(data)
        try:
            while True:
                try:
                    self.parser.feed_data(data)
                    break
                except self.httptools.HttpParserUpgrade as upgrade:
                    data = self._without_upgrade() + data[upgrade.args[0] :]
        except self.httptools.HttpParserError:
            self.send_400_response("Invalid HTTP request received.")
        if self._unparsed > HEADER_BYTES:
            self.send_400_response("The headers are too large.")
        if self._headers_due is None and not self.is_in_body and (self.cycle is None or self.cycle.response_complete):
            self._await_headers()

    def _without_upgrade(self) -> bytes:
        """The head of a request for another protocol, without the header that asks for it, for a new parser: the
        present one does not read the body. Some clients ask with each first request, for HTTP/2.
        """
        target = self.parser.get_method(), self.url, self.parser.get_http_version().encode()
        self.parser = self.httptools.HttpRequestParser(self)
        headers = [b"%s: %s\r\n" % header for header in self.headers if header[0] != b"upgrade"]
        return b"%s %s HTTP/%s\r\n%s\r\n" % (*target, b"".join(headers))

    def on_headers_complete(self) -> None:
        """Begin a request. Any exception refuses it."""
        if len(self.url) > HEADER_BYTES or len(self.pipeline) >= MAX_PIPELINED:
            raise ValueError
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                raise ValueError
            return
        version, hosts = self.parser.get_http_version(), [name for name, _ in self.headers].count(b"host")
        # RFC 9112, section 3.2.
        if version not in ("1.0", "1.1") or hosts > 1 or (hosts == 0 and version == "1.1"):
            raise ValueError
        before = self.cycle
        super().on_headers_complete()
        if self.pipeline and self._answered is None:
            self._answered = before
        self.is_in_body, self._headers_due, self._unparsed = True, None, 0
        # Trailers are ignored: they would be added to the headers, which have been checked.
        self.headers = _NO_HEADERS

    def on_body(self, body: bytes) -> None:
        """Add a piece of the body."""
        self._unparsed = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the request."""
        if self.parser.should_upgrade():
            return
        self.is_in_body, self._rest_due, self._unparsed = False, None, 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Continue with the next request, of which a part may have been received already."""
        self._answered = self.pipeline[-1][0] if self.pipeline else None
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            if self._problem:
                super().send_400_response(self._problem)
            elif self.scope is not self.cycle.scope:
                self._await_headers()

    def send_400_response(self, msg: str) -> None:
        """Refuse what was received, after the responses to all complete requests."""
        is_running = self.cycle is not None and not self.cycle.response_complete and not self.is_in_body
        if is_running or self.pipeline:
            self._problem = msg
        else:
            super().send_400_response(msg)

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up, and let the request that is being answered know."""
        super().connection_lost(exc)
        if self._answered is not None:
            self._answered.disconnected = True
            self._answered.message_event.set()


# Keeps nothing.
_NO_HEADERS: Any = deque(maxlen=0)


def config_of(
    app: ASGIApp, limits: ConnectionLimits, *, is_pure: bool = False, lifespan: Literal["on", "off"] = "off"
) -> Config:
    """The configuration of uvicorn for an app, with these limits of its connections."""
    logger = logging.getLogger("uvicorn.error")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return Config(
        app,
        http=_connection_class(limits, is_pure=is_pure),
        ws="none",
        loop="asyncio" if is_pure else "auto",
        lifespan=lifespan,
        # A hostile client could fill the log.
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        h11_max_incomplete_event_size=HEADER_BYTES,
        timeout_keep_alive=int(limits.idle_seconds),
    )


def _connection_class(limits: ConnectionLimits, *, is_pure: bool) -> type[LimitedConnection]:
    """The class of connections with these limits, for the fastest parser that is installed."""
    if not is_pure and find_spec("httptools") is not None:
        import httptools
        from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

        return type("Connection", (HttpToolsConnection, HttpToolsProtocol), {"limits": limits, "httptools": httptools})
    import h11
    from uvicorn.protocols.http.h11_impl import H11Protocol

    states = {"idle": h11.IDLE, "sends_body": h11.SEND_BODY}
    return type("Connection", (H11Connection, H11Protocol), {"limits": limits, **states})


def check_all(connections: Iterable[Any]) -> None:
    """Disconnect the clients that are too slow."""
    now = time.monotonic()
    for connection in list(connections):
        connection.check(now)
