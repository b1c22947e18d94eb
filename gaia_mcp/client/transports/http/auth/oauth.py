"""OAuth for a channel: the token of each request, and the reaction to a rejected request.

Loads nothing until there is a stored grant or a server has required authorization.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gaia_mcp.core.errors import AuthorizationError, DeadlineError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from gaia_mcp.client.transports.http.auth import Person, Settings
    from gaia_mcp.client.transports.http.auth.discovery import Challenge, Found
    from gaia_mcp.client.transports.http.auth.fetching import Fetcher
    from gaia_mcp.client.transports.http.auth.grants import Grant, Grants
    from gaia_mcp.client.transports.http.auth.token_requests import Sources
    from gaia_mcp.client.transports.http.connections import Response
    from gaia_mcp.core.deadline import Deadline

# As in the official SDKs: a server that rejects so many tokens in a row will reject the next.
MAX_AUTHORIZATIONS = 3
# For a server that rejects its own nonces, or a token that was just renewed. Several threads may get the same response.
MAX_REPETITIONS = 10
WINDOW_SECONDS = 60.0
NONCE_WANTED = "use_dpop_nonce"
INSUFFICIENT = "insufficient_scope"


class OAuth:
    """The authorization of requests to the server at `url`, whose grants are stored in `config_folder`.

    Without a `person` there is no login: an error reports that one is required. `context` returns the TLS context for
    the authorization server, if it is not the system's. Used from several threads at once.
    """

    def __init__(
        self,
        server: str,
        url: str,
        settings: Settings,
        config_folder: Path,
        *,
        person: Person | None = None,
        context: Callable[[], ssl.SSLContext] | None = None,
        sources: Sources | None = None,
    ) -> None:
        self._server = server
        self._url = url
        self._settings = settings
        self._folder = config_folder
        self._person = person
        self._context = context
        self._given_sources = sources
        self._lock = threading.Lock()
        self._grant: Grant | None = None
        self._has_looked = False
        self._nonce = ""
        # The times at which tokens were requested, and at which requests were repeated without a new token.
        self._authorizations: deque[float] = deque(maxlen=MAX_AUTHORIZATIONS)
        self._repetitions: deque[float] = deque(maxlen=MAX_REPETITIONS)

    def headers(self, method: str, url: str, deadline: Deadline) -> Mapping[str, str]:
        """See `Authorizer`."""
        if self._has_looked and self._grant is None:
            return {}  # Without the lock: a Ctrl-C may arrive at any moment of a request.
        with self._locked(deadline):
            grant = self._current(deadline)
            if grant is None or grant.tokens is None or not self._is_own(url):
                return {}
            headers = {"Authorization": grant.tokens.header()}
            if grant.dpop_key:
                headers["DPoP"] = self._proof(grant, method, url)
            return headers

    def challenged(self, response: Response, deadline: Deadline) -> bool:
        """See `Authorizer`."""
        from gaia_mcp.client.transports.http.auth.discovery import challenge_in

        challenge = challenge_in([response.headers.get("www-authenticate", "")])
        is_about_scopes = response.status_code == 403 and challenge.error == INSUFFICIENT
        if (response.status_code != 401 and not is_about_scopes) or not self._is_own(str(response.request.url)):
            return False
        with self._locked(deadline):
            if challenge.error == NONCE_WANTED and "dpop-nonce" in response.headers:
                self._nonce = response.headers["dpop-nonce"]
                return self._may_repeat()
            used = response.request.headers.get("authorization")
            if self._has_other(used) and self._may_repeat():
                return True
            if is_about_scopes:
                self._authorize(challenge, deadline, self._missing_scopes(challenge))
                return True
            if not (self._may_repeat() and self._renew(deadline)):
                self._authorize(challenge, deadline)
            return True

    def secrets(self) -> Sequence[str]:
        """See `Authorizer`."""
        grant = self._grant
        tokens = grant.tokens if grant is not None else None
        return () if tokens is None else [secret for secret in (tokens.access, tokens.refresh) if secret]

    def log_in(self, headers: Mapping[str, str], scopes: tuple[str, ...], deadline: Deadline) -> Grant:
        """A new grant, even if there is one, with these `scopes` and those requested before. `headers` are those of
        every request to the server. Raises as `challenged` does.
        """
        from gaia_mcp.client.transports.http.auth.discovery import PROBE, PROBE_HEADERS, challenge_in
        from gaia_mcp.client.transports.http.auth.tokens import union

        with self._locked(deadline):
            with self._make_fetcher() as fetcher:
                status, challenges = fetcher.refusal({**PROBE_HEADERS, **headers}, PROBE, deadline)
            before = self._look()
            wanted = union(before.requested, scopes) if before is not None and scopes else scopes
            return self._authorize(challenge_in(challenges), deadline, wanted, status=status, is_anew=True)

    @property
    def _grants(self) -> Grants:
        from gaia_mcp.client.transports.http.auth.grants import Grants

        return Grants(self._folder)

    @property
    def _sources(self) -> Sources:
        from gaia_mcp.client.transports.http.auth.token_requests import Sources

        return self._given_sources or Sources()

    def _make_fetcher(self) -> Fetcher:
        import httpx2

        from gaia_mcp.client.transports.http.auth.fetching import Fetcher

        settings = self._settings
        is_trusted = bool(settings.issuer or settings.metadata_url or settings.provider)
        client = httpx2.Client(verify=self._context(), follow_redirects=False) if self._context is not None else None
        return Fetcher(self._server, self._url, is_trusted=is_trusted, client=client)

    @contextmanager
    def _locked(self, deadline: Deadline) -> Iterator[None]:
        # Another thread may be waiting for the user.
        if not self._lock.acquire(timeout=deadline.remaining()):
            raise DeadlineError(self._server, "while it was authorized", deadline.allowed)
        try:
            yield
        finally:
            self._lock.release()

    def _is_own(self, url: str) -> bool:
        from gaia_mcp.client.transports.http.auth.fetching import UnacceptableError, origin_of

        try:
            return origin_of(url) == origin_of(self._url)
        except UnacceptableError:
            return False

    def _look(self) -> Grant | None:
        from gaia_mcp.client.transports.http.auth.grants import FOLDER

        self._has_looked = True
        if not (self._folder / FOLDER).is_dir():
            return None
        return self._grants.find(self._url, self._settings.client_id)

    def _current(self, deadline: Deadline) -> Grant | None:
        """The known grant, renewed if it is about to expire."""
        if not self._has_looked:
            self._grant = self._look()
        tokens = self._grant.tokens if self._grant is not None else None
        if tokens is not None and tokens.refresh and tokens.is_stale(self._sources.now()):
            self._renew(deadline)
        return self._grant

    def _has_other(self, used: str | None) -> bool:
        """Whether the token differs from the rejected one: another thread or process has replaced it."""
        if self._grant is None or self._grant.tokens is None or self._grant.tokens.header() == used:
            self._grant = self._look()
        return self._grant is not None and self._grant.tokens is not None and self._grant.tokens.header() != used

    def _renew(self, deadline: Deadline) -> bool:
        """Whether the token was replaced."""
        grant = self._grant
        if grant is None or grant.tokens is None or not grant.tokens.refresh:
            return False
        from gaia_mcp.client.transports.http.auth.token_requests import renewed

        with self._make_fetcher() as fetcher:
            self._grant = renewed(grant, self._grants, self._settings, fetcher, self._sources, deadline)
        return self._grant is not None

    def _missing_scopes(self, challenge: Challenge) -> tuple[str, ...]:
        """The scopes requested before and those of the challenge. Raises `AuthorizationError` if none are new."""
        from gaia_mcp.client.transports.http.auth.tokens import is_more, union

        requested = self._grant.requested if self._grant is not None else ()
        if self._grant is not None and not is_more(requested, challenge.scopes):
            named = " ".join(challenge.scopes) or "more than was granted"
            problem = f"requires {named}, which was asked for and not granted"
            raise AuthorizationError(self._server, problem, case="not-granted", scopes=challenge.scopes)
        return union(requested, challenge.scopes)

    def _authorize(
        self,
        challenge: Challenge,
        deadline: Deadline,
        scopes: tuple[str, ...] = (),
        *,
        status: int = 401,
        is_anew: bool = False,
    ) -> Grant:
        if self._person is None and not self._settings.is_for_programs:
            raise self._login_due(challenge, scopes)
        if not self._is_allowed(self._authorizations):
            raise AuthorizationError(self._server, "refuses every token that it is granted", scopes=challenge.scopes)
        from gaia_mcp.client.transports.http.auth.discovery import find
        from gaia_mcp.client.transports.http.auth.tokens import first_scopes, union

        with self._make_fetcher() as fetcher:
            found = find(self._url, challenge, self._settings, fetcher, deadline, status)
            self._check_issuer(found)
            needed = union(scopes, challenge.scopes)
            asked = first_scopes(needed, self._settings.scopes, found.resource.scopes, found.server.scopes)
            grant = self._granted(found, asked, fetcher, deadline, is_anew=is_anew)
        self._keep(grant, deadline)
        return grant

    def _granted(
        self, found: Found, scopes: tuple[str, ...], fetcher: Fetcher, deadline: Deadline, *, is_anew: bool
    ) -> Grant:
        if self._settings.is_for_programs:
            from gaia_mcp.client.transports.http.auth.token_requests import obtained

            return obtained(found, self._settings, scopes, fetcher, self._sources, deadline)
        from gaia_mcp.client.transports.http.auth.login import Login

        assert self._person is not None  # noqa: S101 (checked before a login)
        login = Login(found, self._settings, self._grants, fetcher, self._person, self._sources, deadline)
        # The user has asked for this login: the server may have forgotten the client, which only its page shows.
        return login.grant(scopes, is_anew=is_anew)

    def _keep(self, grant: Grant, deadline: Deadline) -> None:
        """Store the grant, and delete those of other issuers for the resource: the server has changed its issuer."""
        grants = self._grants
        for kept in grants.all():
            if kept.resource == grant.resource and kept.issuer != grant.issuer:
                with grants.locked(kept.issuer, kept.resource, deadline):
                    grants.forget(kept)
        with grants.locked(grant.issuer, grant.resource, deadline):
            grants.keep(grant)
        self._grant, self._has_looked = grant, True

    def _check_issuer(self, found: Found) -> None:
        """Raise if the server names another authorization server than before: it must not get the entry's secrets."""
        settings = self._settings
        if not (settings.client_secret or settings.private_key or settings.assertion) or settings.issuer:
            return
        before = self._grants.find(self._url, settings.client_id)
        if before is not None and before.issuer != found.server.issuer:
            raise AuthorizationError(
                self._server,
                f"names another authorization server than before: {found.server.issuer}, and not {before.issuer}",
                case="issuer-changed",
            )

    def _login_due(self, challenge: Challenge, scopes: tuple[str, ...]) -> AuthorizationError:
        if scopes:
            named = " ".join(challenge.scopes)
            problem = f"requires the scope {named}, which its token does not have"
            return AuthorizationError(self._server, problem, scopes=challenge.scopes)
        if self._grant is not None and self._grant.unreadable:
            from gaia_mcp.client.transports.http.auth.grants import unreadable_login

            return unreadable_login(self._server, self._grant)
        had = self._has_looked and self._grant is not None
        return AuthorizationError(self._server, "no longer accepts its token" if had else "requires authorization")

    def _proof(self, grant: Grant, method: str, url: str) -> str:
        from gaia_mcp.client.transports.http.auth.token_requests import UNIQUE_BYTES, UnsignableError, proof

        assert grant.tokens is not None  # noqa: S101 (its header has just been made)
        unique = self._sources.random(UNIQUE_BYTES)
        now, token = self._sources.now(), grant.tokens.access
        try:
            return proof(grant.dpop_key, method, url, now, unique, nonce=self._nonce, token=token)
        except UnsignableError as cause:
            problem = f"cannot be used: its authorization {cause}"
            raise AuthorizationError(self._server, problem, case="pyjwt-missing" if cause.is_missing else "") from cause

    def _may_repeat(self) -> bool:
        return self._is_allowed(self._repetitions)

    def _is_allowed(self, before: deque[float]) -> bool:
        """Whether fewer events than the limit were recorded in the last minute; records one now."""
        now = self._sources.now()
        if len(before) == before.maxlen and now - before[0] < WINDOW_SECONDS:
            return False
        before.append(now)
        return True
