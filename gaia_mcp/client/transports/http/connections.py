"""Connections to one server, and requests on them.

How to connect is the `Endpoint`: URL, headers, certificates, and proxies from the environment or the settings of the
system. They use `httpcore2`, on which `httpx2` is built. With an `httpx2.Client` for each connection, and its `trace`,
a request was measured to take 420 us of the processor instead of 160, and has no end at a deadline that changes. The
features of such a client that matter to an MCP server are implemented here: proxies, credentials in the URL, cookies,
and compressed bodies. The network backend combines small writes into one, and ends a read at a deadline.
"""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import re
import ssl
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias
from urllib.parse import urljoin, urlsplit

import httpcore2
import httpx2

from gaia_mcp._version import __version__
from gaia_mcp.core.deadline import WAIT_SLICE_SECONDS, Deadline
from gaia_mcp.core.errors import ConnectError, EntryError
from gaia_mcp.protocol.headers import header_fault
from gaia_mcp.text import one_line
from gaia_mcp.text.redaction import masked_url

if TYPE_CHECKING:
    import socket


# Node and uvicorn close a connection that has been idle for five seconds. We drop it before, so that it is never lost
# during a request, which may or may not have run.
IDLE_SECONDS = 4.0
# Exceptions while a request is sent or its response is read.
TRANSPORT_ERRORS = (
    httpcore2.TimeoutException,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.ConnectionNotAvailable,
    httpx2.DecodingError,
    httpx2.InvalidURL,
)


_Fields: TypeAlias = dict[str, tuple[bytes, bytes]]
# A longer body is sent as it is written, so that it is not in memory twice.
MAX_HELD_BYTES = 64 * 1024
# A timeout of zero would not wait at all.
_SHORTEST_SECONDS = 0.001
_TOKEN = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
NO_HEADERS: Mapping[str, str] = MappingProxyType({})
# If an entry set one of these, a body would have two lengths: the rest of it could be read as another request.
_OF_BODIES = ("content-length", "transfer-encoding")
_DEFAULT_PORTS = {"http": 80, "https": 443}


class _Place(NamedTuple):
    """A URL, and the headers of every request to it."""

    text: str
    url: httpcore2.URL
    fields: _Fields


class Request(NamedTuple):
    """A sent request, without its body. The names of `headers` are in lower case."""

    url: str
    headers: Mapping[str, str]


class Response:
    """The response to a request to `url`; the caller closes it. It arrives on `connection`. The names of `headers` are
    in lower case; the values of a repeated header are joined.
    """

    def __init__(
        self, url: str, sent: httpcore2.Request, received: httpcore2.Response, connection: httpcore2.ConnectionInterface
    ) -> None:
        self.status_code = received.status
        self.headers = _read(received.headers)
        self._url = url
        self._sent = sent
        self._received = received
        self._connection = connection
        self._is_read = False

    @property
    def request(self) -> Request:
        """The request of this response."""
        return Request(self._url, _read(self._sent.headers))

    def limit_silence(self, seconds: float) -> None:
        """Make `iter_bytes`, which must not have begun, raise if nothing arrives for so long."""
        self._sent.extensions["timeout"]["read"] = seconds

    def iter_bytes(self) -> Iterator[bytes]:
        """The body in chunks as they arrive, decompressed. Raises one of `TRANSPORT_ERRORS`."""
        encoding = self.headers.get("content-encoding", "identity")
        pieces = self._pieces()
        if encoding != "identity":
            # Few servers compress their responses.
            named = (b"content-encoding", encoding.encode("ascii", "replace"))
            return httpx2.Response(200, headers=[named], content=pieces).iter_bytes()
        return pieces

    def close(self) -> None:
        """Release the connection for the next request, or close it if part of the body is unread."""
        self._received.close()
        if not self._is_read:
            self._connection.close()

    def _pieces(self) -> Iterator[bytes]:
        yield from self._received.iter_stream()
        self._is_read = True
        self._received.close()


