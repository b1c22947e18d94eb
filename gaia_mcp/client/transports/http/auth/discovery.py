"""Discovery: from a server's challenge (`WWW-Authenticate`, RFC 9110, RFC 6750, RFC 9728) to its authorization server:
the request that elicits the challenge, the metadata of the resource and of the authorization server, where to find
them, and how they are validated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp._version import __version__
from gaia_mcp.client.transports.http.auth.fetching import (
    Fetcher,
    Reach,
    UnacceptableError,
    canonical,
    check_url,
    covers,
    origin_of,
    path_of,
    split,
)
from gaia_mcp.protocol import NEWEST
from gaia_mcp.protocol.envelope import CAPABILITIES_KEY, INFO_KEY, VERSION_KEY, with_meta
from gaia_mcp.protocol.headers import standard_headers
from gaia_mcp.protocol.jsonrpc import encode

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.auth import Settings
    from gaia_mcp.core.deadline import Deadline

OF_RESOURCE = "/.well-known/oauth-protected-resource"
OF_SERVER = "/.well-known/oauth-authorization-server"
OF_OPENID = "/.well-known/openid-configuration"
# The items of a list in a document; more would only be printed and sent back.
MAX_ITEMS = 200
# The only PKCE method that is used.
S256 = "S256"
# Longer than any real one.
MAX_HEADER_CHARS = 8192
_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PART = re.compile(
    rf'(?P<name>{_NAME})[ \t]*=[ \t]*(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>{_NAME}))'
    rf"|(?P<scheme>{_NAME})(?:[ \t]+[A-Za-z0-9._~+/-]+=*(?=[ \t]*(?:,|$)))?"
)
# RFC 6749: no blank, no quotation mark, no backslash.
_SCOPE = re.compile(r"[!#-\[\]-~]+")
_SCHEMES = ("bearer", "dpop")
RESOURCE_METADATA = "the metadata of the resource"
SERVER_METADATA = "the metadata of the authorization server"
# The statuses at a URL without an MCP server, of any era.
_NOTHING_THERE = (404, 405, 410, *range(500, 600))
# The longest excerpt of an invalid URL in an error.
MAX_SHOWN_CHARS = 200
_META = {
    VERSION_KEY: NEWEST,
    INFO_KEY: {"name": "gaia-mcp", "version": __version__},
    CAPABILITIES_KEY: {},
}


class ProtectedResource(NamedTuple):
    """The metadata of a resource (RFC 9728), as far as used. `identifier` is as the server published it."""

    identifier: str
    issuers: tuple[str, ...]
    scopes: tuple[str, ...] = ()
    wants_dpop: bool = False


class AuthorizationServer(NamedTuple):
    """The metadata of an authorization server (RFC 8414), as far as used; None for missing members. `is_assumed`: it
    published none, and the default paths are used.
    """

    issuer: str
    token_endpoint: str
    authorization_endpoint: str | None = None
    registration_endpoint: str | None = None
    revocation_endpoint: str | None = None
    scopes: tuple[str, ...] = ()
    challenge_methods: tuple[str, ...] = ()
    # None if not stated.
    token_methods: tuple[str, ...] | None = None
    takes_documents: bool = False
    sends_issuer: bool = False
    is_assumed: bool = False


def resource_places(url: str, named: str) -> list[str]:
    """The possible URLs of the metadata of the server at `url`, in order: the URL that its challenge `named`, else the
    well-known ones. Raises `UnacceptableError` for a `url` that is not an HTTP URL.
    """
    origin, path = origin_of(url), path_of(url)
    return list(dict.fromkeys([*([named] if named else []), f"{origin}{OF_RESOURCE}{path}", f"{origin}{OF_RESOURCE}"]))


def server_places(issuer: str) -> list[str]:
    """The possible URLs of the metadata of an authorization server, in order. Raises `UnacceptableError`."""
    origin, path = origin_of(issuer), path_of(issuer)
    if not path:
        return [f"{origin}{OF_SERVER}", f"{origin}{OF_OPENID}"]
    return [f"{origin}{OF_SERVER}{path}", f"{origin}{OF_OPENID}{path}", f"{origin}{path}{OF_OPENID}"]


def read_resource(document: Mapping[str, Any], url: str) -> ProtectedResource:
    """The metadata of the server at `url`. Raises `UnacceptableError` if it describes another resource."""
    identifier = document.get("resource")
    if not isinstance(identifier, str) or not covers(identifier, url):
        raise UnacceptableError("it is about another resource")
    issuers = _texts(document.get("authorization_servers"))
    if not issuers:
        raise UnacceptableError("it names no authorization server")
    wants_dpop = document.get("dpop_bound_access_tokens_required") is True
    return ProtectedResource(identifier, issuers, _scopes(document), wants_dpop)


def read_server(document: Mapping[str, Any], issuer: str | None, nearest: Reach) -> AuthorizationServer:
    """The metadata of the authorization server `issuer`, or with None of the one that the document names. Its endpoints
    must not be closer to this machine than `nearest`.

    Raises `UnacceptableError` for another issuer, and for an endpoint that must not be used.
    """
    named = check_url(document.get("issuer"), "its issuer", nearest)
    # Some servers publish the empty path as a slash, and leave the slash out elsewhere.
    if issuer is not None and named != issuer and (path_of(issuer) or named.rstrip("/") != issuer.rstrip("/")):
        raise UnacceptableError("it is about another issuer")

    def endpoint(key: str) -> str | None:
        return None if document.get(key) is None else check_url(document[key], f"its {key}", nearest)

    methods = document.get("token_endpoint_auth_methods_supported")
    return AuthorizationServer(
        named,
        check_url(document.get("token_endpoint"), "its token_endpoint", nearest),
        endpoint("authorization_endpoint"),
        endpoint("registration_endpoint"),
        endpoint("revocation_endpoint"),
        _scopes(document),
        _texts(document.get("code_challenge_methods_supported")),
        None if methods is None else _texts(methods),
        document.get("client_id_metadata_document_supported") is True,
        document.get("authorization_response_iss_parameter_supported") is True,
    )


def usual_server(url: str) -> AuthorizationServer:
    """The authorization server of an MCP server of 2025-03-26 without metadata: the default paths of its origin.

    Raises `UnacceptableError`, also if that is not https.
    """
    origin = check_url(origin_of(url), "its origin", Reach.MACHINE)
    return AuthorizationServer(
        origin,
        f"{origin}/token",
        f"{origin}/authorize",
        f"{origin}/register",
        challenge_methods=(S256,),
        is_assumed=True,
    )


def _texts(value: object) -> tuple[str, ...]:
    items: Iterable[object] = value[:MAX_ITEMS] if isinstance(value, list) else ()
    return tuple(item for item in items if isinstance(item, str) and item)


def _scopes(document: Mapping[str, Any]) -> tuple[str, ...]:
    return scopes_in(" ".join(_texts(document.get("scopes_supported"))))


class Challenge(NamedTuple):
    """The challenge of a response. `scheme` is in lower case, empty if there is no challenge about OAuth."""

    scheme: str = ""
    parameters: Mapping[str, str] = MappingProxyType({})

    @property
    def error(self) -> str:
        """The error code."""
        return self.parameters.get("error", "")

    @property
    def resource_metadata(self) -> str:
        """The URL of the metadata of the resource, as the server sent it."""
        return self.parameters.get("resource_metadata", "")

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that the request needs."""
        return scopes_in(self.parameters.get("scope"))


