"""Requests for tokens, and their responses."""

from __future__ import annotations

import base64
from contextlib import suppress
from typing import Any

from gaia_mcp.client.transports.http.auth.addresses import UnacceptableError
from gaia_mcp.client.transports.http.auth.authorization import begun
from gaia_mcp.client.transports.http.auth.metadata import AuthorizationServer
from gaia_mcp.client.transports.http.auth.tokens import (
    EARLY_SECONDS,
    LONGEST_SECONDS,
    Identity,
    Tokens,
    authenticated,
    code_form,
    read_tokens,
    refresh_form,
    refusal,
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
