"""Metadata documents: where they are looked for, and what of them is believed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from gaia_mcp.client.transports.http.auth.addresses import Reach, UnacceptableError
from gaia_mcp.client.transports.http.auth.metadata import (
    MAX_HEADER_CHARS,
    MAX_ITEMS,
    Challenge,
    ProtectedResource,
    challenge_in,
    challenges_in,
    read_resource,
    read_server,
    resource_places,
    scopes_in,
    server_places,
    usual_server,
)
from tests.protocol_support import steady

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