def challenge_in(headers: Iterable[str]) -> Challenge:
    """The challenge about OAuth among the values of the header: one that names metadata, else the first."""
    found = [each for header in headers for each in challenges_in(header) if each.scheme in _SCHEMES]
    named = [each for each in found if each.resource_metadata]
    return next(iter([*named, *found]), Challenge())


def challenges_in(header: str) -> list[Challenge]:
    """All challenges in one header value. Malformed ones are skipped."""
    found: list[tuple[str, dict[str, str]]] = []
    for part in _PART.finditer(header[:MAX_HEADER_CHARS]):
        if part["scheme"] is not None:
            found.append((part["scheme"].lower(), {}))
        elif found:
            quoted = part["quoted"]
            value = part["plain"] if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            found[-1][1].setdefault(part["name"].lower(), value)
    return [Challenge(scheme, parameters) for scheme, parameters in found]


def scopes_in(value: object) -> tuple[str, ...]:
    """The valid scopes in a text, without repetitions."""
    words = value.split() if isinstance(value, str) else []
    return tuple(dict.fromkeys(word for word in words if _SCOPE.fullmatch(word)))


class Found(NamedTuple):
    """A resource, and the authorization server that grants access to it. `wants_dpop`: it requires DPoP tokens."""

    resource: ProtectedResource
    server: AuthorizationServer
    wants_dpop: bool = False


