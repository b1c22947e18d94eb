"""Access tokens of an authorization server: signed JWTs whose audience is this server (RFC 9068, RFC 9728).

PyJWT does the cryptography. Keys are fetched in a thread and cached; an unknown key id causes another fetch.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR
from gaia_mcp.server.http.caller import Caller
from gaia_mcp.server.http.refusals import RETRY_AFTER, RefusalError
from gaia_mcp.server.http.security import is_loopback, unauthorized
from gaia_mcp.server.provider import InsufficientScopeError, check_scope
from gaia_mcp.server.scopes import require_scopes

if TYPE_CHECKING:
    from jwt import PyJWK

    from gaia_mcp.server.http.received import Received

METADATA_PATH = "/.well-known/oauth-protected-resource"
# Asymmetric signatures only: with a shared secret, this server could sign tokens too.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
# Clock skew between the authorization server and this one.
LEEWAY_SECONDS = 30
FETCH_SECONDS = 10
# A revoked key is trusted for no longer than this.
KEYS_SECONDS = 600.0
# Tokens with unknown key ids cause no more than one fetch in this time.
REFETCH_SECONDS = 10.0


class JwtAuthorizer:
    """Accepts tokens of `issuer` for `audience` that have all of `scopes` and are signed by a key at `jwks_url`.

    `audience` is the URL of this server, as the client knows it. Raises `ValueError` for an invalid scope, and for a
    `jwks_url` that is neither https nor on loopback: an attacker who can change the keys can sign valid tokens.
    """

    def __init__(
        self,
        jwks_url: str,
        issuer: str,
        audience: str,
        scopes: Iterable[str] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        parts = urlsplit(jwks_url)
        if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
            raise ValueError(f"{jwks_url!r} is not https")
        self.issuer = issuer
        self.audience = audience
        self.scopes = tuple(scopes)
        for scope in self.scopes:
            check_scope(scope)
        self._keys = _Keys(jwks_url, clock)
        resource = urlsplit(audience)
        metadata_url = f"{resource.scheme}://{resource.netloc}{METADATA_PATH}{resource.path.rstrip('/')}"
        self._where = (f'resource_metadata="{metadata_url}"',)

    @property
    def metadata(self) -> dict[str, Any]:
        """The protected resource metadata, from which a client learns where to get a token (RFC 9728)."""
        return {
            "resource": self.audience,
            "authorization_servers": [self.issuer],
            "bearer_methods_supported": ["header"],
            # Without the scopes of single tools: a client would request all of them at its first login.
            **({"scopes_supported": list(self.scopes)} if self.scopes else {}),
        }

    async def authorize(self, request: Received) -> Caller:
        """The caller, by its issuer and subject. Raises `RefusalError`."""
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer":
            scope = (f'scope="{" ".join(self.scopes)}"',) if self.scopes else ()
            raise unauthorized("a bearer token is required", *scope, *self._where)
        caller = await asyncio.to_thread(self._caller, token.strip())
        try:
            require_scopes(caller.scopes, self.scopes)
        except InsufficientScopeError as lack:
            raise RefusalError(403, str(lack), lack.code, data=lack.data, headers=caller.scope_challenge(())) from lack
        return caller

    def _caller(self, token: str) -> Caller:
        import jwt

        try:
            key = self._keys.find(jwt.get_unverified_header(token).get("kid"))
            if key is None:
                raise jwt.InvalidKeyError("no such key")
            claims = jwt.decode(
                token,
                key,
                algorithms=ALGORITHMS,
                audience=self.audience,
                issuer=self.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except _KeysUnavailableError as problem:
            text = "the keys of the authorization server cannot be fetched; repeat this later"
            headers = ((b"retry-after", RETRY_AFTER),)
            raise RefusalError(503, text, INTERNAL_ERROR, headers=headers) from problem
        except jwt.PyJWTError as problem:
            # Reports neither the token nor which claim is invalid: the token may have been stolen.
            raise unauthorized("the bearer token is not valid", 'error="invalid_token"', *self._where) from problem
        return Caller(f"{self.issuer} {claims['sub']}", _scopes_in(claims), self.scopes, self._where)


def _scopes_in(claims: Mapping[str, Any]) -> frozenset[str]:
    """The scopes of a token, as RFC 8693 defines them; some authorization servers send a list, or name them `scp`."""
    stated = claims.get("scope", claims.get("scp", ""))
    if isinstance(stated, str):
        return frozenset(stated.split())
    return frozenset(map(str, stated)) if isinstance(stated, list) else frozenset()


class _KeysUnavailableError(Exception):
    """The keys could not be fetched."""


class _Keys:
    """The keys of an authorization server. Safe to use from several threads."""

    def __init__(self, url: str, clock: Callable[[], float]) -> None:
        self._url = url
        self._clock = clock
        # Held during a fetch. Looking up a known key does not need it.
        self._lock = threading.Lock()
        self._by_id: dict[str | None, PyJWK] = {}
        self._fetched_at = float("-inf")
        # The time of the last fetch, and whether it failed.
        self._asked_at = float("-inf")
        self._has_failed = False

    def find(self, key_id: str | None) -> PyJWK | None:
        """The key with this id, or None; without an id, the only key. Raises `_KeysUnavailableError`."""
        if (known := self._known(key_id)) is not None:
            return known
        with self._lock:
            # Another thread may have fetched them while this one waited.
            if self._clock() - self._asked_at > REFETCH_SECONDS:
                self._fetch()
            known = self._known(key_id)
            if known is None and self._has_failed:
                raise _KeysUnavailableError
            return known

    def _known(self, key_id: str | None) -> PyJWK | None:
        keys = self._by_id
        if self._clock() - self._fetched_at > KEYS_SECONDS:
            return None
        return next(iter(keys.values())) if key_id is None and len(keys) == 1 else keys.get(key_id)

    def _fetch(self) -> None:
        import jwt

        # Set before the fetch, so that after a failure the next request does not retry at once.
        self._asked_at, self._has_failed = self._clock(), True
        client = jwt.PyJWKClient(self._url, cache_jwk_set=False, timeout=FETCH_SECONDS)
        try:
            keys = client.get_signing_keys()
        except (jwt.PyJWKClientError, jwt.PyJWKSetError, ValueError):
            return
        self._by_id = {key.key_id: key for key in keys}
        self._fetched_at, self._has_failed = self._asked_at, False
