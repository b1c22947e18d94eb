"""Grants: the tokens that an authorization server has issued for a resource, with the client's identity; and where they
are kept: in the system's keyring, else in files that only the user can read.

A grant is stored by issuer and resource, found by the URL of a server, and changed by one process at a time. Its secret
part is in the keyring if the package `keyring` is installed and stores it, else in the grant's file. The backends of
that package may raise any exception: Windows its own errors, a desktop those of its bus.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.client.transports.http.auth.fetching import canonical, covers, origin_of
from gaia_mcp.client.transports.http.auth.tokens import Identity, Tokens, read_tokens
from gaia_mcp.core.errors import AuthorizationError, ConfigFileError
from gaia_mcp.storage.atomic import locked, read_bytes, snapshot_of, write_bytes
from gaia_mcp.text import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from gaia_mcp.client.transports.http.auth.discovery import AuthorizationServer
    from gaia_mcp.core.deadline import Deadline

FOLDER = "tokens"
SERVICE = "gaia-mcp"
# Replaces the secret part if that is in the keyring.
IN_KEYRING = "keyring"
FILE = "credentials.json"
# Far more than any document: tokens fit into a header.
MAX_BYTES = 1 << 20
# The reason why the keyring cannot be read if another Python installation has written to it.
NO_PACKAGE = "the package 'keyring' is not installed"


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


class Held(NamedTuple):
    """A document and its secret part. If the keyring cannot be read, for example because it is locked, `unreadable` is
    the reason, and the secret part is empty.
    """

    document: dict[str, Any]
    secret: dict[str, Any]
    unreadable: str = ""


class CredentialStore:
    """The credentials under `folder`, each in a folder of its own, so that each has a lock of its own."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self, prefix: str = "") -> list[str]:
        """The names that begin with `prefix`, in order."""
        try:
            return sorted(each.name for each in self._folder.iterdir() if each.name.startswith(prefix))
        except OSError:
            return []

    def locked(self, name: str, seconds: float) -> AbstractContextManager[None]:
        """Hold the inter-process lock of one of them. Raises `ConfigFileError` if it is not free in time."""
        with contextlib.suppress(OSError):  # The lock reports a folder that cannot be created.
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return locked(self._path(name), seconds)

    def read(self, name: str) -> Held | None:
        """A document. None if it does not exist, is damaged or has lost its secret: then it will be replaced. Raises
        `ConfigFileError` for a file that cannot be read.
        """
        data = read_bytes(self._path(name), MAX_BYTES)
        try:
            document: dict[str, Any] = json.loads(data or b"{}")
            secret = document.pop("secret")
            if secret == IN_KEYRING:
                secret = json.loads(_from_keyring(name))
        except _UnreadableError as problem:
            return Held(document, {}, str(problem))
        except (ValueError, KeyError, AttributeError, TypeError, RecursionError):
            return None
        return Held(document, secret) if isinstance(secret, dict) else None

    def write(self, name: str, document: Mapping[str, Any], secret: Mapping[str, Any]) -> None:
        """Store a document. The caller holds its lock. Raises `ConfigFileError`."""
        is_in_keyring = _to_keyring(name, json.dumps(secret))
        kept = {**document, "secret": IN_KEYRING if is_in_keyring else secret}
        path = self._path(name)
        write_bytes(path, snapshot_of(path), (json.dumps(kept, indent=2) + "\n").encode(), 0o600)

    def forget(self, name: str) -> None:
        """Delete a document. The caller holds its lock. Raises `ConfigFileError`."""
        _drop_from_keyring(name)
        path = self._path(name)
        try:
            path.unlink(missing_ok=True)
        except OSError as cause:
            raise ConfigFileError(path, f"cannot be removed: {cause.strerror}") from cause

    def _path(self, name: str) -> Path:
        return self._folder / name / FILE


class _UnreadableError(Exception):
    """The keyring cannot be read; the message is the reason."""


def _keyring() -> Any:
    """The package, None if it is not installed."""
    try:
        import keyring
    except ImportError:
        return None
    return keyring


def _from_keyring(name: str) -> str:
    """The text in the keyring. Raises `ValueError` if there is none."""
    keyring = _keyring()
    if keyring is None:
        raise _UnreadableError(NO_PACKAGE)
    try:
        held = keyring.get_password(SERVICE, name)
    except Exception as cause:
        raise _UnreadableError(one_line(str(cause)) or type(cause).__name__) from cause
    if held is None:
        raise ValueError
    return str(held)


def _to_keyring(name: str, text: str) -> bool:
    """Whether the keyring has stored it; False without a backend, or if the text is too long for it."""
    keyring = _keyring()
    if keyring is None:
        return False
    try:
        keyring.set_password(SERVICE, name, text)
        return bool(keyring.get_password(SERVICE, name) == text)
    except Exception:  # noqa: BLE001 (as at the top)
        return False


def _drop_from_keyring(name: str) -> None:
    keyring = _keyring()
    if keyring is not None:
        with contextlib.suppress(Exception):
            keyring.delete_password(SERVICE, name)
