"""The identity of the client at an authorization server: its kinds, and how it authenticates.

An identity belongs to the issuer that gave it, and is sent to no other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from gaia_mcp.client.transports.http.auth.addresses import UnacceptableError

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.auth.metadata import AuthorizationServer

CLIENT_NAME = "gaia-mcp"
# Longer than any real one; it is stored, and sent with every token request.
MAX_CHARS = 4096
Method = Literal["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
# In order of preference for a client with a secret.
_WITH_SECRET: tuple[Method, ...] = ("client_secret_basic", "client_secret_post")
_METHODS: tuple[Method, ...] = ("none", *_WITH_SECRET)


class Identity(NamedTuple):
    """A client as registered at an authorization server. `redirect_uri` is the registered one, if any."""

    client_id: str
    method: Method = "none"
    secret: str = ""
    redirect_uri: str = ""


def configured_identity(client_id: str, secret: str, server: AuthorizationServer) -> Identity:
    """A client that was registered beforehand. Raises `UnacceptableError` if the server accepts no secret."""
    if not secret:
        return Identity(client_id)
    methods = server.token_methods
    chosen = next((method for method in _WITH_SECRET if methods is None or method in methods), None)
    if chosen is None:
        raise UnacceptableError("takes no client secret")
    return Identity(client_id, chosen, secret)


def document_identity(url: str) -> Identity:
    """A client that a document at `url` describes."""
    return Identity(url)


def registration(redirect_uri: str, scopes: Sequence[str], server: AuthorizationServer) -> dict[str, Any]:
    """The request that registers this program (RFC 7591)."""
    methods = server.token_methods
    # A program on a user's machine cannot keep a secret from that user.
    method = next((each for each in _METHODS if methods is None or each in methods), "none")
    request: dict[str, Any] = {
        "client_name": CLIENT_NAME,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "application_type": "native",
    }
    return {**request, "scope": " ".join(scopes)} if scopes else request


def read_registration(document: Mapping[str, Any], asked: Mapping[str, Any]) -> Identity:
    """The identity in the response to a registration. Raises `UnacceptableError`."""
    client_id, secret = document.get("client_id"), document.get("client_secret")
    secret = "" if secret is None else secret
    if not _is_text(client_id) or not client_id:
        raise UnacceptableError("gave no client id")
    method = document.get("token_endpoint_auth_method") or asked["token_endpoint_auth_method"]
    if method not in _METHODS or not _is_text(secret) or (method in _WITH_SECRET and not secret):
        raise UnacceptableError("registered the client with a method that it cannot use")
    return Identity(client_id, method, secret if method in _WITH_SECRET else "", asked["redirect_uris"][0])


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= MAX_CHARS and value.isprintable()
