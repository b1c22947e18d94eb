"""Challenges as servers write them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from gaia_mcp.client.transports.http.auth.challenges import (
    MAX_HEADER_CHARS,
    Challenge,
    challenge_in,
    challenges_in,
    scopes_in,
)
from tests.protocol_support import steady

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
