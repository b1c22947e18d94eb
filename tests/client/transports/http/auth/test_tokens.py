"""Requests for tokens, and their responses."""

from __future__ import annotations

import base64
from contextlib import suppress
from itertools import product
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from gaia_mcp.client.transports.http.auth.discovery import AuthorizationServer
from gaia_mcp.client.transports.http.auth.fetching import UnacceptableError
from gaia_mcp.client.transports.http.auth.tokens import (
    EARLY_SECONDS,
    LONGEST_SECONDS,
    Attempt,
    DeniedError,
    ForeignRedirectError,
    Identity,
    Tokens,
    authenticated,
    begun,
    code_form,
    first_scopes,
    is_more,
    read_tokens,
    refresh_form,
    refusal,
    union,
)

NOW = 1_800_000_000.0
FORM = {"grant_type": "refresh_token"}


def test_the_code_exchange_has_the_verifier_and_the_resource() -> None:
    """Spec: AC-3, AC-4."""
    server = AuthorizationServer("https://a.example", "https://a.example/token")
    attempt = begun(server, "CID", "http://127.0.0.1:1/callback", "https://m.example", [], (b"s" * 32, b"v" * 32))

    assert code_form(attempt, "C") == {
        "grant_type": "authorization_code",
        "code": "C",
        "redirect_uri": "http://127.0.0.1:1/callback",
        "code_verifier": attempt.verifier,
        "resource": "https://m.example",
    }


def test_a_refresh_has_the_resource() -> None:
    """Spec: AC-4, in every request for tokens."""
    assert refresh_form("R", "https://m.example") == {
        "grant_type": "refresh_token",
        "refresh_token": "R",
        "resource": "https://m.example",
    }


def test_a_client_authenticates_by_its_registered_method() -> None:
    """Spec: RFC 6749, §2.3.1 (both parts form-encoded before Base64), RFC 7523, §2.2."""
    form, headers = authenticated(FORM, Identity("a:b c", "client_secret_basic", "s/é"))
    assert form == {**FORM, "client_id": "a:b c"}
    assert base64.b64decode(headers["Authorization"].removeprefix("Basic ")) == b"a%3Ab+c:s%2F%C3%A9"

    assert authenticated(FORM, Identity("id", "client_secret_post", "s")) == (
        {**FORM, "client_id": "id", "client_secret": "s"},
        {},
    )
    assert authenticated(FORM, Identity("id")) == ({**FORM, "client_id": "id"}, {})
    assert authenticated(FORM, Identity("id", "private_key_jwt"), "JWT") == (
        {
            **FORM,
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": "JWT",
        },
        {},
    )


def test_a_token_response_is_read() -> None:
    """Spec: RFC 6749, §5.1; the granted scope may differ from the asked one."""
    document = {"access_token": "A", "token_type": "bearer", "expires_in": 3600, "refresh_token": "R", "scope": "x y"}

    assert read_tokens(document, NOW, ["x"]) == Tokens("A", "Bearer", NOW + 3600, "R", ("x", "y"))


def test_a_token_of_a_missing_or_unknown_type_is_used_as_a_bearer_token() -> None:
    """Ours, as the official SDKs: the person has granted access already, and such servers take no other scheme."""
    kinds: list[dict[str, Any]] = [{}, {"token_type": None}, *({"token_type": kind} for kind in ("user", "mac", "", 7))]

    found = [read_tokens({"access_token": "A", **kind}, NOW, []).kind for kind in kinds]

    assert found == ["Bearer"] * len(kinds)


def test_a_missing_scope_in_the_token_response_is_the_requested_one() -> None:
    """Spec: AC-11: no refresh token is assumed, and no lifetime."""
    assert read_tokens({"access_token": "A", "token_type": "DPoP"}, NOW, ["x"]) == Tokens("A", "DPoP", None, "", ("x",))


def test_a_renewal_that_leaves_out_the_refresh_token_keeps_the_old_one() -> None:
    """Spec: RFC 6749, §6; a new one takes its place."""
    before = Tokens("A", "Bearer", NOW, "R", ("x", "y"))

    assert read_tokens({"access_token": "B", "token_type": "Bearer"}, NOW, [], before) == before._replace(
        access="B", expires_at=None
    )
    rotated = {"access_token": "B", "token_type": "Bearer", "refresh_token": "S", "scope": "x"}
    assert read_tokens(rotated, NOW, [], before) == Tokens("B", "Bearer", None, "S", ("x",))


def expires_at(lifetime: object) -> float | None:
    return read_tokens({"access_token": "A", "token_type": "Bearer", "expires_in": lifetime}, NOW, []).expires_at


def test_a_lifetime_may_be_a_number_or_a_numeric_string() -> None:
    """Ours: some write it as text."""
    lifetimes = [(0, 0.0), (1.5, 1.5), ("60", 60.0), (10**400, LONGEST_SECONDS), ("9" * 5000, LONGEST_SECONDS)]

    assert [(lifetime, expires_at(lifetime)) for lifetime, _ in lifetimes] == [
        (lifetime, NOW + seconds) for lifetime, seconds in lifetimes
    ]


def test_an_invalid_lifetime_is_ignored() -> None:
    """Ours: a token is used until it is refused."""
    lifetimes: list[object] = [None, -1, True, "soon", [], "-1"]

    assert [lifetime for lifetime in lifetimes if expires_at(lifetime) is not None] == []


UNUSABLE: list[dict[str, Any]] = [
    {},
    {"access_token": "", "token_type": "Bearer"},
    {"access_token": "a\r\nX: y", "token_type": "Bearer"},
    {"access_token": "a b", "token_type": "Bearer"},
    {"access_token": "x" * 40000, "token_type": "Bearer"},
    {"access_token": 7, "token_type": "Bearer"},
]


def test_an_invalid_token_response_is_refused() -> None:
    """Ours: it becomes part of a header."""
    accepted = []
    for document in UNUSABLE:
        with suppress(UnacceptableError):
            accepted.append((document, read_tokens(document, NOW, [])))

    assert not accepted


def test_a_token_is_stale_shortly_before_it_expires() -> None:
    """Ours: a token that expires on the way is refused."""
    tokens = Tokens("A", expires_at=NOW)

    assert not tokens.is_stale(NOW - EARLY_SECONDS - 1)
    assert tokens.is_stale(NOW - EARLY_SECONDS)
    assert not Tokens("A").is_stale(NOW)
    assert tokens.header() == "Bearer A"


def test_a_short_lived_token_is_stale_in_the_last_tenth_of_its_lifetime() -> None:
    """Ours: a tenth of its life is early enough."""
    tokens = read_tokens({"access_token": "A", "token_type": "Bearer", "expires_in": 20}, NOW, [])

    assert not tokens.is_stale(NOW + 17)
    assert tokens.is_stale(NOW + 18)


def test_an_oauth_error_has_a_code_and_may_have_a_description() -> None:
    """Spec: RFC 6749, §5.2."""
    error = refusal({"error": "invalid_grant", "error_description": "expired"})

    assert (error.code, str(error)) == ("invalid_grant", "invalid_grant: expired")
    assert (refusal({"error": 7, "error_description": []}).code, str(refusal({"error": "x"}))) == ("", "x")


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
