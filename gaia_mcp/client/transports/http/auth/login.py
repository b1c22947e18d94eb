"""A login: the user grants access in a browser, or pastes the URL that the browser was redirected to."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from gaia_mcp.client.transports.http.auth.addresses import UnacceptableError
from gaia_mcp.client.transports.http.auth.endpoint import (
    Sources,
    UnsignableError,
    check_signing,
    new_key,
    request_tokens,
    unsignable,
)
from gaia_mcp.client.transports.http.auth.grants import Grant, Grants, granted
from gaia_mcp.client.transports.http.auth.listener import (
    LOCALHOST,
    LOOPBACK,
    Listener,
    PortTakenError,
    RedirectUriError,
    without_port,
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
from gaia_mcp.errors import DeadlineError
from gaia_mcp.safetext import one_line

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.auth import Person, Settings
    from gaia_mcp.client.transports.http.auth.fetching import Fetcher
    from gaia_mcp.client.transports.http.auth.metadata import Found
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.errors import AuthorizationError

# How often to check whether a redirect was pasted.
SLICE_SECONDS = 0.1


class _ForgottenError(Exception):
    """The authorization server no longer knows the client of an earlier registration."""


class _RedirectRefusedError(Exception):
    """The authorization server refuses to register a client with this redirect URI."""


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
