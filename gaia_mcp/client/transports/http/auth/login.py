"""A login: the user grants access in a browser, or pastes the URL that the browser was redirected to."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gaia_mcp.client.transports.http.auth.addresses import UnacceptableError
from gaia_mcp.client.transports.http.auth.authorization import (
    SECRET_BYTES,
    Attempt,
    DeniedError,
    ForeignRedirectError,
    begun,
)
from gaia_mcp.client.transports.http.auth.endpoint import Sources, request_tokens, unsignable
from gaia_mcp.client.transports.http.auth.grants import Grant, Grants, granted
from gaia_mcp.client.transports.http.auth.identity import (
    Identity,
    configured_identity,
    document_identity,
    read_registration,
    registration,
)
from gaia_mcp.client.transports.http.auth.listener import Listener, PortTakenError
from gaia_mcp.client.transports.http.auth.signing import UnsignableError, check_signing, new_key
from gaia_mcp.client.transports.http.auth.tokens import (
    CLIENT_REFUSED,
    TokenRefusedError,
    code_form,
    refusal,
)
from gaia_mcp.errors import DeadlineError
from gaia_mcp.safetext import one_line

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.auth.discovery import Found
    from gaia_mcp.client.transports.http.auth.fetching import Fetcher
    from gaia_mcp.client.transports.http.auth.person import Person
    from gaia_mcp.client.transports.http.auth.settings import Settings
    from gaia_mcp.deadline import Deadline

# How often to check whether a redirect was pasted.
SLICE_SECONDS = 0.1


class Login(NamedTuple):
    """One login: the values that its steps share."""

    found: Found
    settings: Settings
    grants: Grants
    fetcher: Fetcher
    person: Person
    sources: Sources
    deadline: Deadline

    def grant(self, scopes: tuple[str, ...], *, is_again: bool = False) -> Grant:
        """Let the user grant these scopes. Returns the grant, not yet stored. With `is_again` the client is registered
        again.

        Raises `AuthorizationError`, and `DeadlineError` if no redirect arrives.
        """
        try:
            return self._granted(scopes, is_again=is_again)
        except UnacceptableError as cause:
            issuer = self.found.server.issuer
            raise self.fetcher.unusable(f"its authorization server {issuer} {cause}") from cause
        except DeniedError as cause:
            raise self.fetcher.error(f"was not authorized: {one_line(str(cause))}") from cause
        except TokenRefusedError as cause:
            if cause.code in CLIENT_REFUSED and not is_again and self._registered() is not None:
                return self.grant(scopes, is_again=True)
            raise self.fetcher.error(f"was not authorized: {one_line(str(cause))}") from cause
        except UnsignableError as cause:
            raise unsignable(self.fetcher, cause) from cause

    def _granted(self, scopes: tuple[str, ...], *, is_again: bool) -> Grant:
        server = self.found.server
        resource = self.found.resource.identifier
        key = ""
        if self.found.wants_dpop:
            check_signing()
            key = new_key()
        before = None if is_again else self._registered()
        with self._listener(before) as listener:
            identity = self._identity(before, listener.redirect_uri, scopes)
            random = (self.sources.random(SECRET_BYTES), self.sources.random(SECRET_BYTES))
            attempt = begun(server, identity.client_id, listener.redirect_uri, resource, scopes, random)
            url = attempt.url()
            listener.expect(attempt.is_answered_by)
            self.person.show(url)
            code = self._code(attempt, listener)
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
        return granted(server, resource, identity, document, scopes, key, self.sources.now())

    def _code(self, attempt: Attempt, listener: Listener) -> str:
        while not self.deadline.expired:
            redirect = listener.take(min(SLICE_SECONDS, self.deadline.remaining())) or self.person.pasted()
            if redirect is not None:
                try:
                    return attempt.code_in(redirect)
                except ForeignRedirectError as cause:
                    raise self.fetcher.error("was not authorized: what was pasted is not its answer") from cause
        server = self.fetcher.server
        raise DeadlineError(server, "to its login in the browser", self.deadline.allowed, case="login")

    def _listener(self, before: Identity | None) -> Listener:
        """The listener for the redirect, on the registered port if there is one."""
        port = self.settings.callback_port
        try:
            if self.settings.client_id and port:
                return Listener(port, is_localhost=True)
            if before is not None:
                return Listener(int(before.redirect_uri.rpartition(":")[2].partition("/")[0]))
        except PortTakenError as cause:
            if before is None:
                raise self.fetcher.error(f"was not authorized: port {port} of its entry is taken") from cause
        return Listener()

    def _identity(self, before: Identity | None, redirect_uri: str, scopes: tuple[str, ...]) -> Identity:
        server, settings = self.found.server, self.settings
        if settings.client_id:
            return configured_identity(settings.client_id, settings.client_secret, server)
        if settings.client_document and server.takes_documents:
            return document_identity(settings.client_document)
        if before is not None and before.redirect_uri == redirect_uri:
            return before
        if server.registration_endpoint is None:
            error = self.fetcher.unusable(f"its authorization server {server.issuer} registers no client")
            error.case = "client-unknown"
            raise error
        asked = registration(redirect_uri, scopes, server)
        reply = self.fetcher.post(server.registration_endpoint, "its registration", self.deadline, body=asked)
        if not reply.is_success:
            reason = str(refusal(reply.document))
            if server.is_assumed and not reason:
                error = self.fetcher.error("requires authorization, and publishes no authorization server to log in to")
                error.case = "token-only"
                raise error
            told = one_line(reason or f"status {reply.status}")
            raise self.fetcher.error(f"was not authorized: it refused to register this client: {told}")
        return read_registration(reply.document, asked)

    def _registered(self) -> Identity | None:
        """The identity from an earlier registration at the same issuer."""
        if self.settings.client_id or (self.settings.client_document and self.found.server.takes_documents):
            return None
        kept = self.grants.read(self.found.server.issuer, self.found.resource.identifier)
        # The secret of an unreadable one is unknown.
        is_usable = kept is not None and kept.identity.redirect_uri and not kept.unreadable
        return kept.identity if kept is not None and is_usable else None
