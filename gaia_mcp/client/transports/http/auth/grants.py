"""Grants: the tokens that an authorization server has issued for a resource, and the client's identity.

They are stored by issuer and resource, found by the URL of a server, and changed by one process at a time.
"""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.client.transports.http.auth.fetching import canonical, covers, origin_of
from gaia_mcp.client.transports.http.auth.tokens import Identity, Tokens, read_tokens
from gaia_mcp.core.errors import AuthorizationError
from gaia_mcp.storage.credentials import NO_PACKAGE, CredentialStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from gaia_mcp.client.transports.http.auth.discovery import AuthorizationServer
    from gaia_mcp.core.deadline import Deadline

FOLDER = "tokens"


class Grant(NamedTuple):
    """A grant. `tokens` is None once they were rejected: then only the identity is left, for the next login.

    `requested` are the requested scopes. `dpop_key` is the private key that the tokens are bound to, as PEM.
    `unreadable` is the reason why the stored tokens cannot be read; the grant has no secrets then.
    """

    resource: str
    issuer: str
    token_endpoint: str
    identity: Identity
    tokens: Tokens | None
    requested: tuple[str, ...] = ()
    revocation_endpoint: str = ""
    dpop_key: str = ""
    granted_at: float = 0.0
    unreadable: str = ""


def granted(
    server: AuthorizationServer,
    resource: str,
    identity: Identity,
    document: Mapping[str, Any],
    scopes: tuple[str, ...],
    dpop_key: str,
    now: float,
) -> Grant:
    """The grant of `server` to `identity`, from the response `document` of its token endpoint to a request for
    `scopes`. `dpop_key` is the key that DPoP tokens are bound to.

    Raises `UnacceptableError` for a document without a usable token.
    """
    tokens = read_tokens(document, now, scopes)
    return Grant(
        resource,
        server.issuer,
        server.token_endpoint,
        identity,
        tokens,
        scopes,
        server.revocation_endpoint or "",
        dpop_key if tokens.kind == "DPoP" else "",
        now,
    )


class Grants:
    """The grants that are stored in the configuration folder."""

    def __init__(self, config_folder: Path) -> None:
        self._store = CredentialStore(config_folder / FOLDER)

    def find(self, url: str, client_id: str = "") -> Grant | None:
        """The grant for the server at `url`: of several, the one with the most specific resource, then the newest. With
        a `client_id` only a grant of that client.

        Raises `ConfigFileError` for a file that cannot be read.
        """
        found = [grant for grant in self._of_origin(url) if client_id in ("", grant.identity.client_id)]
        return max(found, key=lambda grant: (len(grant.resource), grant.granted_at), default=None)

    def read(self, issuer: str, resource: str) -> Grant | None:
        """The grant of that issuer for that resource, None without one."""
        return self._read(name_of(issuer, resource))

    def all(self) -> list[Grant]:
        """All grants, in no particular order."""
        return [grant for name in self._store.names() if (grant := self._read(name)) is not None]

    @contextmanager
    def locked(self, issuer: str, resource: str, deadline: Deadline) -> Iterator[None]:
        """Hold the inter-process lock of one grant. Raises `ConfigFileError` if it is not free in time."""
        with self._store.locked(name_of(issuer, resource), deadline.remaining()):
            yield

    def keep(self, grant: Grant) -> None:
        """Store a grant, in place of an earlier one. The caller holds its lock. Raises `ConfigFileError`."""
        tokens = grant.tokens
        document: dict[str, Any] = {
            "resource": grant.resource,
            "issuer": grant.issuer,
            "token_endpoint": grant.token_endpoint,
            "revocation_endpoint": grant.revocation_endpoint,
            "client_id": grant.identity.client_id,
            "method": grant.identity.method,
            "redirect_uri": grant.identity.redirect_uri,
            "requested": list(grant.requested),
            "granted_at": grant.granted_at,
        }
        secret: dict[str, Any] = {"client_secret": grant.identity.secret, "dpop_key": grant.dpop_key}
        if tokens is not None:
            document |= {"kind": tokens.kind, "expires_at": tokens.expires_at, "scopes": list(tokens.scopes)}
            document["early"] = tokens.early
            secret |= {"access_token": tokens.access, "refresh_token": tokens.refresh}
        self._store.write(name_of(grant.issuer, grant.resource), document, secret)

    def forget(self, grant: Grant) -> None:
        """Delete a grant. The caller holds its lock. Raises `ConfigFileError`."""
        self._store.forget(name_of(grant.issuer, grant.resource))

    def _of_origin(self, url: str) -> Iterator[Grant]:
        for name in self._store.names(_prefix(url)):
            grant = self._read(name)
            if grant is not None and covers(grant.resource, url):
                yield grant

    def _read(self, name: str) -> Grant | None:
        held = self._store.read(name)
        if held is None:
            return None
        document, secret, unreadable = held
        if unreadable:
            secret = {"client_secret": "", "dpop_key": ""}
        try:
            tokens = None
            if "access_token" in secret:
                tokens = Tokens(
                    str(secret["access_token"]),
                    str(document["kind"]),
                    document["expires_at"],
                    str(secret["refresh_token"]),
                    tuple(document["scopes"]),
                    float(document["early"]),
                )
            identity = Identity(
                document["client_id"], document["method"], secret["client_secret"], document["redirect_uri"]
            )
            grant = Grant(
                document["resource"],
                document["issuer"],
                document["token_endpoint"],
                identity,
                tokens,
                tuple(document["requested"]),
                document["revocation_endpoint"],
                secret["dpop_key"],
                float(document["granted_at"]),
                unreadable,
            )
            # A moved or edited file must not be used for another server than its name states.
            return grant if name == name_of(grant.issuer, grant.resource) else None
        except (KeyError, TypeError, ValueError, AttributeError):
            return None


def unreadable_login(server: str, grant: Grant) -> AuthorizationError:
    """The error for tokens of `server` that exist but cannot be read, and so neither used nor revoked."""
    problem = f"has a login in the system's keyring, which cannot be read: {grant.unreadable}"
    if grant.unreadable == NO_PACKAGE:
        return AuthorizationError(server, problem, case="keyring-missing")
    return AuthorizationError(server, problem, case="keyring-locked")


def name_of(issuer: str, resource: str) -> str:
    """The file name of a grant, which reveals neither argument. Raises `UnacceptableError`."""
    return f"{_prefix(resource)}{_digest(issuer, canonical(resource))}"


def _prefix(url: str) -> str:
    return f"{_digest(origin_of(url))}-"


def _digest(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
