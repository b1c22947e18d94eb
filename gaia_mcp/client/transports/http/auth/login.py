"""A login: the user grants access in a browser, or pastes the URL that the browser was redirected to.

The loopback listener for the redirect is bound before the browser opens, accepts the one redirect that belongs to the
login, responds with a plain page, and is always closed.
"""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue
from socketserver import TCPServer
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from gaia_mcp.client.transports.http.auth.fetching import Fetcher, UnacceptableError
from gaia_mcp.client.transports.http.auth.grants import Grant, Grants, granted
from gaia_mcp.client.transports.http.auth.token_requests import (
    Sources,
    UnsignableError,
    check_signing,
    new_key,
    request_tokens,
    unsignable,
)
from gaia_mcp.client.transports.http.auth.tokens import (
    CLIENT_REFUSED,
    SECRET_BYTES,
    Attempt,
    DeniedError,
    ForeignRedirectError,
    Identity,
    TokenRefusedError,
    begun,
    code_form,
    configured_identity,
    document_identity,
    read_registration,
    refusal,
    registration,
)
from gaia_mcp.core.errors import AuthorizationError, DeadlineError
from gaia_mcp.text import one_line

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.auth import Person, Settings
    from gaia_mcp.client.transports.http.auth.discovery import Found
    from gaia_mcp.core.deadline import Deadline

# How often to check whether a redirect was pasted.
SLICE_SECONDS = 0.1
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


class _ForgottenError(Exception):
    """The authorization server no longer knows the client of an earlier registration."""


class _RedirectRefusedError(Exception):
    """The authorization server refuses to register a client with this redirect URI."""


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


