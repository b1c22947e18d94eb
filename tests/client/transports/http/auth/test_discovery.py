"""Metadata documents: where they are looked for, and what of them is believed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gaia_mcp.client.transports.http.auth import Settings
from gaia_mcp.client.transports.http.auth.discovery import (
    MAX_HEADER_CHARS,
    MAX_ITEMS,
    PROBE,
    PROBE_HEADERS,
    Challenge,
    Found,
    ProtectedResource,
    challenge_in,
    challenges_in,
    find,
    read_resource,
    read_server,
    resource_places,
    scopes_in,
    server_places,
    usual_server,
)
from gaia_mcp.client.transports.http.auth.fetching import Fetcher, Reach, UnacceptableError
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import AuthorizationError
from tests.client.transports.http.auth.world import Answer, World
from tests.protocol_support import steady
from tests.waiting import ENOUGH_SECONDS
from tests.wire_support import is_request

URL = "https://mcp.example.com/team/mcp"
ISSUER = "https://auth.example.com/tenant1"
SERVER: dict[str, Any] = {
    "issuer": ISSUER,
    "authorization_endpoint": f"{ISSUER}/authorize",
    "token_endpoint": f"{ISSUER}/token",
    "registration_endpoint": f"{ISSUER}/register",
    "revocation_endpoint": f"{ISSUER}/revoke",
    "scopes_supported": ["files:read", "offline_access"],
    "code_challenge_methods_supported": ["S256"],
    "token_endpoint_auth_methods_supported": ["none", "client_secret_post"],
    "client_id_metadata_document_supported": True,
    "authorization_response_iss_parameter_supported": True,
}


def test_the_urls_of_resource_metadata_are_tried_in_order() -> None:
    """Spec: AC-1: the URL of the challenge, then the well-known one of the path, then that of the origin."""
    well_known = "https://mcp.example.com/.well-known/oauth-protected-resource"

    assert resource_places(URL, "https://x.example/meta") == [
        "https://x.example/meta",
        f"{well_known}/team/mcp",
        well_known,
    ]
    assert resource_places("https://mcp.example.com/", "") == [well_known]
    assert resource_places(URL, f"{well_known}/team/mcp") == [f"{well_known}/team/mcp", well_known]


def test_the_urls_of_issuer_metadata_are_tried_in_order() -> None:
    """Spec: AC-2: RFC 8414 first, then OpenID Connect with the path inserted, then with it before."""
    assert server_places(ISSUER) == [
        "https://auth.example.com/.well-known/oauth-authorization-server/tenant1",
        "https://auth.example.com/.well-known/openid-configuration/tenant1",
        "https://auth.example.com/tenant1/.well-known/openid-configuration",
    ]
    assert server_places("https://auth.example.com/") == [
        "https://auth.example.com/.well-known/oauth-authorization-server",
        "https://auth.example.com/.well-known/openid-configuration",
    ]


def test_the_metadata_of_a_resource_names_its_authorization_servers() -> None:
    """Spec: RFC 9728, §2; the identifier stays as it was published."""
    document = {
        "resource": "https://MCP.example.com/team/",
        "authorization_servers": [ISSUER, 7, "https://b.example"],
        "scopes_supported": ["a", "b", None, "a"],
        "dpop_bound_access_tokens_required": True,
    }

    assert read_resource(document, URL) == ProtectedResource(
        "https://MCP.example.com/team/", (ISSUER, "https://b.example"), ("a", "b"), True
    )


def error_of(read: Callable[..., object], *arguments: object) -> Exception | None:
    try:
        read(*arguments)
    except Exception as error:
        return error
    return None


def is_refusal(error: Exception | None, words: str) -> bool:
    return isinstance(error, UnacceptableError) and words in str(error)


def test_the_metadata_of_another_resource_is_refused() -> None:
    """Spec: RFC 9728, §3.3: a token for another resource must not be had through this server."""
    for resource in [
        "https://evil.example/team/mcp",
        "https://mcp.example.com/other",
        "http://mcp.example.com/team/mcp",
        7,
    ]:
        found = error_of(read_resource, {"resource": resource, "authorization_servers": [ISSUER]}, URL)

        assert is_refusal(found, "another resource"), (resource, found)


def test_a_resource_without_an_authorization_server_is_refused() -> None:
    """Spec: RFC 9728, §2; there is nothing to go on with."""
    for servers in [None, [], "https://a.example", [7, ""]]:
        found = error_of(read_resource, {"resource": URL, "authorization_servers": servers}, URL)

        assert is_refusal(found, "no authorization server"), (servers, found)


def test_the_metadata_of_an_authorization_server_is_read() -> None:
    """Spec: RFC 8414, §2."""
    server = read_server(SERVER, ISSUER, Reach.INTERNET)

    assert (server.issuer, server.token_endpoint) == (ISSUER, f"{ISSUER}/token")
    assert (server.registration_endpoint, server.revocation_endpoint) == (f"{ISSUER}/register", f"{ISSUER}/revoke")
    assert server.scopes == ("files:read", "offline_access")
    assert server.token_methods == ("none", "client_secret_post")
    assert (server.takes_documents, server.sends_issuer) == (True, True)


def test_optional_members_of_server_metadata_may_be_missing() -> None:
    """Ours: a server for programs alone has no place for people."""
    server = read_server({"issuer": ISSUER, "token_endpoint": f"{ISSUER}/token"}, ISSUER, Reach.INTERNET)

    assert (server.authorization_endpoint, server.registration_endpoint, server.token_methods) == (None, None, None)
    assert (server.takes_documents, server.sends_issuer, server.challenge_methods) == (False, False, ())


def test_another_issuer_is_refused() -> None:
    """Spec: AC-2: the issuer is identical to the one that the URL was made of, or the document is not used."""
    for named in [f"{ISSUER}/", "https://auth.example.com", "https://AUTH.example.com/tenant1", "https://evil.example"]:
        found = error_of(read_server, {**SERVER, "issuer": named}, ISSUER, Reach.INTERNET)

        assert is_refusal(found, "another issuer"), (named, found)


def test_a_trailing_slash_after_an_empty_path_is_the_same_issuer() -> None:
    """Ours, as the official SDKs do: several large services publish it so."""
    document = {**SERVER, "issuer": "https://auth.example.com/"}

    assert read_server(document, "https://auth.example.com", Reach.INTERNET).issuer == "https://auth.example.com/"
    with pytest.raises(UnacceptableError):
        read_server({**SERVER, "issuer": "https://evil.example/"}, "https://auth.example.com", Reach.INTERNET)


def test_the_issuer_is_read_from_a_configured_metadata_document() -> None:
    """Ours: `authServerMetadataUrl` of an entry."""
    assert read_server(SERVER, None, Reach.INTERNET).issuer == ISSUER


def test_an_insecure_or_private_endpoint_is_refused() -> None:
    """Spec: AC-12, all endpoints are https. Ours: and none is on a private network."""
    endpoints = ["token_endpoint", "authorization_endpoint", "registration_endpoint"]
    urls = ["http://auth.example.com/x", "https://169.254.169.254/x", "file:///etc/passwd", 7]
    found = {
        (endpoint, url): error_of(read_server, {**SERVER, endpoint: url}, ISSUER, Reach.INTERNET)
        for endpoint in endpoints
        for url in urls
    }

    assert {row: error for row, error in found.items() if not is_refusal(error, f"its {row[0]}")} == {}


def test_a_list_in_metadata_is_limited() -> None:
    """Ours: what is read is kept, printed, and sent back."""
    document = {**SERVER, "scopes_supported": [f"s{number}" for number in range(100_000)]}

    assert len(read_server(document, ISSUER, Reach.INTERNET).scopes) == MAX_ITEMS


def test_a_server_without_metadata_has_the_default_endpoints_of_2025_03_26() -> None:
    """Spec 2025-03-26: /authorize, /token and /register of the origin."""
    server = usual_server(URL)

    assert server.issuer == "https://mcp.example.com"
    assert server.authorization_endpoint == "https://mcp.example.com/authorize"
    assert server.token_endpoint == "https://mcp.example.com/token"
    assert server.registration_endpoint == "https://mcp.example.com/register"
    assert server.challenge_methods == ("S256",)
    with pytest.raises(UnacceptableError):
        usual_server("http://mcp.example.com/mcp")


METADATA = "https://mcp.example.com/.well-known/oauth-protected-resource"


def test_a_challenge_names_metadata_scopes_and_the_reason() -> None:
    """Spec: AC-1, AC-10, the 401 of a protected server."""
    challenge = challenge_in(
        [f'Bearer error="insufficient_scope", scope="files:read files:write", resource_metadata="{METADATA}"']
    )

    assert challenge.scheme == "bearer"
    assert challenge.error == "insufficient_scope"
    assert challenge.scopes == ("files:read", "files:write")
    assert challenge.resource_metadata == METADATA


def test_several_challenges_in_one_or_more_headers_are_parsed() -> None:
    """Spec: RFC 9110, §11.6.1: a comma separates both parameters and challenges."""
    header = (
        f'Negotiate, Basic realm="a, \\"b\\"" , BEARER scope=x,Error = invalid_token , resource_metadata="{METADATA}"'
    )

    assert challenges_in(header) == [
        Challenge("negotiate", {}),
        Challenge("basic", {"realm": 'a, "b"'}),
        Challenge("bearer", {"scope": "x", "error": "invalid_token", "resource_metadata": METADATA}),
    ]
    assert challenge_in(["Negotiate YWJj==", "Basic", header]).error == "invalid_token"


def test_a_challenge_with_a_metadata_url_is_preferred() -> None:
    """Ours: a proxy may have added one of its own."""
    assert challenge_in(["Bearer", f'DPoP resource_metadata="{METADATA}"']).scheme == "dpop"
    assert challenge_in(["Bearer realm=x", "DPoP"]).parameters == {"realm": "x"}


def test_headers_without_an_oauth_challenge_give_an_empty_challenge() -> None:
    """Ours: discovery goes on at the well-known places."""
    for headers in ([], ["Basic realm=x"], ['="', ", ,"], ["realm=x"]):
        challenge = challenge_in(headers)
        assert (challenge.scheme, challenge.error, challenge.scopes, challenge.resource_metadata) == ("", "", (), "")


def test_the_first_of_repeated_challenge_parameters_is_used() -> None:
    """Spec: RFC 9110, §11.2: a parameter occurs once; a later one must not replace what was read first."""
    assert challenge_in(['Bearer scope="a", scope="b"']).scopes == ("a",)


def test_an_invalid_scope_is_dropped() -> None:
    """Spec: RFC 6749, §3.3: a scope has no quotation mark, backslash or other character than visible ASCII."""
    assert scopes_in('a  b:c a "x" d\\e é https://x/y') == ("a", "b:c", "https://x/y")
    assert scopes_in(["a"]) == ()


@steady
@given(some.text())
def test_any_header_can_be_parsed(header: str) -> None:
    """Ours: headers come from outside."""
    challenges_in(f"Bearer {header}")


def test_a_huge_header_is_truncated() -> None:
    """Ours: the time to read it has a limit."""
    challenges_in("a " * 1_000_000)
    assert challenges_in("Bearer " + " " * MAX_HEADER_CHARS + "scope=x") == [Challenge("bearer", {})]


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


def test_the_probe_is_a_request_of_the_stateless_era() -> None:
    """Spec: §3.3 of the transport: it runs nothing, and has no token."""
    message = json.loads(PROBE)

    is_request("2026-07-28", message)
    assert PROBE_HEADERS["Mcp-Method"] == message["method"] == "server/discover"
    assert PROBE_HEADERS["MCP-Protocol-Version"] == "2026-07-28"
    assert PROBE_HEADERS["Accept"] == "application/json, text/event-stream"
