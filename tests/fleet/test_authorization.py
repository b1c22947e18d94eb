"""Logins to a loopback server, as the commands use them."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.transports.http.auth.grants import Grants
from gaia_mcp.config.entries import ServerEntry, read_entry
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import AuthorizationError, EntryError
from gaia_mcp.core.paths import cache_folder, config_folder
from gaia_mcp.fleet.authorization import (
    Login,
    as_object,
    forget_unused,
    has_grants,
    log_in,
    log_out,
    login_of,
)
from gaia_mcp.storage.server_cache import ServerCache
from tests.client.transports.http.auth.world import Answer, Browser, World

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A protected server and its authorization server, in a home of its own."""
    monkeypatch.setenv("GAIA_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "keyring", None)
    made = World()
    yield made
    made.close()


def entry(world: World, name: str = "web", url: str = "", **members: Any) -> ServerEntry:
    return read_entry(name, {"url": url or world.url, **members})


def test_a_login_is_saved_shown_and_revoked(world: World) -> None:
    """Ours: and nothing of a token is in what is shown. What was listed before was for another user."""
    web = entry(world)
    cache = ServerCache(cache_folder(), web)
    cache.keep_seen([{"name": "x"}])
    assert not has_grants()
    made = log_in(web, Browser(), ["a"], Deadline(20))

    assert login_of(web) == made
    assert (made.way, made.issuer, made.scopes, made.is_renewed, made.is_good) == (
        "person", world.origin, ("a",), True, True,
    )  # fmt: skip
    shown = json.dumps(as_object(made))
    assert not [token for token in [*world.tokens, *world.refresh_tokens] if token in shown]
    assert cache.seen() is None
    assert has_grants()

    assert log_out(web, Deadline(20))
    assert not log_out(web, Deadline(20))
    assert login_of(web) == Login("web", world.url, "person")
    assert [request.form["token_type_hint"] for request in world.asked("/revoke")] == ["refresh_token", "access_token"]


def test_a_logout_deletes_the_tokens_even_if_they_cannot_be_revoked(world: World) -> None:
    """Ours: the authorization server may refuse that, may be gone, or has no place for it."""
    world.routes["/revoke"] = lambda _: Answer(503)
    for endpoint in (world.metadata["revocation_endpoint"], "http://127.0.0.1:9/", None):
        world.metadata["revocation_endpoint"] = endpoint
        log_in(entry(world), Browser(), [], Deadline(20))
        assert log_out(entry(world), Deadline(20))
        assert Grants(config_folder()).all() == []
    assert len(world.asked("/revoke")) == 2


def test_a_login_without_a_refresh_token_revokes_the_access_token(world: World) -> None:
    """Spec, RFC 6749, section 5.1: an authorization server need not issue one."""
    token = {"access_token": "the-only-token", "token_type": "Bearer"}
    world.answer_of_token = lambda _: Answer(value=token)
    log_in(entry(world), Browser(), [], Deadline(20))
    assert log_out(entry(world), Deadline(20))

    assert [request.form["token"] for request in world.asked("/revoke")] == ["the-only-token"]


def test_the_way_of_authorization_is_known_before_a_login(world: World) -> None:
    """Ours: `list` shows it for every server."""
    assert login_of(entry(world, headers={"authorization": "x"})).way == "header"
    assert login_of(entry(world, oauth=False)).way == "off"
    program = {"grantType": "client_credentials", "clientId": "CID", "clientSecret": "s"}
    assert (login_of(entry(world, oauth=program)).way, login_of(entry(world, oauth=program)).is_good) == (
        "program",
        True,
    )
    assert log_in(entry(world, oauth=program), Browser(), [], Deadline(20)).is_renewed


def test_an_impossible_login_is_an_error(world: World) -> None:
    """Ours: the case of the error selects its hint."""
    for members, case in (({"headers": {"Authorization": "x"}}, "header"), ({"oauth": False}, "oauth-off")):
        with pytest.raises(AuthorizationError) as caught:
            log_in(entry(world, **members), Browser(), [], Deadline(20))
        assert caught.value.case == case
    with pytest.raises(EntryError) as no_url:
        log_in(read_entry("x", {"command": "true"}), Browser(), [], Deadline(20))
    assert no_url.value.case == "no-login"


def test_a_login_ends_with_the_last_server_that_uses_it(world: World) -> None:
    """Ours: `remove` of an entry."""
    web, other = entry(world), entry(world, "other")
    invalid = read_entry("none", {"url": "${NONE}/x"})
    local, broken = read_entry("x", {"command": "true"}), entry(world, "broken", "http://[/")
    log_in(web, Browser(), [], Deadline(20))

    assert forget_unused([web], [other, invalid, broken], Deadline(20)) == []
    assert forget_unused([local, invalid], [], Deadline(20)) == []
    assert forget_unused([web, other], [local, entry(world, "c", f"{world.origin}/c")], Deadline(20)) == ["web"]
    assert Grants(config_folder()).all() == []


def test_an_unreadable_login_is_an_error_and_is_not_deleted(world: World) -> None:
    """Ours: its tokens stay in the keyring, and so does what belongs to them."""
    web = entry(world)
    log_in(web, Browser(), [], Deadline(20))
    (file,) = config_folder().glob("tokens/*/credentials.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"secret": "keyring"}))

    with pytest.raises(AuthorizationError, match="cannot be read"):
        login_of(web)
    with pytest.raises(AuthorizationError, match="cannot be read"):
        log_out(web, Deadline(20))
    assert forget_unused([web], [], Deadline(20)) == []
    assert file.exists()


def test_an_expired_token_is_valid_only_if_it_can_be_refreshed(world: World) -> None:
    """Ours: unless it is renewed."""
    assert not Login("web", world.url, "person", "i", expires_at=1.0).is_good
    assert Login("web", world.url, "person", "i", expires_at=1.0, is_renewed=True).is_good
    assert as_object(Login("web", world.url, "person", "i", expires_at=1.0))["expires_at"] == "1970-01-01T00:00:01Z"
    assert as_object(Login("web", world.url, "person"))["expires_at"] is None
