"""Identities of the client."""

from __future__ import annotations

from typing import Any

import pytest

from gaia_mcp.client.transports.http.auth.addresses import UnacceptableError
from gaia_mcp.client.transports.http.auth.identity import (
    Identity,
    configured_identity,
    document_identity,
    read_registration,
    registration,
)
from gaia_mcp.client.transports.http.auth.metadata import AuthorizationServer

REDIRECT = "http://127.0.0.1:53682/callback"


def server(*methods: str) -> AuthorizationServer:
    return AuthorizationServer("https://a.example", "https://a.example/token", token_methods=methods or None)


def test_a_configured_client_proves_itself_as_the_server_wants() -> None:
    """Spec: basic is preferred; without a secret the client is public."""
    assert configured_identity("id", "", server()) == Identity("id")
    assert configured_identity("id", "s", server()) == Identity("id", "client_secret_basic", "s")
    assert configured_identity("id", "s", server("client_secret_post", "client_secret_basic")).method == (
        "client_secret_basic"
    )
    assert configured_identity("id", "s", server("none", "client_secret_post")).method == "client_secret_post"
    with pytest.raises(UnacceptableError, match="takes no client secret"):
        configured_identity("id", "s", server("none", "tls_client_auth"))


def test_a_document_is_an_identity_by_its_url() -> None:
    """Spec: client id metadata documents; the client is public."""
    assert document_identity("https://me.example/c.json") == Identity("https://me.example/c.json")


def test_a_registration_describes_a_native_program() -> None:
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


@pytest.mark.parametrize(
    ("methods", "asked"),
    [
        (["client_secret_post", "none"], "none"),
        (["client_secret_post", "client_secret_basic"], "client_secret_basic"),
        (["client_secret_post"], "client_secret_post"),
        (["tls_client_auth"], "none"),
    ],
)
def test_a_registration_asks_for_a_method_that_the_server_has(methods: list[str], asked: str) -> None:
    """Spec: RFC 7591; a public client where that is possible."""
    assert registration(REDIRECT, [], server(*methods))["token_endpoint_auth_method"] == asked


@pytest.mark.parametrize(
    ("response", "identity"),
    [
        ({"client_id": "x"}, Identity("x", "none", "", REDIRECT)),
        ({"client_id": "x", "client_secret": "s"}, Identity("x", "none", "", REDIRECT)),
        (
            {"client_id": "x", "client_secret": "s", "token_endpoint_auth_method": "client_secret_post"},
            Identity("x", "client_secret_post", "s", REDIRECT),
        ),
    ],
)
def test_the_response_tells_the_method(response: dict[str, Any], identity: Identity) -> None:
    """Spec: RFC 7591: as registered; a secret that is not needed is not kept."""
    assert read_registration(response, registration(REDIRECT, [], server())) == identity


@pytest.mark.parametrize(
    "response",
    [
        {},
        {"client_id": ""},
        {"client_id": 7},
        {"client_id": "a\r\nb"},
        {"client_id": "x" * 5000},
        {"client_id": "x", "token_endpoint_auth_method": "client_secret_basic"},
        {"client_id": "x", "token_endpoint_auth_method": "tls_client_auth"},
        {"client_id": "x", "token_endpoint_auth_method": ["none"]},
        {"client_id": "x", "client_secret": 7},
    ],
)
def test_an_unusable_registration_is_refused(response: dict[str, Any]) -> None:
    """Ours: it would be kept, and fail later."""
    with pytest.raises(UnacceptableError):
        read_registration(response, registration(REDIRECT, [], server()))
