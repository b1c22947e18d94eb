"""What a channel knows of authorization: which headers a request needs, and whether to repeat one that was refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from gaia_mcp.errors import AuthorizationError

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.connections import Response
    from gaia_mcp.deadline import Deadline


class Authorizer(Protocol):
    """The authorization of requests to one server. Used from several threads at once.

    Both methods raise `AuthorizationError` where the user has to act, and `DeadlineError`.
    """

    def headers(self, method: str, url: str, deadline: Deadline) -> Mapping[str, str]:
        """The headers that authorize one request, made anew for each: none without a token, or for a `url` of another
        origin than the server's.
        """

    def challenged(self, response: Response, deadline: Deadline) -> bool:
        """A request was refused with 401 or 403, and so did not run. Whether to send it once more, with new `headers`.

        Limits the repetitions by itself. False for a 403 that asks for no other scope.
        """

    def secrets(self) -> Sequence[str]:
        """What was sent to the server and no error or log may repeat. Returns at once."""


class NoAuthorizer:
    """Authorizes nothing: for a server whose entry turns OAuth off, or has an `Authorization` header of its own, which
    `has_header` tells.
    """

    def __init__(self, server: str, *, has_header: bool = False) -> None:
        self._server = server
        self._has_header = has_header

    def headers(self, method: str, url: str, deadline: Deadline) -> Mapping[str, str]:  # noqa: ARG002 (the protocol)
        """None."""
        return {}

    def challenged(self, response: Response, deadline: Deadline) -> bool:  # noqa: ARG002
        """Raises `AuthorizationError` for a 401."""
        if response.status_code != 401:
            return False
        if self._has_header:
            raise AuthorizationError(self._server, "refused the Authorization header of its entry", case="header")
        raise AuthorizationError(self._server, "requires authorization, which its entry turns off", case="oauth-off")

    def secrets(self) -> Sequence[str]:
        """None of its own."""
        return ()
