"""Renewal with rotation, between threads that stand for processes: the lock is on a file."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.client.transports.http.auth import Settings
from gaia_mcp.client.transports.http.auth.fetching import Fetcher
from gaia_mcp.client.transports.http.auth.grants import Grant, Grants
from gaia_mcp.client.transports.http.auth.renewal import renewed
from gaia_mcp.client.transports.http.auth.tokens import Identity, Tokens
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import AuthorizationError
from tests.client.transports.http.auth.world import NOW, SOURCES, Answer, World
from tests.waiting import ENOUGH_SECONDS

if TYPE_CHECKING:
    from pathlib import Path


def kept(world: World, folder: Path, refresh: str = "R") -> Grant:
    """A grant whose access token has expired."""
    tokens = Tokens("OLD", "Bearer", NOW, refresh, ("a",))
    grant = Grant(world.url, world.origin, f"{world.origin}/token", Identity("CID"), tokens, ("a",))
    world.refresh_tokens["R"] = "a"
    keep(folder, grant)
    return grant


def keep(folder: Path, grant: Grant) -> None:
    grants = Grants(folder)
    with grants.locked(grant.issuer, grant.resource, Deadline(ENOUGH_SECONDS)):
        grants.keep(grant)


def renew(world: World, folder: Path, grant: Grant) -> Grant | None:
    with Fetcher("web", world.url) as fetcher:
        return renewed(grant, Grants(folder), Settings(), fetcher, SOURCES, Deadline(ENOUGH_SECONDS))


def test_a_rotated_refresh_token_is_saved(world: World, folder: Path) -> None:
    """Spec: AC-11, RFC 6749, §6; with the resource (AC-4)."""
    after = renew(world, folder, kept(world, folder))

    assert after is not None
    assert after.tokens is not None
    assert after.tokens.access in world.tokens
    assert after.tokens.refresh != "R"
    assert Grants(folder).find(world.url) == after
    assert world.requests[0].form == {
        "grant_type": "refresh_token",
        "refresh_token": "R",
        "resource": world.url,
        "client_id": "CID",
    }


def test_concurrent_renewals_send_one_request(world: World, folder: Path) -> None:
    """Ours: a rotated refresh token is good once, so that two processes must not send the same."""
    grant = kept(world, folder)
    results: list[Grant | None] = []
    threads = [threading.Thread(target=lambda: results.append(renew(world, folder, grant))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(results) == 8
    assert len(set(results)) == 1
    assert results[0] is not None
    assert len(world.asked("/token")) == 1


def test_a_revoked_grant_keeps_the_client_identity(world: World, folder: Path) -> None:
    """Spec: `invalid_grant` discards the tokens; the client is still registered."""
    grant = kept(world, folder)
    world.refresh_tokens.clear()

    assert renew(world, folder, grant) is None
    left = Grants(folder).find(world.url)
    assert left is not None
    assert (left.tokens, left.identity) == (None, grant.identity)
    assert renew(world, folder, grant) is None
    assert len(world.requests) == 1


@pytest.mark.parametrize("code", ["invalid_client", "unauthorized_client"])
def test_an_unknown_client_is_removed(world: World, folder: Path, code: str) -> None:
    """Spec: registration and tokens are discarded."""
    grant = kept(world, folder)
    world.answer_of_token = lambda _: Answer(401, {"error": code})

    assert renew(world, folder, grant) is None
    assert Grants(folder).all() == []


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Answer(400, {"error": "temporarily_unavailable"}), "did not renew its token: temporarily_unavailable"),
        (Answer(503), "status 503"),
        (Answer(200, {"access_token": ""}), "gave no access token"),
    ],
)
def test_a_failed_renewal_keeps_the_tokens(world: World, folder: Path, answer: Answer, problem: str) -> None:
    """Ours: the next attempt may succeed."""
    grant = kept(world, folder)
    world.answer_of_token = lambda _: answer

    with pytest.raises(AuthorizationError, match=problem):
        renew(world, folder, grant)
    assert Grants(folder).find(world.url) == grant


def test_the_login_or_logout_of_another_process_is_respected(world: World, folder: Path) -> None:
    """Ours: it has logged in, or out, meanwhile."""
    grant = kept(world, folder)
    newer = grant._replace(tokens=Tokens("NEW"))
    keep(folder, newer)
    assert renew(world, folder, grant) == newer
    assert renew(world, folder, grant._replace(tokens=None)) == newer
    assert renew(world, folder, newer) is None

    grants = Grants(folder)
    with grants.locked(grant.issuer, grant.resource, Deadline(ENOUGH_SECONDS)):
        grants.forget(grant)
    assert renew(world, folder, grant) is None
    assert world.requests == []
