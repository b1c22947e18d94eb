"""Authorization: how a client obtains, stores and renews the token that a server requires.

A server that requires a token rejects a request with 401 and a challenge. The challenge leads to the metadata of the
resource (RFC 9728), which names an authorization server with its metadata (RFC 8414, or OpenID Connect discovery). The
client has an identity there: registered beforehand, the URL of a document about the client, or registered dynamically.
With it the user grants access in a browser (authorization code with PKCE), or a program obtains a token with its own
credentials. The result, the *grant*, is stored by issuer and resource, sent to no other origin, and renewed with its
refresh token.

The package holds its interfaces: `Authorizer`, which a channel asks for the headers of a request; `Person`, through
which a program shows the user a URL; `Settings`, the authorization settings of an entry. The rules take documents, the
time and random bytes as arguments: `discovery`, `tokens`. The edges fetch and store: `fetching`, `grants`. `login` is
the flow with a user, `token_requests` has the flows without one, and `oauth` is the interface for channels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gaia_mcp.core.errors import AuthorizationError
from gaia_mcp.core.grant_kinds import LOGIN

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.connections import Response
    from gaia_mcp.core.deadline import Deadline


class Settings(NamedTuple):
    """The settings; empty if the entry does not set them.

    `grant` is a key of `GRANT_KINDS`. `issuer` pins the authorization server, and `metadata_url` the URL of its
    metadata. `client_document` is the URL of a document that describes this program. The browser comes back to
    `redirect_uri`, at `callback_port` if that names no port. `private_key` is PEM, for `algorithm`. `assertion` is the
    JWT of a workload, or a user's ID token from their company's identity provider, whose token endpoint is `provider`
    and where this program's client id is `provider_client`.
    """

    client_id: str = ""
    client_secret: str = ""
    scopes: tuple[str, ...] = ()
    issuer: str = ""
    metadata_url: str = ""
    client_document: str = ""
    redirect_uri: str = ""
    callback_port: int = 0
    grant: str = LOGIN
    private_key: str = ""
    algorithm: str = "ES256"
    assertion: str = ""
    provider: str = ""
    provider_client: str = ""

    @property
    def is_for_programs(self) -> bool:
        """Whether a token is obtained without a user."""
        return self.grant != LOGIN


def settings_of(values: Mapping[str, Any]) -> Settings:
    """The settings in an entry's members, whose names are the fields. Missing ones have their defaults."""
    return Settings(**{**values, "scopes": tuple(values.get("scopes", ()))})


class Person(Protocol):
    """The user who is asked to grant access. An interactive program subclasses it and implements `show`, which is
    called on a thread of the client while a request waits, within the deadline of that request.
    """

    def show(self, url: str) -> None:
        """Ask the user to open `url` in a browser, which is then redirected to this machine. Returns at once."""

    def pasted(self) -> str | None:
        """The URL that the user has pasted since the last call, to which a browser on another machine was redirected.
        None without one. Polled, so it returns at once.
        """
        return None


class Authorizer(Protocol):
    """The authorization of requests to one server. Used from several threads at once.

    `headers` and `challenged` raise `AuthorizationError` if the user has to act, and `DeadlineError`.
    """

    def headers(self, method: str, url: str, deadline: Deadline) -> Mapping[str, str]:
        """The headers that authorize one request, computed for each: none without a token, or for a `url` with another
        origin than the server.
        """

    def challenged(self, response: Response, deadline: Deadline) -> bool:
        """A request was rejected with 401 or 403, so it did not run. Returns whether to send it again, with new
        `headers`.

        Limits the repetitions itself. False for a 403 that requires no other scope.
        """

    def secrets(self) -> Sequence[str]:
        """The secrets that were sent to the server and that no error or log may contain. Returns at once."""


class NoAuthorizer:
    """Authorizes nothing: for a server whose entry turns OAuth off, or has its own `Authorization` header, as
    `has_header` states.
    """

    def __init__(self, server: str, *, has_header: bool = False) -> None:
        self._server = server
        self._has_header = has_header

    def headers(self, method: str, url: str, deadline: Deadline) -> Mapping[str, str]:  # noqa: ARG002 (the protocol)
        """No headers."""
        return {}

    def challenged(self, response: Response, deadline: Deadline) -> bool:  # noqa: ARG002
        """Raises `AuthorizationError` for a 401."""
        if response.status_code != 401:
            return False
        if self._has_header:
            raise AuthorizationError(self._server, "refused the Authorization header of its entry", case="header")
        raise AuthorizationError(self._server, "requires authorization, which its entry turns off", case="oauth-off")

    def secrets(self) -> Sequence[str]:
        """No secrets."""
        return ()