class Login(NamedTuple):
    """One login: the values that its steps share."""

    found: Found
    settings: Settings
    grants: Grants
    fetcher: Fetcher
    person: Person
    sources: Sources
    deadline: Deadline

    def grant(self, scopes: tuple[str, ...], *, is_anew: bool = False, uri: str = LOOPBACK) -> Grant:
        """Let the user grant these scopes. Returns the grant, not yet stored. With `is_anew` the client is registered
        again, if the server allows that; `uri` is the redirect URI that it registers, if the entry names none.

        Raises `AuthorizationError`, and `DeadlineError` if no redirect arrives.
        """
        try:
            return self._granted(scopes, uri, is_anew=is_anew)
        except _ForgottenError:
            return self.grant(scopes, uri=uri)
        except _RedirectRefusedError as cause:
            if uri == LOOPBACK and not self.settings.redirect_uri:
                return self.grant(scopes, is_anew=is_anew, uri=LOCALHOST)
            raise self._registration_refused(str(cause)) from cause
        except RedirectUriError as cause:
            told = f"the redirectUri of its entry, {self.settings.redirect_uri!r}, does not lead to this machine"
            raise self.fetcher.error(f"was not authorized: {told}", case="redirect-uri") from cause
        except UnacceptableError as cause:
            issuer = self.found.server.issuer
            raise self.fetcher.unusable(f"its authorization server {issuer} {cause}") from cause
        except DeniedError as cause:
            raise self.fetcher.error(f"was not authorized: {one_line(str(cause))}") from cause
        except TokenRefusedError as cause:
            raise self.fetcher.error(f"was not authorized: {one_line(str(cause))}") from cause
        except UnsignableError as cause:
            raise unsignable(self.fetcher, cause) from cause

    def _granted(self, scopes: tuple[str, ...], uri: str, *, is_anew: bool) -> Grant:
        server = self.found.server
        resource = self.found.resource.identifier
        key = ""
        if self.found.wants_dpop:
            check_signing()
            key = new_key()
        before = self._registered()
        with self._listener(before, uri) as listener:
            known = before if before is not None and before.redirect_uri == listener.redirect_uri else None
            identity = self._identity(known, listener.redirect_uri, scopes, is_anew=is_anew)
            random = (self.sources.random(SECRET_BYTES), self.sources.random(SECRET_BYTES))
            attempt = begun(server, identity.client_id, listener.redirect_uri, resource, scopes, random)
            url = attempt.url()
            listener.expect(attempt.is_answered_by)
            self.person.show(url)
            try:
                code = self._code(attempt, listener)
            except DeadlineError:
                # The page of a server that has forgotten the client sends nobody back: the next login registers anew.
                if identity == known:
                    self._forget_registration()
                raise
        try:
            document = request_tokens(
                server.token_endpoint,
                code_form(attempt, code),
                identity,
                self.fetcher,
                self.sources,
                self.deadline,
                issuer=server.issuer,
                settings=self.settings,
                dpop_key=key,
            )
        except TokenRefusedError as cause:
            if cause.code in CLIENT_REFUSED and identity == known:
                self._forget_registration()
                raise _ForgottenError from cause
            raise
        return granted(server, resource, identity, document, scopes, key, self.sources.now())

    def _code(self, attempt: Attempt, listener: Listener) -> str:
        while not self.deadline.expired:
            redirect = listener.take(min(SLICE_SECONDS, self.deadline.remaining())) or self.person.pasted()
            if redirect is not None:
                try:
                    return attempt.code_in(redirect)
                except ForeignRedirectError as cause:
                    told = "was not authorized: what was pasted is not its answer"
                    raise self.fetcher.error(told, case="pasted") from cause
        server = self.fetcher.server
        raise DeadlineError(server, "to its login in the browser", self.deadline.allowed, case="login")

    def _listener(self, before: Identity | None, uri: str) -> Listener:
        """The listener for the redirect: of the entry, of the earlier registration, or with `uri` on any port."""
        given, port = self.settings.redirect_uri, self.settings.callback_port
        if given or (self.settings.client_id and port):
            try:
                return Listener(given or LOCALHOST, port)
            except PortTakenError as cause:
                told = f"port {cause.port} of its entry is taken"
                raise self.fetcher.error(f"was not authorized: {told}", case="callback-port") from cause
        if before is not None:
            with suppress(PortTakenError):
                return Listener(before.redirect_uri)
            return Listener(without_port(before.redirect_uri))
        return Listener(uri)

    def _identity(
        self, known: Identity | None, redirect_uri: str, scopes: tuple[str, ...], *, is_anew: bool
    ) -> Identity:
        """The identity for a login; `known` is the earlier registration with this redirect URI."""
        server, settings = self.found.server, self.settings
        if settings.client_id:
            return configured_identity(settings.client_id, settings.client_secret, server)
        if settings.client_document and server.takes_documents:
            return document_identity(settings.client_document)
        if known is not None and (not is_anew or server.registration_endpoint is None):
            return known
        if server.registration_endpoint is None:
            error = self.fetcher.unusable(f"its authorization server {server.issuer} registers no client")
            error.case = "client-unknown"
            raise error
        asked = registration(redirect_uri, scopes, server)
        reply = self.fetcher.post(server.registration_endpoint, "its registration", self.deadline, body=asked)
        if not reply.is_success:
            if known is not None:
                return known  # It may allow only so many.
            reason = str(refusal(reply.document))
            if server.is_assumed and not reason:
                error = self.fetcher.error("requires authorization, and publishes no authorization server to log in to")
                error.case = "token-only"
                raise error
            if "redirect" in reason.lower():
                raise _RedirectRefusedError(reason)
            raise self._registration_refused(reason or f"status {reply.status}")
        return read_registration(reply.document, asked)

    def _registration_refused(self, reason: str) -> AuthorizationError:
        told = f"it refused to register this client: {one_line(reason)}"
        return self.fetcher.error(f"was not authorized: {told}", case="registration-refused")

    def _registered(self) -> Identity | None:
        """The identity from an earlier registration at the same issuer."""
        if self.settings.client_id or (self.settings.client_document and self.found.server.takes_documents):
            return None
        kept = self.grants.read(self.found.server.issuer, self.found.resource.identifier)
        # The secret of an unreadable one is unknown.
        is_usable = kept is not None and kept.identity.redirect_uri and not kept.unreadable
        return kept.identity if kept is not None and is_usable else None

    def _forget_registration(self) -> None:
        """Do not use the earlier registration for another login. Its tokens stay."""
        issuer, resource = self.found.server.issuer, self.found.resource.identifier
        with self.grants.locked(issuer, resource, self.deadline):
            if (kept := self.grants.read(issuer, resource)) is not None:
                self.grants.keep(kept._replace(identity=kept.identity._replace(redirect_uri="")))
