"""The loopback listener for the redirect of a login.

It is bound before the browser opens, so that no other program can take its port; it accepts the one redirect that
belongs to the login, responds with a plain page, and is always closed.
"""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue
from socketserver import TCPServer
from urllib.parse import urlsplit

# The redirect URIs of this program, without a port: the one that it registers, as RFC 8252 advises, and the one of
# registrations by hand, and of servers that take no address.
LOOPBACK = "http://127.0.0.1/callback"
LOCALHOST = "http://localhost/callback"
# The addresses that a browser may take for the host of a redirect URI; it must have the first.
_ADDRESSES = {"127.0.0.1": ["127.0.0.1"], "localhost": ["127.0.0.1", "::1"], "::1": ["::1"]}
# A browser that opens a connection and sends nothing is disconnected.
REQUEST_SECONDS = 5
_POLL_SECONDS = 0.05
_PAGE = (
    "<!doctype html><html lang=en><meta charset=utf-8><title>gaia-mcp</title><style>body{{font:1.1em sans-serif;"
    "margin:4em}}</style><p>{}</p></html>\n"
)
TAKEN = "gaia-mcp has the answer. You can close this page and go back to the terminal."
REFUSED = "This is not the answer to a login that gaia-mcp waits for."


class PortTakenError(Exception):
    """Another program listens on `port`."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.port = port


class RedirectUriError(Exception):
    """A redirect URI does not lead to this machine over plain HTTP."""


class Listener:
    """Listens on this machine from its creation until `close`, for a redirect to `uri`. If that names no port, it is
    `port`; port 0 selects any free port.

    Raises `PortTakenError`, and `RedirectUriError`.
    """

    def __init__(self, uri: str = LOOPBACK, port: int = 0) -> None:
        host, named, self._path = _split(uri)
        self._redirects: SimpleQueue[str] = SimpleQueue()
        self._is_ours: Callable[[str], bool] = lambda _: False
        self._servers: list[_Server] = []
        try:
            address, *others = _ADDRESSES[host]
            self._listen(address, named or port)
            self.port = int(self._servers[0].server_address[1])
            for other in others:
                self._listen(other, self.port, is_needed=False)
        except BaseException:
            self.close()
            raise
        # The server compares it as text.
        self.redirect_uri = uri if named else _with_port(uri, self.port)

    def __enter__(self) -> Listener:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def expect(self, is_ours: Callable[[str], bool]) -> None:
        """From now on accept a redirect whose URL satisfies `is_ours`."""
        self._is_ours = is_ours

    def take(self, seconds: float) -> str | None:
        """The path and query of the redirect, once; None if it does not arrive within `seconds`."""
        try:
            return self._redirects.get(timeout=seconds)
        except Empty:
            return None

    def close(self) -> None:
        """Stop listening. May be called twice."""
        while self._servers:
            server = self._servers.pop()
            server.shutdown()
            server.server_close()

    def _listen(self, host: str, port: int, *, is_needed: bool = True) -> None:
        try:
            server = _Server(host, port, self._answer)
        except OSError as cause:
            if cause.errno == errno.EADDRINUSE:
                raise PortTakenError(port) from cause
            if is_needed:
                raise
            return  # This machine has no such address, so no browser uses it.
        self._servers.append(server)
        threading.Thread(target=server.serve_forever, args=(_POLL_SECONDS,), name="gaia-mcp login", daemon=True).start()

    def _answer(self, path: str) -> tuple[int, str]:
        """The status and the text for a request."""
        if path.partition("?")[0] != self._path:
            return 404, REFUSED
        if not self._is_ours(path):
            return 400, REFUSED
        self._is_ours = lambda _: False
        self._redirects.put(path)
        return 200, TAKEN


def without_port(uri: str) -> str:
    """A redirect URI of `Listener`, for any port."""
    netloc = urlsplit(uri).netloc
    return uri.replace(netloc, netloc.rpartition(":")[0], 1)


def _with_port(uri: str, port: int) -> str:
    netloc = urlsplit(uri).netloc
    return uri.replace(netloc, f"{netloc.rstrip(':')}:{port}", 1)


def _split(uri: str) -> tuple[str, int, str]:
    """The host, the port and the path of a redirect URI; port 0 if it names none."""
    try:
        parts = urlsplit(uri)
        host, port = parts.hostname or "", parts.port or 0
    except ValueError as cause:
        raise RedirectUriError from cause
    # A browser would send the fragment to nobody, and the server's parameters follow the path.
    if parts.scheme != "http" or host not in _ADDRESSES or "@" in parts.netloc or parts.query or parts.fragment:
        raise RedirectUriError
    return host, port, parts.path or "/"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    # A recently closed connection must not block the port; on Windows this would let two programs share it.
    allow_reuse_address = os.name != "nt"

    def __init__(self, host: str, port: int, answer: Callable[[str], tuple[int, str]]) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.answer = answer
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        # HTTPServer would look up the name of this machine, which may take long.
        TCPServer.server_bind(self)

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore the error: the browser has disconnected."""


class _Handler(BaseHTTPRequestHandler):
    timeout = REQUEST_SECONDS
    server: _Server

    def do_GET(self) -> None:
        """Respond with a page without a script, a link, or anything from the request."""
        status, words = self.server.answer(self.path)
        page = _PAGE.format(words).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.send_header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
        self.send_header("Cache-Control", "no-store")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(page)

    def version_string(self) -> str:
        """Reveal no versions."""
        return "gaia-mcp"

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (of the base class)
        """Log nothing: the path contains the code."""
