"""Identities of the client."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from gaia_mcp.client.transports.http.auth.discovery import AuthorizationServer
from gaia_mcp.client.transports.http.auth.fetching import UnacceptableError
from gaia_mcp.client.transports.http.auth.tokens import (
    Identity,
    configured_identity,
    document_identity,
    read_registration,
    registration,
)

REDIRECT = "http://127.0.0.1:53682/callback"


def server(*methods: str) -> AuthorizationServer:
    return AuthorizationServer("https://a.example", "https://a.example/token", token_methods=methods or None)


def test_a_configured_client_uses_a_method_that_the_server_supports() -> None:
    """Spec: basic is preferred; without a secret the client is public."""
    assert configured_identity("id", "", server()) == Identity("id")
    assert configured_identity("id", "s", server()) == Identity("id", "client_secret_basic", "s")
    assert configured_identity("id", "s", server("client_secret_post", "client_secret_basic")).method == (
        "client_secret_basic"
    )
    assert configured_identity("id", "s", server("none", "client_secret_post")).method == "client_secret_post"
    with pytest.raises(UnacceptableError, match="takes no client secret"):
        configured_identity("id", "s", server("none", "tls_client_auth"))


def test_the_url_of_a_client_metadata_document_is_the_client_id() -> None:
    """Spec: client id metadata documents; the client is public."""
    assert document_identity("https://me.example/c.json") == Identity("https://me.example/c.json")


def test_a_registration_describes_a_native_application() -> None:
    """Spec: AC-8, AC-12: the type of the application, the redirect URI, both grants."""
    assert registration(REDIRECT, ["a", "b"], server()) == {
        "client_name": "gaia-mcp",
        "redirect_uris": [REDIRECT],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native",
        "scope": "a b",
    }
    assert "scope" not in registration(REDIRECT, [], server())


# What the server takes, and what is registered for that.
METHODS = {
    ("client_secret_post", "none"): "none",
    ("client_secret_post", "client_secret_basic"): "client_secret_basic",
    ("client_secret_post",): "client_secret_post",
    ("tls_client_auth",): "none",
}


def test_a_registration_requests_a_method_that_the_server_supports() -> None:
    """Spec: RFC 7591; a public client where that is possible."""
    asked = {methods: registration(REDIRECT, [], server(*methods)) for methods in METHODS}

    assert {methods: given["token_endpoint_auth_method"] for methods, given in asked.items()} == METHODS


@pytest.mark.parametrize(
    ("response", "identity"),
    [
        ({"client_id": "x"}, Identity("x", "none", "", REDIRECT)),
        ({"client_id": "x", "client_secret": "s"}, Identity("x", "none", "", REDIRECT)),
        ({"client_id": "x", "client_secret": None}, Identity("x", "none", "", REDIRECT)),
        (
            {"client_id": "x", "client_secret": "s", "token_endpoint_auth_method": "client_secret_post"},
            Identity("x", "client_secret_post", "s", REDIRECT),
        ),
    ],
)
def test_the_authentication_method_is_read_from_the_registration_response(
    response: dict[str, Any], identity: Identity
) -> None:
    """Spec: RFC 7591: as registered; a secret that is not needed is not kept."""
    assert read_registration(response, registration(REDIRECT, [], server())) == identity


UNUSABLE: list[dict[str, Any]] = [
    {},
    {"client_id": ""},
    {"client_id": 7},
    {"client_id": "a\r\nb"},
    {"client_id": "x" * 5000},
    {"client_id": "x", "token_endpoint_auth_method": "client_secret_basic"},
    {"client_id": "x", "token_endpoint_auth_method": "tls_client_auth"},
    {"client_id": "x", "token_endpoint_auth_method": ["none"]},
    {"client_id": "x", "client_secret": 7},
]


def test_an_invalid_registration_response_is_refused() -> None:
    """Ours: it would be kept, and fail later."""
    accepted = []
    for response in UNUSABLE:
        with suppress(UnacceptableError):
            accepted.append((response, read_registration(response, registration(REDIRECT, [], server()))))

    assert not accepted
