"""The authorization request that the user answers in a browser, and the redirect with the response.

PKCE S256 binds the code to this attempt, `state` binds the redirect to it, and `iss` (RFC 9207) binds it to the
authorization server that was asked. All three are checked before anything of the redirect is used or shown.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

from gaia_mcp.client.transports.http.auth.addresses import UnacceptableError
from gaia_mcp.client.transports.http.auth.metadata import S256, AuthorizationServer

# Of random bytes: for the verifier, 43 characters, and the same for the state.
SECRET_BYTES = 32
# Longer than any real redirect.
MAX_REDIRECT_CHARS = 16384


class DeniedError(Exception):
    """The authorization server, or the user, has denied access. `code` is that of RFC 6749."""

    def __init__(self, code: str, description: str) -> None:
        super().__init__(f"{code}: {description}" if description else code)
        self.code = code


class ForeignRedirectError(Exception):
    """A redirect of another authorization: its state differs, or is missing."""


class Attempt(NamedTuple):
    """One authorization in progress, with the values that its redirect is checked against."""

    server: AuthorizationServer
    client_id: str
    redirect_uri: str
    resource: str
    scopes: tuple[str, ...]
    state: str
    verifier: str

    def url(self) -> str:
        """The URL for the user to open. Raises `UnacceptableError` without an authorization endpoint or PKCE."""
        endpoint = self.server.authorization_endpoint
        if endpoint is None:
            raise UnacceptableError("has no authorization_endpoint")
        if S256 not in self.server.challenge_methods:
            raise UnacceptableError("does not support PKCE with S256")
        digest = hashlib.sha256(self.verifier.encode("ascii")).digest()
        query = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "code_challenge": base64url(digest),
            "code_challenge_method": S256,
            "state": self.state,
            "resource": self.resource,
        }
        if self.scopes:
            query["scope"] = " ".join(self.scopes)
        if OFFLINE in self.scopes:
            # OpenID Connect issues a refresh token only with consent.
            query["prompt"] = "consent"
        return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(query)}"

    def is_answered_by(self, redirect: str) -> bool:
        """Whether a redirect, given as URL or query, belongs to this attempt."""
        return hmac.compare_digest(_fields(redirect).get("state", "").encode(), self.state.encode())

    def code_in(self, redirect: str) -> str:
        """The code in a redirect, given as URL or query.

        Raises `ForeignRedirectError`, `UnacceptableError` for another issuer or without a code, and `DeniedError`.
        """
        if not self.is_answered_by(redirect):
            raise ForeignRedirectError
        fields = _fields(redirect)
        issuer = fields.get("iss")
        if issuer is None and self.server.sends_issuer:
            raise UnacceptableError("did not name itself in its answer, although it announces that it does")
        if issuer is not None and issuer != self.server.issuer:
            raise UnacceptableError("is not the one that the answer in the browser comes from")
        if "error" in fields:
            raise DeniedError(fields["error"], fields.get("error_description", ""))
        if not fields.get("code"):
            raise UnacceptableError("answered without a code")
        return fields["code"]


def begun(
    server: AuthorizationServer,
    client_id: str,
    redirect_uri: str,
    resource: str,
    scopes: Sequence[str],
    random: tuple[bytes, bytes],
) -> Attempt:
    """A new authorization, whose secrets are made of two times `SECRET_BYTES` of `random`."""
    state, verifier = map(base64url, random)
    return Attempt(server, client_id, redirect_uri, resource, tuple(scopes), state, verifier)


def base64url(data: bytes) -> str:
    """As base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _fields(redirect: str) -> dict[str, str]:
    """The parameters of the query; empty if one is repeated."""
    text = redirect.strip()
    if len(text) > MAX_REDIRECT_CHARS:
        return {}
    query = text.partition("#")[0].partition("?")[2] or text
    pairs = parse_qsl(query, keep_blank_values=True)
    return dict(pairs) if len({name for name, _ in pairs}) == len(pairs) else {}


# Without it some servers issue no refresh token.
OFFLINE = "offline_access"


def first_scopes(
    challenged: Iterable[str], wished: Iterable[str], of_resource: Iterable[str], of_server: Iterable[str]
) -> tuple[str, ...]:
    """The scopes to request in a first authorization; empty to name none, so that the server decides.

    The scopes of the challenge if it names any, else those that the user has set, else all that the metadata of the
    resource lists; in each case with `offline_access` if the authorization server lists it.
    """
    needed = union(challenged, wished) or tuple(of_resource)
    return union(needed, [OFFLINE]) if needed and OFFLINE in of_server else needed


def union(*groups: Iterable[str]) -> tuple[str, ...]:
    """All scopes of the groups, in order and once each."""
    return tuple(dict.fromkeys(scope for group in groups for scope in group))


def is_more(requested: Iterable[str], challenged: Iterable[str]) -> bool:
    """Whether a challenge names a scope that was not requested. Requesting the same again would be useless."""
    return not set(challenged) <= set(requested)
