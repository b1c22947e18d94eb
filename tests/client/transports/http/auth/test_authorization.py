"""The authorization request, and what its redirect must hold."""

from __future__ import annotations

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from gaia_mcp.client.transports.http.auth.addresses import UnacceptableError
from gaia_mcp.client.transports.http.auth.authorization import (
    Attempt,
    DeniedError,
    ForeignRedirectError,
    begun,
)
from gaia_mcp.client.transports.http.auth.metadata import AuthorizationServer

ISSUER = "https://auth.example.com"
REDIRECT = "http://127.0.0.1:53682/callback"
RESOURCE = "https://mcp.example.com/mcp"
SERVER = AuthorizationServer(
    ISSUER, f"{ISSUER}/token", f"{ISSUER}/authorize", challenge_methods=("plain", "S256"), sends_issuer=True
)
# The verifier of RFC 7636, appendix B, and its challenge.
VERIFIER = bytes.fromhex("7418dfb49799e0254ffa607dd8adbbba16d4254d69d6bff05b58055853848d79")
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def attempt(server: AuthorizationServer = SERVER, scopes: tuple[str, ...] = ("a", "b")) -> Attempt:
    return begun(server, "CID", REDIRECT, RESOURCE, scopes, (b"s" * 32, VERIFIER))


def redirect(**fields: str) -> str:
    return f"{REDIRECT}?{urlencode({'code': 'C', 'state': attempt().state, 'iss': ISSUER, **fields})}"


def test_the_request_binds_the_code_to_this_attempt() -> None:
    """Spec: AC-3, AC-4, AC-5: PKCE S256, `resource` and `state`."""
    url = attempt().url()

    assert url.startswith(f"{ISSUER}/authorize?")
    assert parse_qs(urlsplit(url).query) == {
        "response_type": ["code"],
        "client_id": ["CID"],
        "redirect_uri": [REDIRECT],
        "code_challenge": [CHALLENGE],
        "code_challenge_method": ["S256"],
        "state": [attempt().state],
        "resource": [RESOURCE],
        "scope": ["a b"],
    }


def test_without_scopes_none_is_named_and_offline_access_needs_consent() -> None:
    """Spec: the parameter is omitted; OpenID Connect, §11, on `prompt`."""
    assert "scope" not in parse_qs(urlsplit(attempt(scopes=()).url()).query)
    assert parse_qs(urlsplit(attempt(scopes=("offline_access",)).url()).query)["prompt"] == ["consent"]


def test_the_query_of_an_endpoint_stays() -> None:
    """Spec: RFC 6749, §3.1."""
    server = SERVER._replace(authorization_endpoint=f"{ISSUER}/authorize?tenant=7")

    assert attempt(server).url().startswith(f"{ISSUER}/authorize?tenant=7&response_type=code&")


@pytest.mark.parametrize("methods", [(), ("plain",)])
def test_a_server_that_does_not_announce_s256_is_refused(methods: tuple[str, ...]) -> None:
    """Spec: AC-3: refuse when support is not advertised."""
    with pytest.raises(UnacceptableError, match="PKCE"):
        attempt(SERVER._replace(challenge_methods=methods)).url()


def test_a_server_without_a_place_for_people_is_refused() -> None:
    """Ours."""
    with pytest.raises(UnacceptableError, match="authorization_endpoint"):
        attempt(SERVER._replace(authorization_endpoint=None)).url()


def test_the_code_of_the_redirect_is_had_from_its_url_or_its_query() -> None:
    """Ours: both are pasted."""
    assert attempt().code_in(redirect()) == "C"
    assert attempt().code_in(f"  {redirect()}#x\n") == "C"
    assert attempt().code_in(redirect().partition("?")[2]) == "C"


@pytest.mark.parametrize("state", ["", "other", "é"])
def test_a_redirect_with_another_state_is_not_ours(state: str) -> None:
    """Spec: AC-5: a stolen or replayed state begins nothing."""
    with pytest.raises(ForeignRedirectError):
        attempt().code_in(redirect(state=state))


@pytest.mark.parametrize("text", ["", REDIRECT, "hello", "x" * 20000])
def test_a_redirect_without_a_state_is_not_ours(text: str) -> None:
    """Spec: AC-5."""
    with pytest.raises(ForeignRedirectError):
        attempt().code_in(text)


def test_a_repeated_parameter_makes_a_redirect_worthless() -> None:
    """Spec: RFC 6749, §3.1: parameters are not repeated; two readers would see two codes."""
    with pytest.raises(ForeignRedirectError):
        attempt().code_in(f"{redirect()}&code=D")


def test_an_issuer_that_is_announced_must_be_named() -> None:
    """Spec: AC-6, RFC 9207, §2.4."""
    with pytest.raises(UnacceptableError, match="did not name itself"):
        attempt().code_in(redirect().replace(f"&{urlencode({'iss': ISSUER})}", ""))


@pytest.mark.parametrize("sends_issuer", [True, False])
@pytest.mark.parametrize("issuer", ["https://evil.example", f"{ISSUER}/", "HTTPS://auth.example.com", f"{ISSUER}:443"])
def test_another_issuer_is_refused_as_text(issuer: str, sends_issuer: bool) -> None:
    """Spec: AC-6: compared as strings, announced or not; nothing is normalised."""
    with pytest.raises(UnacceptableError, match="is not the one"):
        attempt(SERVER._replace(sends_issuer=sends_issuer)).code_in(redirect(iss=issuer))


def test_without_an_announcement_the_issuer_may_be_missing() -> None:
    """Spec: AC-6."""
    text = redirect().replace(f"&{urlencode({'iss': ISSUER})}", "")

    assert attempt(SERVER._replace(sends_issuer=False)).code_in(text) == "C"


def test_an_error_is_shown_only_after_the_checks() -> None:
    """Spec: AC-6: on a mismatch the error fields are not shown."""
    with pytest.raises(DeniedError) as caught:
        attempt().code_in(redirect(error="access_denied", error_description="no"))
    assert (caught.value.code, str(caught.value)) == ("access_denied", "access_denied: no")

    with pytest.raises(UnacceptableError) as foreign:
        attempt().code_in(redirect(error="access_denied", error_description="call +1 555", iss="https://evil.example"))
    assert "555" not in str(foreign.value)


def test_an_error_may_come_without_a_description() -> None:
    """Spec: RFC 6749, §4.1.2.1."""
    assert str(DeniedError("server_error", "")) == "server_error"


def test_an_answer_without_a_code_is_refused() -> None:
    """Ours."""
    with pytest.raises(UnacceptableError, match="without a code"):
        attempt().code_in(redirect(code=""))
