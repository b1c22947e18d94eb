"""Logins to servers behind URLs: log in, log out, and show the state.

A grant belongs to an issuer and a resource, and is used for every entry with a URL that the resource covers. No token
leaves this module.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gaia_mcp.config.targets import Remote
from gaia_mcp.core.errors import AuthorizationError, EntryError, MCPError
from gaia_mcp.core.grant_kinds import LOGIN
from gaia_mcp.core.paths import cache_folder, config_folder
from gaia_mcp.storage.server_cache import LISTS, ServerCache

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.auth import Person
    from gaia_mcp.client.transports.http.auth.grants import Grant, Grants
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.core.deadline import Deadline

# How the requests to a server are authorized.
HEADER, OFF, PROGRAM, PERSON = "header", "off", "program", "person"
# For the revocation request; the authorization server may be unreachable.
REVOKE_SECONDS = 10.0


class Login(NamedTuple):
    """The login state of a server; without an `issuer` there is no grant. Times are in seconds since 1970.

    `way` is how its requests are authorized. With `is_renewed` a token that expires is replaced without the user.
    """

    server: str
    url: str
    way: str
    issuer: str = ""
    scopes: tuple[str, ...] = ()
    expires_at: float | None = None
    is_renewed: bool = False

    @property
    def is_good(self) -> bool:
        """Whether the server can be used without a login, as far as is known without a request."""
        has_expired = self.expires_at is not None and self.expires_at <= time.time()
        return self.way in (HEADER, PROGRAM) or (bool(self.issuer) and (self.is_renewed or not has_expired))


def log_in(entry: ServerEntry, person: Person, scopes: Sequence[str], deadline: Deadline) -> Login:
    """Obtain access to a server from the `person`, or with the entry's settings for programs, for these `scopes` and
    those requested before.

    Raises `EntryError` for a server without authorization, `AuthorizationError`, `DeadlineError`, `ConfigFileError`,
    and as `ServerEntry.resolved` does.
    """
    from gaia_mcp.client.transports.factory import authorizer_of
    from gaia_mcp.client.transports.http.auth.oauth import OAuth

    target = _remote(entry)
    authorizer = authorizer_of(entry, person=person)
    if not isinstance(authorizer, OAuth):
        raise _unauthorizable(entry, target)
    grant = authorizer.log_in(target.headers, tuple(scopes), deadline)
    _forget_lists(entry)
    return _login(entry, target, grant)


def log_out(entry: ServerEntry, deadline: Deadline) -> bool:
    """Delete the grant for a server, and revoke it at the authorization server if possible. Returns whether there was
    one. Raises `EntryError` for a server without a URL, `AuthorizationError` for tokens that cannot be read,
    `ConfigFileError`.
    """
    target = _remote(entry)
    grants = _grants()
    found = False
    while (grant := grants.find(target.url)) is not None:
        _check_readable(entry, grant)
        found = True
        with grants.locked(grant.issuer, grant.resource, deadline):
            grants.forget(grant)
        _revoke(entry, target, grant, deadline)
    _forget_lists(entry)
    return found


def login_of(entry: ServerEntry) -> Login:
    """The login state of a server. Raises `EntryError` for a server without a URL, `AuthorizationError` for tokens that
    cannot be read, `ConfigFileError`.
    """
    target = _remote(entry)
    grant = _grants().find(target.url, str(target.oauth.values.get("client_id", "")))
    if grant is not None:
        _check_readable(entry, grant)
    return _login(entry, target, grant)


def has_grants() -> bool:
    """Whether any grant was ever stored."""
    return (config_folder() / "tokens").is_dir()


def forget_unused(removed: Iterable[ServerEntry], left: Iterable[ServerEntry], deadline: Deadline) -> list[str]:
    """Log out of the `removed` servers whose grant no server in `left` uses. Returns the names of these servers.

    Raises `ConfigFileError`.
    """
    from gaia_mcp.client.transports.http.auth.fetching import covers

    used = [target.url for entry in left if (target := _remote_or_none(entry)) is not None]
    ended = []
    for entry in removed:
        target = _remote_or_none(entry)
        grant = _grants().find(target.url) if target is not None else None
        # An unreadable one stays; `logout` with the URL deletes it.
        if grant is not None and not grant.unreadable and not any(covers(grant.resource, url) for url in used):
            log_out(entry, deadline)
            ended.append(entry.name)
    return ended


def _check_readable(entry: ServerEntry, grant: Grant) -> None:
    from gaia_mcp.client.transports.http.auth.grants import unreadable_login

    if grant.unreadable:
        raise unreadable_login(entry.name, grant)


def _grants() -> Grants:
    from gaia_mcp.client.transports.http.auth.grants import Grants

    return Grants(config_folder())


def _remote(entry: ServerEntry) -> Remote:
    import os

    target = entry.target.resolved(entry.name, os.environ) if isinstance(entry.target, Remote) else entry.target
    if not isinstance(target, Remote):
        raise EntryError(entry.name, "has no URL; only servers behind a URL have a login", case="no-login")
    return target


def _remote_or_none(entry: ServerEntry) -> Remote | None:
    from gaia_mcp.client.transports.http.auth.fetching import UnacceptableError, origin_of

    try:
        target = _remote(entry)
        origin_of(target.url)
    except (MCPError, UnacceptableError):
        return None
    return target


def _unauthorizable(entry: ServerEntry, target: Remote) -> AuthorizationError:
    if target.oauth.is_off:
        return AuthorizationError(entry.name, "has no login: OAuth is disabled in its entry", case="oauth-off")
    return AuthorizationError(entry.name, "has no login: its entry has an Authorization header", case="header")


def _way(target: Remote) -> str:
    if any(name.lower() == "authorization" for name in target.headers):
        return HEADER
    if target.oauth.is_off:
        return OFF
    return PERSON if target.oauth.values.get("grant", LOGIN) == LOGIN else PROGRAM


def _login(entry: ServerEntry, target: Remote, grant: Grant | None) -> Login:
    from gaia_mcp.text.redaction import masked_url

    url, way = masked_url(target.url), _way(target)
    if grant is None or grant.tokens is None or way in (HEADER, OFF):
        return Login(entry.name, url, way)
    tokens = grant.tokens
    is_renewed = bool(tokens.refresh) or way == PROGRAM
    return Login(entry.name, url, way, grant.issuer, tokens.scopes, tokens.expires_at, is_renewed)


def _revoke(entry: ServerEntry, target: Remote, grant: Grant, deadline: Deadline) -> None:
    """Revoke the tokens at the authorization server (RFC 7009). Its response does not matter: they are deleted here."""
    from gaia_mcp.client.transports.http.auth.fetching import Fetcher
    from gaia_mcp.client.transports.http.auth.tokens import authenticated

    tokens = grant.tokens
    if tokens is None or not grant.revocation_endpoint or grant.identity.method == "private_key_jwt":
        return
    part = deadline.sooner(REVOKE_SECONDS)
    with Fetcher(entry.name, target.url, is_trusted=bool(target.oauth.values)) as fetcher:
        for token, hint in ((tokens.refresh, "refresh_token"), (tokens.access, "access_token")):
            form, headers = authenticated({"token": token, "token_type_hint": hint}, grant.identity)
            try:
                if token:
                    fetcher.post(grant.revocation_endpoint, "its revocation", part, form=form, headers=headers)
            except MCPError:
                return


def _forget_lists(entry: ServerEntry) -> None:
    """Delete the cached lists, which were for another user, or for none."""
    cache = ServerCache(cache_folder(), entry)
    for kind in LISTS:
        cache.forget(kind)


def as_object(login: Login) -> Mapping[str, object]:
    """The login state as JSON, without any token."""
    expires = None
    if login.expires_at is not None:
        expires = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(login.expires_at))
    return {
        "server": login.server,
        "url": login.url,
        "by": login.way,
        "logged_in": login.is_good,
        "issuer": login.issuer or None,
        "scopes": list(login.scopes),
        "expires_at": expires,
        "renewed": login.is_renewed,
    }
