"""Discovery: from a server's challenge to its authorization server."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gaia_mcp.client.transports.http.auth.addresses import UnacceptableError, canonical, origin_of, split
from gaia_mcp.client.transports.http.auth.metadata import (
    AuthorizationServer,
    ProtectedResource,
    read_resource,
    read_server,
    resource_places,
    server_places,
    usual_server,
)

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.auth import Settings
    from gaia_mcp.client.transports.http.auth.fetching import Fetcher
    from gaia_mcp.client.transports.http.auth.metadata import Challenge
    from gaia_mcp.deadline import Deadline

OF_RESOURCE = "the metadata of the resource"
OF_SERVER = "the metadata of the authorization server"
# The statuses at a URL without an MCP server, of any era.
_NOTHING_THERE = (404, 405, 410, *range(500, 600))
# The longest excerpt of an invalid URL in an error.
MAX_SHOWN_CHARS = 200


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
        document = fetcher.document(place, OF_RESOURCE, deadline)
        if document is not None:
            try:
                return read_resource(document, url)
            except UnacceptableError as cause:
                raise fetcher.unusable(f"{OF_RESOURCE} at {place}: {cause}") from cause
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
        document = fetcher.document(place, OF_SERVER, deadline)
        if document is not None:
            try:
                return read_server(document, expected, fetcher.nearest)
            except UnacceptableError as cause:
                raise fetcher.unusable(f"{OF_SERVER} at {place}: {cause}") from cause
    if resource is not None or settings.metadata_url:
        raise fetcher.unusable(f"there is no metadata of its authorization server at {places[0]}")
    return None


def _issuer(url: str, resource: ProtectedResource | None, settings: Settings) -> str:
    if resource is None:
        return settings.issuer or origin_of(url)
    if settings.issuer and settings.issuer not in resource.issuers:
        raise UnacceptableError(f"is {resource.issuers[0]!r}, and not the one that the entry names")
    return settings.issuer or resource.issuers[0]
