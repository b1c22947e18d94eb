"""Access tokens of an authorization server: signed JWTs, of which this server is the audience (RFC 9068, RFC 9728).

The cryptography is PyJWT's. Keys are fetched in a thread, kept, and fetched anew for one that is not known yet.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterable, Mapping
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
# Signatures that only the authorization server can make: not those by a secret that both know.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
# Clocks differ.
LEEWAY_SECONDS = 30
FETCH_SECONDS = 10
# A key that was revoked is trusted no longer than this.
KEYS_SECONDS = 600.0
# A client that sends tokens with unknown keys has them fetched no more often than this.
REFETCH_SECONDS = 10.0


class JwtAuthorizer:
    """Lets in who carries a token of `issuer` for `audience` with all of `scopes`, signed by a key at `jwks_url`.

    `audience` is the URL of this server, as the client knows it. Raises `ValueError` for a URL that is not https and
    not of this machine: what it sends decides who is let in; and for what cannot be a scope.
    """

    def __init__(self, jwks_url: str, issuer: str, audience: str, scopes: Iterable[str] = ()) -> None:
        parts = urlsplit(jwks_url)
        if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
            raise ValueError(f"{jwks_url!r} is not https")
        self.issuer = issuer
        self.audience = audience
        self.scopes = tuple(scopes)
        for scope in self.scopes:
            check_scope(scope)
        self._keys = _Keys(jwks_url)
        resource = urlsplit(audience)
        metadata_url = f"{resource.scheme}://{resource.netloc}{METADATA_PATH}{resource.path.rstrip('/')}"
        self._where = (f'resource_metadata="{metadata_url}"',)

    @property
    def metadata(self) -> dict[str, Any]:
        """What a client has to know to get a token (RFC 9728)."""
        return {
            "resource": self.audience,
            "authorization_servers": [self.issuer],
            "bearer_methods_supported": ["header"],
            # Not those of single tools: a client would ask for all of them at its first login.
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
            # Neither the token nor what is wrong with a claim of it: the client may not be the one it was issued to.
            raise unauthorized("the bearer token is not valid", 'error="invalid_token"', *self._where) from problem
        return Caller(f"{self.issuer} {claims['sub']}", _scopes_in(claims), self.scopes, self._where)


def _scopes_in(claims: Mapping[str, Any]) -> frozenset[str]:
    """As RFC 8693 defines them; some authorization servers send a list, or call them `scp`."""
    stated = claims.get("scope", claims.get("scp", ""))
    if isinstance(stated, str):
        return frozenset(stated.split())
    return frozenset(map(str, stated)) if isinstance(stated, list) else frozenset()


class _KeysUnavailableError(Exception):
    """The keys could not be fetched."""


class _Keys:
    """The keys of an authorization server. Safe to use from several threads."""

    def __init__(self, url: str) -> None:
        self._url = url
        # Held to fetch. A key that is known does not wait for that.
        self._lock = threading.Lock()
        self._by_id: dict[str | None, PyJWK] = {}
        self._fetched_at = float("-inf")
        # When they were asked for, and whether in vain.
        self._asked_at = float("-inf")
        self._has_failed = False

    def find(self, key_id: str | None) -> PyJWK | None:
        """The key, None if there is none; with no id, the only one. Raises `_KeysUnavailableError`."""
        if (known := self._known(key_id)) is not None:
            return known
        with self._lock:
            # Another thread may have done that while this one waited.
            if time.monotonic() - self._asked_at > REFETCH_SECONDS:
                self._fetch()
            known = self._known(key_id)
            if known is None and self._has_failed:
                raise _KeysUnavailableError
            return known

    def _known(self, key_id: str | None) -> PyJWK | None:
        keys = self._by_id
        if time.monotonic() - self._fetched_at > KEYS_SECONDS:
            return None
        return next(iter(keys.values())) if key_id is None and len(keys) == 1 else keys.get(key_id)

    def _fetch(self) -> None:
        import jwt

        # Also where it fails: another request does not try again at once.
        self._asked_at, self._has_failed = time.monotonic(), True
        client = jwt.PyJWKClient(self._url, cache_jwk_set=False, timeout=FETCH_SECONDS)
        try:
            keys = client.get_signing_keys()
        except (jwt.PyJWKClientError, jwt.PyJWKSetError, ValueError):
            return
        self._by_id = {key.key_id: key for key in keys}
        self._fetched_at, self._has_failed = self._asked_at, False
