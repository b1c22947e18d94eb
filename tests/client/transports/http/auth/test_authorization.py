"""The authorization request, and what its redirect must hold."""

from __future__ import annotations

from itertools import product
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from gaia_mcp.client.transports.http.auth.addresses import UnacceptableError
from gaia_mcp.client.transports.http.auth.authorization import (
    Attempt,
    DeniedError,
    ForeignRedirectError,
    begun,
    first_scopes,
    is_more,
    union,
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


def test_the_authorization_request_carries_pkce_state_and_resource() -> None:
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


def test_an_empty_scope_is_omitted_and_offline_access_prompts_for_consent() -> None:
    """Spec: the parameter is omitted; OpenID Connect, §11, on `prompt`."""
    assert "scope" not in parse_qs(urlsplit(attempt(scopes=()).url()).query)
    assert parse_qs(urlsplit(attempt(scopes=("offline_access",)).url()).query)["prompt"] == ["consent"]


def test_the_query_of_the_authorization_endpoint_is_preserved() -> None:
    """Spec: RFC 6749, §3.1."""
    server = SERVER._replace(authorization_endpoint=f"{ISSUER}/authorize?tenant=7")

    assert attempt(server).url().startswith(f"{ISSUER}/authorize?tenant=7&response_type=code&")


@pytest.mark.parametrize("methods", [(), ("plain",)])
def test_a_server_that_does_not_advertise_s256_is_refused(methods: tuple[str, ...]) -> None:
    """Spec: AC-3: refuse when support is not advertised."""
    with pytest.raises(UnacceptableError, match="PKCE"):
        attempt(SERVER._replace(challenge_methods=methods)).url()


def test_a_server_without_an_authorization_endpoint_is_refused() -> None:
    """Ours: such a server is for programs alone, and no browser could be sent there."""
    with pytest.raises(UnacceptableError, match="authorization_endpoint"):
        attempt(SERVER._replace(authorization_endpoint=None)).url()


def test_the_code_is_read_from_the_redirect_url_or_its_query() -> None:
    """Ours: a person who pastes it may copy either."""
    assert attempt().code_in(redirect()) == "C"
    assert attempt().code_in(f"  {redirect()}#x\n") == "C"
    assert attempt().code_in(redirect().partition("?")[2]) == "C"


@pytest.mark.parametrize("state", ["", "other", "é"])
def test_a_redirect_with_another_state_is_rejected(state: str) -> None:
    """Spec: AC-5: a stolen or replayed state begins nothing."""
    with pytest.raises(ForeignRedirectError):
        attempt().code_in(redirect(state=state))


def test_a_redirect_without_a_state_is_rejected() -> None:
    """Spec: AC-5: it may be any request to the port of the listener."""
    for text in ["", REDIRECT, "hello", "x" * 20000]:
        with pytest.raises(ForeignRedirectError):
            attempt().code_in(text)


def test_a_redirect_with_a_repeated_parameter_is_rejected() -> None:
    """Spec: RFC 6749, §3.1: parameters are not repeated; two readers would see two codes."""
    with pytest.raises(ForeignRedirectError):
        attempt().code_in(f"{redirect()}&code=D")


def test_a_redirect_must_name_the_issuer_if_the_server_advertises_that() -> None:
    """Spec: AC-6, RFC 9207, §2.4."""
    with pytest.raises(UnacceptableError, match="did not name itself"):
        attempt().code_in(redirect().replace(f"&{urlencode({'iss': ISSUER})}", ""))


def test_another_issuer_in_the_redirect_is_refused() -> None:
    """Spec: AC-6: compared as strings, announced or not; nothing is normalised."""

    def refusal(issuer: str, sends_issuer: bool) -> str:
        try:
            return attempt(SERVER._replace(sends_issuer=sends_issuer)).code_in(redirect(iss=issuer))
        except UnacceptableError as error:
            return str(error)

    others = ("https://evil.example", f"{ISSUER}/", "HTTPS://auth.example.com", f"{ISSUER}:443")
    found = {row: refusal(*row) for row in product(others, (True, False))}

    assert {row: text for row, text in found.items() if "is not the one" not in text} == {}


def test_the_issuer_may_be_missing_if_the_server_does_not_advertise_it() -> None:
    """Spec: AC-6."""
    text = redirect().replace(f"&{urlencode({'iss': ISSUER})}", "")

    assert attempt(SERVER._replace(sends_issuer=False)).code_in(text) == "C"


def test_an_error_in_the_redirect_is_shown_only_if_the_issuer_matches() -> None:
    """Spec: AC-6: on a mismatch the error fields are not shown."""
    with pytest.raises(DeniedError) as caught:
        attempt().code_in(redirect(error="access_denied", error_description="no"))
    assert (caught.value.code, str(caught.value)) == ("access_denied", "access_denied: no")

    with pytest.raises(UnacceptableError) as foreign:
        attempt().code_in(redirect(error="access_denied", error_description="call +1 555", iss="https://evil.example"))
    assert "555" not in str(foreign.value)


def test_an_authorization_error_may_have_no_description() -> None:
    """Spec: RFC 6749, §4.1.2.1."""
    assert str(DeniedError("server_error", "")) == "server_error"


def test_a_redirect_without_a_code_is_refused() -> None:
    """Ours: there is nothing to exchange for a token."""
    with pytest.raises(UnacceptableError, match="without a code"):
        attempt().code_in(redirect(code=""))


def test_the_scopes_of_the_challenge_are_requested() -> None:
    """Spec: AC-10, the challenge is authoritative; what the user wishes comes with it."""
    assert first_scopes(["a"], [], ["b", "c"], []) == ("a",)
    assert first_scopes(["a"], ["w", "a"], ["b"], []) == ("a", "w")


def test_the_scopes_of_the_metadata_are_requested_if_the_challenge_has_none() -> None:
    """Spec: all of `scopes_supported`; without those the parameter is omitted."""
    assert first_scopes([], [], ["b", "c"], []) == ("b", "c")
    assert first_scopes([], ["w"], ["b"], []) == ("w",)
    assert first_scopes([], [], [], ["x"]) == ()


def test_offline_access_is_requested_if_the_server_lists_it() -> None:
    """Spec: it must not be asked for otherwise; alone it would take the place of the server's own choice."""
    assert first_scopes([], [], ["b"], ["b", "offline_access"]) == ("b", "offline_access")
    assert first_scopes([], [], ["b"], ["b"]) == ("b",)
    assert first_scopes([], [], [], ["offline_access"]) == ()


def test_the_scopes_of_a_step_up_are_the_union() -> None:
    """Spec: AC-10: what was granted before is not lost."""
    assert union(["a", "b"], ["c", "a"]) == ("a", "b", "c")
    assert is_more(["a", "b"], ["c"])
    assert not is_more(["a", "b"], ["b"])
    assert not is_more(["a"], [])
