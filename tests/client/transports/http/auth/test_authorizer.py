"""What a channel gets for a server without OAuth."""

from __future__ import annotations

import httpx2
import pytest

from gaia_mcp.client.transports.http.auth.authorizer import NoAuthorizer
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import AuthorizationError

URL = "https://mcp.example.com/mcp"


def refused(status: int) -> httpx2.Response:
    return httpx2.Response(status, request=httpx2.Request("POST", URL))


def test_no_authorization_header_is_added_without_oauth() -> None:
    """Ours: the headers of its entry are all that it gets."""
    assert NoAuthorizer("web").headers("POST", URL, Deadline(1)) == {}
    assert NoAuthorizer("web").secrets() == ()


def test_a_refused_header_of_an_entry_is_named() -> None:
    """Ours: the person has to correct that header, and not to log in."""
    with pytest.raises(AuthorizationError) as caught:
        NoAuthorizer("web", has_header=True).challenged(refused(401), Deadline(1))

    assert (caught.value.server, caught.value.case) == ("web", "header")


def test_a_challenge_to_an_entry_that_turns_oauth_off_is_an_error() -> None:
    """Ours: the person has to allow OAuth in the entry before a login can help."""
    with pytest.raises(AuthorizationError) as caught:
        NoAuthorizer("web").challenged(refused(401), Deadline(1))

    assert caught.value.case == "oauth-off"


def test_a_403_is_left_to_the_channel() -> None:
    """Ours: a 403 may be about the origin, or about the arguments."""
    assert not NoAuthorizer("web").challenged(refused(403), Deadline(1))
