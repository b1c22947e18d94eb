"""Access control: the allowed values of the Host and Origin headers, and the bearer token.

A page of any site can send requests to this machine, and if its own host name resolves to 127.0.0.1, it can also read
the responses (DNS rebinding). So the Host header, and the Origin header that browsers send, are checked. A page that
another program serves on this machine is one of another site.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from gaia_mcp.server.http.received import Caller, RefusalError, challenge

if TYPE_CHECKING:
    from gaia_mcp.server.http.limits import Limits
    from gaia_mcp.server.http.received import Received

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
# Allows every host, or every origin.
ANY = "*"


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
