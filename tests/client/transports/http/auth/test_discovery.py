"""From a challenge to an authorization server, over a loopback port."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from gaia_mcp.client.transports.http.auth import Settings
from gaia_mcp.client.transports.http.auth.discovery import Found, find
from gaia_mcp.client.transports.http.auth.fetching import Fetcher
from gaia_mcp.client.transports.http.auth.metadata import Challenge
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import AuthorizationError
from tests.client.transports.http.auth.world import Answer, World
from tests.waiting import ENOUGH_SECONDS

if TYPE_CHECKING:
    from typing import Any

WELL_KNOWN = "/.well-known/oauth-protected-resource"
OF_SERVER = "/.well-known/oauth-authorization-server"
NO_CHALLENGE = Challenge()
OF_OPENID = "/.well-known/openid-configuration"


def found(world: World, challenge: Challenge = NO_CHALLENGE, **settings: Any) -> Found:
    with Fetcher("web", world.url) as fetcher:
        return find(world.url, challenge, Settings(**settings), fetcher, Deadline(ENOUGH_SECONDS))


def test_the_resource_metadata_leads_to_the_authorization_server(world: World) -> None:
    """Spec: AC-1, AC-2: the first place that has it is the last that is asked."""
    world.resource["scopes_supported"] = ["a"]
    result = found(world)

    assert result.server.token_endpoint == f"{world.origin}/token"
    assert (result.resource.identifier, result.resource.scopes) == (world.url, ("a",))
    assert not result.wants_dpop
    assert world.paths() == [f"{WELL_KNOWN}/mcp", OF_SERVER]


def test_the_metadata_url_of_the_challenge_is_fetched_first(world: World) -> None:
    """Spec: AC-1: first of all."""
    world.routes["/meta.json"] = world.routes.pop(f"{WELL_KNOWN}/mcp")
    found(world, Challenge("bearer", {"resource_metadata": f"{world.origin}/meta.json"}))

    assert world.paths() == ["/meta.json", OF_SERVER]


def test_the_well_known_urls_are_tried_in_order(world: World) -> None:
    """Spec: AC-1, AC-2: each until one has a document."""
    world.routes[WELL_KNOWN] = world.routes.pop(f"{WELL_KNOWN}/mcp")
    world.routes[OF_OPENID] = world.routes.pop(OF_SERVER)
    found(world, Challenge("bearer", {"resource_metadata": f"{world.origin}/gone"}))

    assert world.paths() == ["/gone", f"{WELL_KNOWN}/mcp", WELL_KNOWN, OF_SERVER, OF_OPENID]


def test_the_path_of_an_issuer_is_part_of_its_metadata_urls(world: World) -> None:
    """Spec: AC-2: inserted after the well-known name, and for OpenID Connect also before it."""
    issuer = f"{world.origin}/tenant1"
    world.resource["authorization_servers"] = [issuer]
    world.metadata["issuer"] = issuer
    world.routes[f"/tenant1{OF_OPENID}"] = world.routes.pop(OF_SERVER)

    assert found(world).server.issuer == issuer
    assert world.paths()[1:] == [f"{OF_SERVER}/tenant1", f"{OF_OPENID}/tenant1", f"/tenant1{OF_OPENID}"]


def test_dpop_is_required_by_the_challenge_or_by_the_metadata(world: World) -> None:
    """Spec: RFC 9449, §7.1; RFC 9728, §2."""
    assert found(world, Challenge("dpop")).wants_dpop
    world.resource["dpop_bound_access_tokens_required"] = True
    assert found(world).wants_dpop


def test_the_origin_is_the_issuer_if_there_is_no_resource_metadata(world: World) -> None:
    """Spec 2025-03-26: with metadata at the root, and without any at the usual paths."""
    world.routes.pop(f"{WELL_KNOWN}/mcp")
    with_metadata = found(world)
    world.routes.pop(OF_SERVER)
    without = found(world)

    assert with_metadata.server.sends_issuer
    assert without.server.issuer == world.origin
    assert without.server.authorization_endpoint == f"{world.origin}/authorize"
    assert with_metadata.resource.identifier == without.resource.identifier == world.url


def test_default_endpoints_are_not_assumed_for_a_server_that_sent_no_401(world: World) -> None:
    """Ours: a server that requires no authorization has no authorization endpoints either."""
    world.routes.clear()
    for status, told in ((200, "asks for no authorization$"), (404, "no authorization, and answered with status 404$")):
        with Fetcher("web", world.url) as fetcher, pytest.raises(AuthorizationError, match=told):
            find(world.url, NO_CHALLENGE, Settings(), fetcher, Deadline(ENOUGH_SECONDS), status)


def test_an_authorization_server_without_metadata_is_an_error(world: World) -> None:
    """Ours: the usual paths are for servers without any metadata."""
    world.routes.pop(OF_SERVER)
    with pytest.raises(AuthorizationError, match="there is no metadata"):
        found(world)


@pytest.mark.parametrize(
    "change", [{"resource": "https://evil.example/mcp"}, {"authorization_servers": []}, {"authorization_servers": None}]
)
def test_invalid_resource_metadata_ends_the_discovery(world: World, change: dict[str, object]) -> None:
    """Spec: another resource is not authorized."""
    world.resource.update(change)
    with pytest.raises(AuthorizationError, match="cannot be used: the metadata of the resource"):
        found(world)
    assert world.paths() == [f"{WELL_KNOWN}/mcp"]


@pytest.mark.parametrize(
    "change", [{"issuer": "https://evil.example"}, {"token_endpoint": "http://evil.example/"}, {"token_endpoint": None}]
)
def test_invalid_metadata_of_an_authorization_server_ends_the_discovery(
    world: World, change: dict[str, object]
) -> None:
    """Spec: AC-2, AC-12: the document is not used, and no other place is tried."""
    world.metadata.update(change)
    with pytest.raises(AuthorizationError, match="cannot be used: the metadata of the authorization server"):
        found(world)
    assert world.paths()[1:] == [OF_SERVER]


@pytest.mark.parametrize("issuer", ["http://evil.example", "nonsense", "https://u@evil.example"])
def test_an_invalid_issuer_url_is_not_fetched(world: World, issuer: str) -> None:
    """Spec: AC-12: issuers are https URLs."""
    world.resource["authorization_servers"] = [issuer]
    with pytest.raises(AuthorizationError, match="cannot be used"):
        found(world)
    assert len(world.requests) == 1


def test_an_entry_selects_one_of_several_issuers(world: World) -> None:
    """Spec: AC-7: if the server lists no issuer of the entry, discovery ends."""
    world.resource["authorization_servers"] = ["https://first.example", world.origin]
    assert found(world, issuer=world.origin).server.issuer == world.origin

    with pytest.raises(AuthorizationError, match="not the one that the entry names"):
        found(world, issuer="https://third.example")


def test_an_entry_pins_the_issuer_of_a_server_without_metadata(world: World) -> None:
    """Ours: the origin of such a server is the issuer, and an entry may name that as well."""
    world.routes.pop(f"{WELL_KNOWN}/mcp")
    assert found(world, issuer=world.origin).server.issuer == world.origin


def test_an_entry_may_set_the_metadata_url(world: World) -> None:
    """Ours, as Claude Code has it: `authServerMetadataUrl`."""
    world.routes["/elsewhere"] = world.routes.pop(OF_SERVER)
    place = f"{world.origin}/elsewhere"

    assert found(world, metadata_url=place).server.issuer == world.origin
    world.resource["authorization_servers"].append(f"{world.origin}/tenant")
    with pytest.raises(AuthorizationError, match="another issuer"):
        found(world, metadata_url=place, issuer=f"{world.origin}/tenant")


def test_a_configured_metadata_url_without_metadata_is_an_error(world: World) -> None:
    """Ours: falling back to another URL would hide the mistake in the entry."""
    world.routes[f"{WELL_KNOWN}/mcp"] = lambda _: Answer(404)
    with pytest.raises(AuthorizationError, match="there is no metadata"):
        found(world, metadata_url=f"{world.origin}/gone")