class Connections:
    """Opens connections to the server at `endpoint`, with the TLS `context`, and holds their shared state.

    Raises `ConnectError` for a proxy that cannot be used.
    """

    def __init__(self, endpoint: Endpoint, context: ssl.SSLContext) -> None:
        self._endpoint = endpoint
        # Those of the endpoint, which may change, and the headers of all requests.
        self._headers = dict(endpoint.headers)
        self._fields = _common_fields(self._headers)
        self._cookies = httpx2.Cookies()
        self._has_cookies = False
        # The target of the last request, and usually of the next.
        self._place: _Place | None = None
        # It only opens connections. Each belongs to a lane.
        self._pool = httpcore2.ConnectionPool(
            ssl_context=context,
            proxy=_proxy(endpoint),
            keepalive_expiry=IDLE_SECONDS,
            http2=importlib.util.find_spec("h2") is not None,
            network_backend=Network(),
        )

    def connect(self, request: httpcore2.Request) -> httpcore2.ConnectionInterface:
        """A connection that opens when `request` is sent on it."""
        return self._pool.create_connection(request.url.origin)

    def request(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None, connect_seconds: float
    ) -> httpcore2.Request:
        """A request with all its headers. Raises `httpx2.InvalidURL`."""
        if self._headers != self._endpoint.headers:
            self._headers = dict(self._endpoint.headers)
            self._fields, self._place = _common_fields(self._headers), None
        place = self._place
        if place is None or place.text != url:
            place = self._place = self._place_of(url)
        fields = {**place.fields, **_fields_of(headers)}
        if content is not None:
            fields["content-length"] = (b"Content-Length", b"%d" % len(content))
        if self._has_cookies and "cookie" not in fields:
            asking = httpx2.Request(method, url)
            self._cookies.set_cookie_header(asking)
            fields.update(_fields_of({"Cookie": asking.headers["cookie"]} if "cookie" in asking.headers else {}))
        # A response may take as long as its caller waits; the caller then interrupts it.
        extensions = {"timeout": {"connect": max(connect_seconds, 0.01)}}
        request = httpcore2.Request(method.encode(), place.url, content=content, extensions=extensions)
        # Not as an argument: they are encoded already, and each would be checked again.
        request.headers = list(fields.values())
        return request

    def response(
        self, url: str, sent: httpcore2.Request, received: httpcore2.Response, connection: httpcore2.ConnectionInterface
    ) -> Response:
        """The response to a request. Its cookies are sent with later requests, on any connection."""
        response = Response(url, sent, received, connection)
        if "set-cookie" in response.headers:
            asked = httpx2.Request(sent.method.decode(), url)
            # Other cookies could not be sent back: every later request would fail.
            fields = [field for field in received.headers if field[1].isascii()]
            self._cookies.extract_cookies(httpx2.Response(received.status, headers=fields, request=asked))
            self._has_cookies = True
        return response

    def _place_of(self, url: str) -> _Place:
        parsed = httpx2.URL(url)
        headers = {"Host": parsed.netloc.decode("ascii")}
        if parsed.userinfo:
            asking = httpx2.Request("GET", url)
            next(httpx2.BasicAuth(parsed.username, parsed.password).auth_flow(asking))
            headers["Authorization"] = asking.headers["authorization"]
        target = httpcore2.URL(scheme=parsed.raw_scheme, host=parsed.raw_host, port=parsed.port, target=parsed.raw_path)
        return _Place(url, target, {**_fields_of(headers), **self._fields})


def _common_fields(headers: Mapping[str, str]) -> _Fields:
    return _fields_of({"Accept-Encoding": "gzip, deflate", "User-Agent": f"gaia-mcp/{__version__}", **headers})


def _fields_of(headers: Mapping[str, str]) -> _Fields:
    """Headers encoded, by their names in lower case: ASCII where possible, else UTF-8, as in other clients."""
    return {name.lower(): (name.encode(), value.encode()) for name, value in headers.items()}


def _read(fields: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in fields:
        key = name.decode("latin-1").lower()
        try:
            text = value.decode()
        except UnicodeDecodeError:
            text = value.decode("latin-1")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def _proxy(endpoint: Endpoint) -> httpcore2.Proxy | None:
    named = proxy_of(endpoint.url)
    if not named:
        return None
    reason = ""
    try:
        proxy = httpx2.Proxy(named)
        if proxy.url.scheme.startswith("socks") and importlib.util.find_spec("socksio") is None:
            reason = "SOCKS needs the package socksio"
    except (ValueError, httpx2.InvalidURL):
        reason = "it is not a URL of http, https, socks5 or socks5h"
    if reason:
        raise ConnectError(
            f"server {endpoint.server!r} could not be reached through the proxy {masked_url(named)}: {reason}",
            server=endpoint.server,
            case="proxy",
        )
    url = proxy.url
    return httpcore2.Proxy(
        httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path), proxy.raw_auth
    )


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


