"""Access control: the allowed values of Host and Origin, the bearer token, and the access tokens of an authorization
server (JWTs, RFC 9068 and RFC 9728).

PyJWT does the cryptography, and is imported when a token is checked.

A page of any site can send requests to this machine, and if its own host name resolves to 127.0.0.1, it can also read
the responses (DNS rebinding). So the Host header, and the Origin header that browsers send, are checked. A page that
another program serves on this machine is one of another site.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from http.client import HTTPException
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR
from gaia_mcp.server.http.received import RETRY_AFTER, Caller, Received, RefusalError, challenge
from gaia_mcp.server.provider import InsufficientScopeError, check_scope, require_scopes

if TYPE_CHECKING:
    from jwt import PyJWK

    from gaia_mcp.server.http.workers import Limits

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
# Allows every host, or every origin.
ANY = "*"
METADATA_PATH = "/.well-known/oauth-protected-resource"
# Asymmetric signatures only: with a shared secret, this server could sign tokens too.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
# Clock skew between the authorization server and this one.
LEEWAY_SECONDS = 30
FETCH_SECONDS = 10
# A revoked key is trusted for no longer than this.
KEYS_SECONDS = 600.0
# From this age on they are fetched again, while they are still in use: nobody has to wait for new ones.
REFRESH_SECONDS = 300.0
# Tokens with unknown key ids cause no more than one fetch in this time.
REFETCH_SECONDS = 10.0
# Requests that wait for a fetch. Each keeps its connection, and most have made-up tokens.
MAX_WAITING = 100


class Authorizer(Protocol):
    """Checks the credentials of a request."""

    async def authorize(self, request: Received) -> Caller:
        """The caller. Raises `RefusalError`."""


async def admit(request: Received, limits: Limits, hosts: Hosts, authorizer: Authorizer | None) -> None:
    """Check the headers of a request, and set its caller. Raises `RefusalError`."""
    request.check_head(limits)
    hosts.check(request)
    if authorizer is not None:
        request.caller = await authorizer.authorize(request)


class Hosts:
    """The host names of this server, and the origins whose pages may use it.

    `names` are host names without a port, in addition to those of loopback; "*" allows every name. With `addresses`
    every IP address is allowed: DNS rebinding needs a name. `origins` are origins such as `https://example.com`; "*"
    allows every one. The server's own origin, by the Host header, is always allowed.
    """

    def __init__(self, names: Iterable[str] = (), origins: Iterable[str] = (), *, addresses: bool = False) -> None:
        self._names = LOOPBACK_NAMES | {name.lower().strip("[]") for name in names}
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)
        self._addresses = addresses
        # Allowed pairs of host and origin: most clients always send the same ones.
        self._known: set[tuple[str | None, str | None]] = set()

    def check(self, request: Received) -> None:
        """Raises `RefusalError` for a request to another host, or from an origin that is not allowed."""
        host, origin = request.headers.get("host"), request.headers.get("origin")
        if (host, origin) in self._known:
            return
        if not self._allows_host(_host_of(f"//{host}")):
            told = f"the host {host!r} is not one of this server's" if host else "the request names no host"
            raise RefusalError(403, told)
        if origin is not None and not self._allows_origin(origin.lower(), host or ""):
            told = f"the origin {origin!r} may not use this server, unless it is started with that origin allowed"
            raise RefusalError(403, told)
        if len(self._known) < 1000:
            self._known.add((host, origin))

    def _allows_host(self, name: str | None) -> bool:
        if name is None:
            return False
        return ANY in self._names or name in self._names or (self._addresses and _is_address(name))

    def _allows_origin(self, origin: str, host: str) -> bool:
        own = {f"{scheme}://{host.lower()}" for scheme in ("http", "https")}
        return ANY in self._origins or origin in self._origins or origin in own


class SocketHosts(Hosts):
    """Those of a Unix socket, which has no name: every host is allowed, and every origin but that of a page that is not
    from this machine. A browser sends requests to such a socket only if another program forwards a port to it.
    """

    def _allows_host(self, _: str | None) -> bool:
        return True

    def _allows_origin(self, origin: str, _: str) -> bool:
        parts = urlsplit(origin) if "://" in origin else None
        return parts is not None and (parts.scheme not in ("http", "https") or is_loopback(parts.hostname or ""))


class StaticToken:
    """One bearer token, which every client sends."""

    def __init__(self, token: str) -> None:
        self._expected = f"Bearer {token}".encode("utf-8", "surrogateescape")

    async def authorize(self, request: Received) -> Caller:
        """Raises `RefusalError` for a request without the token."""
        given = request.headers.get("authorization")
        if given is None:
            raise unauthorized("a bearer token is required")
        scheme, _, rest = given.partition(" ")
        if not hmac.compare_digest(f"{scheme.capitalize()} {rest.strip()}".encode("latin-1"), self._expected):
            raise unauthorized("the bearer token is not valid", 'error="invalid_token"')
        return Caller()


def unauthorized(text: str, *parameters: str) -> RefusalError:
    """The refusal of a request without valid credentials, with these challenge parameters."""
    return RefusalError(401, text, headers=challenge(*parameters))


def is_loopback(host: str) -> bool:
    """Whether this address or name can be reached only from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _host_of(url: str) -> str | None:
    """The host of a URL, without its port; None if the URL has no host or is invalid."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    if parts.username is not None or parts.password is not None or (parts.netloc == "" and parts.path):
        return None
    return parts.hostname


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


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
        caller = await self._caller(token.strip())
        try:
            require_scopes(caller.scopes, self.scopes)
        except InsufficientScopeError as lack:
            raise RefusalError(403, str(lack), lack.code, data=lack.data, headers=caller.scope_challenge(())) from lack
        return caller

    async def _caller(self, token: str) -> Caller:
        import jwt

        try:
            key = await self._keys.find(jwt.get_unverified_header(token).get("kid"))
            if key is None:
                raise jwt.InvalidKeyError("no such key")
            # In the event loop: it takes about as long as waking a thread.
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
        # Guards the fields below, but is not held during a fetch.
        self._lock = threading.Lock()
        self._by_id: dict[str | None, PyJWK] = {}
        self._fetched_at = float("-inf")
        # The running fetch; the time of the last one, and whether it failed.
        self._fetching: Future[None] | None = None
        self._asked_at = float("-inf")
        self._has_failed = False
        self._waiting = 0

    async def find(self, key_id: str | None) -> PyJWK | None:
        """The key with this id, or None; without an id, the only key. Raises `_KeysUnavailableError`."""
        age = self._clock() - self._fetched_at
        fetching = self._fetch() if (known := self._known(key_id)) is None or age > REFRESH_SECONDS else None
        if known is not None:
            return known
        if fetching is not None:
            if self._waiting >= MAX_WAITING:
                raise _KeysUnavailableError
            self._waiting += 1
            try:
                await asyncio.wait([asyncio.wrap_future(fetching)], timeout=FETCH_SECONDS)
            finally:
                self._waiting -= 1
        known = self._known(key_id)
        if known is None and self._has_failed:
            raise _KeysUnavailableError
        return known

    def _known(self, key_id: str | None) -> PyJWK | None:
        keys = self._by_id
        if self._clock() - self._fetched_at > KEYS_SECONDS:
            return None
        return next(iter(keys.values())) if key_id is None and len(keys) == 1 else keys.get(key_id)

    def _fetch(self) -> Future[None] | None:
        """The running fetch, which is begun unless the last one was too recent; None if none is running."""
        with self._lock:
            if self._fetching is None and self._clock() - self._asked_at > REFETCH_SECONDS:
                # Set before the fetch, so that after a failure the next request does not retry at once.
                self._asked_at, self._has_failed = self._clock(), True
                self._fetching = Future()
                threading.Thread(target=self._run, args=(self._fetching,), name="keys", daemon=True).start()
            return self._fetching

    def _run(self, fetching: Future[None]) -> None:
        import jwt

        keys = []
        try:
            keys = jwt.PyJWKClient(self._url, cache_jwk_set=False, timeout=FETCH_SECONDS).get_signing_keys()
        except (jwt.PyJWTError, OSError, HTTPException, ValueError):
            return  # Requests that need them are refused with 503.
        finally:
            with self._lock:
                if keys:
                    self._by_id = {key.key_id: key for key in keys}
                    self._fetched_at, self._has_failed = self._asked_at, False
                self._fetching = None
            fetching.set_result(None)
