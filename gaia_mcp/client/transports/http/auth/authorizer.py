"""The interface of authorization for a channel: the headers of a request, and whether to repeat a rejected one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from gaia_mcp.errors import AuthorizationError

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.connections import Response
    from gaia_mcp.deadline import Deadline


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