class Endpoint(NamedTuple):
    """The URL of a server, and the headers of its entry. `ca`, `cert` and `key` are files: the authorities to trust
    instead of the system's, and the client certificate with its key.
    """

    server: str
    url: str
    headers: Mapping[str, str] = NO_HEADERS
    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    def check(self) -> None:
        """Raise `EntryError` for a URL or headers that HTTP cannot carry. The error contains no header values."""
        for name, value in self.headers.items():
            if not _TOKEN.fullmatch(name):
                raise EntryError(self.server, f"'headers' holds a header that cannot be named {name!r}")
            if name.lower() in _OF_BODIES:
                raise EntryError(self.server, f"'headers' holds {name!r}, which each request has of its own")
            if (fault := header_fault(value)) is not None:
                raise EntryError(self.server, f"the header {name!r} {fault}")
        try:
            # Hosts are looked up in this form, which allows no empty or very long label. UnicodeError is a ValueError.
            is_complete = (
                bool(httpx2.URL(self.url).raw_host.decode("ascii").encode("idna")) and urlsplit(self.url).port != 0
            )
        except (httpx2.InvalidURL, ValueError):
            is_complete = False
        if not is_complete:
            raise EntryError(self.server, "'url' is not a URL with a host and, if it has one, a valid port")

    def context(self) -> ssl.SSLContext:
        """The TLS context, with the authorities of the system, of `SSL_CERT_FILE` or `SSL_CERT_DIR`, or of `ca`. Raises
        `EntryError` for files that cannot be used.
        """
        if not self.url.lower().startswith("https:") and not proxy_of(self.url).startswith("https:"):
            # Loading the authorities takes longer than a call. Without them this context trusts nothing.
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        file = self.ca or os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR") or "the system"
        try:
            if self.ca is not None:
                context = ssl.create_default_context(cafile=str(Path(self.ca).expanduser()))
            else:
                context = httpx2.create_ssl_context()
            if self.cert is not None:
                file = self.cert
                key = str(Path(self.key).expanduser()) if self.key is not None else None
                # A pass phrase cannot be prompted for here.
                context.load_cert_chain(str(Path(self.cert).expanduser()), key, password="")
        except (OSError, ValueError) as cause:
            is_missing = isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError)
            reason = cause.strerror if is_missing else "not certificates in PEM, or not the key that belongs to them"  # type: ignore[union-attr]
            raise EntryError(self.server, f"the certificates of {file!r} cannot be used: {reason}") from cause
        return context

    def proxy(self) -> str:
        """The host of the proxy that connections go through, empty without one. For errors."""
        return urlsplit(proxy_of(self.url)).hostname or ""


def same_origin(url: str, place: str) -> str | None:
    """`place`, which may be relative, resolved against `url`; None if it has another origin."""
    found = urljoin(url, place)
    try:
        return found if _origin(found) == _origin(url) else None
    except ValueError:
        return None


def shown_origin(url: str) -> str:
    """The origin of a URL, as it is shown in an error."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an invalid URL"
    return one_line(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}")


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or _DEFAULT_PORTS.get(parts.scheme)


def proxy_of(url: str) -> str:
    """The URL of the proxy through which requests to `url` go, empty without one."""
    proxies = urllib.request.getproxies()
    parts = urlsplit(url)
    found = proxies.get(parts.scheme) or proxies.get("all") or ""
    if not found or _is_spared(parts.hostname or "", parts.port, proxies.get("no", "")):
        return ""
    return found if "://" in found else f"http://{found}"


def _is_spared(host: str, port: int | None, no_proxy: str) -> bool:
    # curl supports networks and `*.`, the standard library does not.
    for name in no_proxy.lower().split(","):
        spared = name.strip().removeprefix("*.").strip("[]")
        if _is_in_network(host, spared) or (spared and host.endswith(f".{spared}")):
            return True
    return bool(urllib.request.proxy_bypass(host if port is None else f"{host}:{port}"))


def _is_in_network(host: str, network: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