def find(
    url: str,
    challenge: Challenge,
    settings: Settings,
    fetcher: Fetcher,
    deadline: Deadline,
    status: int = 401,
) -> Found:
    """The authorization server of the server at `url`, which responded to a request without a token with `status`.

    Raises `AuthorizationError` and `DeadlineError`.
    """
    resource = _resource(url, challenge, fetcher, deadline)
    server = _server(url, resource, settings, fetcher, deadline)
    if server is None:
        if status not in (401, 403):
            told = f", and answered with status {status}" if status in _NOTHING_THERE else ""
            error = fetcher.error(f"asks for no authorization{told}")
            error.case = "login-needless"
            raise error
        server = usual_server(url)
    if resource is None:
        # As before RFC 9728: the server is its own resource, and its origin the issuer.
        resource = ProtectedResource(canonical(url), (server.issuer,))
    return Found(resource, server, challenge.scheme == "dpop" or resource.wants_dpop)


def _resource(url: str, challenge: Challenge, fetcher: Fetcher, deadline: Deadline) -> ProtectedResource | None:
    for place in resource_places(url, challenge.resource_metadata):
        document = fetcher.document(place, RESOURCE_METADATA, deadline)
        if document is not None:
            try:
                return read_resource(document, url)
            except UnacceptableError as cause:
                raise fetcher.unusable(f"{RESOURCE_METADATA} at {place}: {cause}") from cause
    return None


def _server(
    url: str, resource: ProtectedResource | None, settings: Settings, fetcher: Fetcher, deadline: Deadline
) -> AuthorizationServer | None:
    try:
        issuer = _issuer(url, resource, settings)
        split(issuer, repr(issuer[:MAX_SHOWN_CHARS]))
        expected = settings.issuer or None if settings.metadata_url else issuer
        places = [settings.metadata_url] if settings.metadata_url else server_places(issuer)
    except UnacceptableError as cause:
        raise fetcher.unusable(f"its authorization server {cause}") from cause
    for place in places:
        document = fetcher.document(place, SERVER_METADATA, deadline)
        if document is not None:
            try:
                return read_server(document, expected, fetcher.nearest)
            except UnacceptableError as cause:
                raise fetcher.unusable(f"{SERVER_METADATA} at {place}: {cause}") from cause
    if resource is not None or settings.metadata_url:
        raise fetcher.unusable(f"there is no metadata of its authorization server at {places[0]}")
    return None


def _issuer(url: str, resource: ProtectedResource | None, settings: Settings) -> str:
    if resource is None:
        return settings.issuer or origin_of(url)
    if settings.issuer and settings.issuer not in resource.issuers:
        raise UnacceptableError(f"is {resource.issuers[0]!r}, and not the one that the entry names")
    return settings.issuer or resource.issuers[0]


_MESSAGE = {"jsonrpc": "2.0", "id": "login-1", "method": "server/discover", "params": with_meta(None, _META)}
PROBE = encode(_MESSAGE)
PROBE_HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    **standard_headers(_MESSAGE),
}
