"""The rules of the two requests for a token: the authorization request that the user answers in a browser with its
redirect (PKCE S256, `state`, `iss`), its scopes, the token request with the identity of the client, and the response
with its expiry.

All three are checked before anything of the redirect is used or shown. An identity belongs to the issuer that gave it,
and is sent to no other.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeGuard
from urllib.parse import parse_qsl, quote_plus, urlencode, urlsplit

from gaia_mcp.client.transports.http.auth.discovery import S256, AuthorizationServer, scopes_in
from gaia_mcp.client.transports.http.auth.fetching import UnacceptableError
from gaia_mcp.core.grant_kinds import CODE_TYPE, GRANT_KINDS, LOGIN, REFRESH_TYPE
from gaia_mcp.text.redaction.masker import Masker

# A token that expires during a request is rejected, so it is renewed a little earlier.
EARLY_SECONDS = 30.0
# A century: a longer lifetime counts as unlimited, and must not overflow.
LONGEST_SECONDS = 3.2e9
# Larger ones do not fit into the headers that servers accept.
MAX_TOKEN_CHARS = 32768
# RFC 6750 allows fewer characters; some servers use more. None of them ends a header.
_TOKEN = re.compile(r"[!-~]+")
JWT_BEARER = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
# The fields of a request for tokens that only the client and the authorization server may know.
SECRET_FIELDS = (
    "assertion", "client_assertion", "client_secret", "code", "code_verifier", "refresh_token", "subject_token",
)  # fmt: skip
# The error codes that concern the token or code, and the client.
GRANT_REFUSED = "invalid_grant"
CLIENT_REFUSED = ("invalid_client", "unauthorized_client")
CLIENT_NAME = "gaia-mcp"
# Longer than any real one; it is stored, and sent with every token request.
MAX_CHARS = 4096
Method = Literal["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
# In order of preference for a client with a secret.
_WITH_SECRET: tuple[Method, ...] = ("client_secret_basic", "client_secret_post")
_METHODS: tuple[Method, ...] = ("none", *_WITH_SECRET)
# Of random bytes: for the verifier, 43 characters, and the same for the state.
SECRET_BYTES = 32
# Longer than any real redirect.
MAX_REDIRECT_CHARS = 16384
# Without it some servers issue no refresh token.
OFFLINE = "offline_access"


class TokenRefusedError(Exception):
    """The token endpoint has rejected the request. `code` is that of RFC 6749, empty without one."""

    def __init__(self, code: str, description: str) -> None:
        super().__init__(f"{code}: {description}" if description else code)
        self.code = code


class Tokens(NamedTuple):
    """The granted tokens. `kind` is the scheme of the header; `expires_at` is in seconds since 1970, None if unknown;
    they are renewed `early` seconds before.
    """

    access: str
    kind: str = "Bearer"
    expires_at: float | None = None
    refresh: str = ""
    scopes: tuple[str, ...] = ()
    early: float = EARLY_SECONDS

    def is_stale(self, now: float) -> bool:
        """Whether it has expired, or is about to."""
        return self.expires_at is not None and now >= self.expires_at - self.early

    def header(self) -> str:
        """The value of the `Authorization` header."""
        return f"{self.kind} {self.access}"


def code_form(attempt: Attempt, code: str) -> dict[str, str]:
    """The form of the request that exchanges an authorization code."""
    return {
        "grant_type": CODE_TYPE,
        "code": code,
        "redirect_uri": attempt.redirect_uri,
        "code_verifier": attempt.verifier,
        "resource": attempt.resource,
    }


def refresh_form(refresh: str, resource: str) -> dict[str, str]:
    """The form of the request that renews tokens."""
    return {"grant_type": REFRESH_TYPE, "refresh_token": refresh, "resource": resource}


def authenticated(
    form: Mapping[str, str], identity: Identity, assertion: str = ""
) -> tuple[dict[str, str], dict[str, str]]:
    """The form and the headers of a token request with the authentication of this client. `assertion` is its signed
    JWT.
    """
    if identity.method == "client_secret_basic":
        both = f"{quote_plus(identity.client_id)}:{quote_plus(identity.secret)}"
        # In the form too, since the authorization server of the official SDK reads it there.
        named = {**form, "client_id": identity.client_id}
        return named, {"Authorization": f"Basic {base64.b64encode(both.encode()).decode('ascii')}"}
    more = {"client_id": identity.client_id}
    if identity.method == "client_secret_post":
        more["client_secret"] = identity.secret
    elif identity.method == "private_key_jwt":
        more = {"client_assertion_type": JWT_BEARER, "client_assertion": assertion}
    return {**form, **more}, {}


def read_tokens(document: Mapping[str, Any], now: float, asked: Sequence[str], before: Tokens | None = None) -> Tokens:
    """The tokens in a response. A missing refresh token is taken from `before`, missing scopes from there or `asked`.

    Raises `UnacceptableError`.
    """
    access, kind = document.get("access_token"), document.get("token_type")
    if not _is_token(access):
        raise UnacceptableError("gave no access token")
    # Some servers give no type, or one of their own, such as Slack's "user": they mean Bearer, and refuse it otherwise.
    scheme = "DPoP" if isinstance(kind, str) and kind.lower() == "dpop" else "Bearer"
    renewing = document.get("refresh_token")
    refresh = renewing if _is_token(renewing) else before.refresh if before is not None else ""
    granted = scopes_in(document.get("scope")) or (before.scopes if before is not None else tuple(asked))
    seconds = _seconds(document.get("expires_in"))
    if seconds is None:
        return Tokens(access, scheme, None, refresh, granted)
    # A token with a lifetime of a minute must not be renewed at every other request.
    early = min(EARLY_SECONDS, seconds / 10)
    return Tokens(access, scheme, now + seconds, refresh, granted, early)


def refusal(document: Mapping[str, Any], secrets: Iterable[str] = ()) -> TokenRefusedError:
    """The error in an error response, without the `secrets` of the request, which some servers echo."""
    code, description = document.get("error"), document.get("error_description")
    masker = Masker(secrets)
    return TokenRefusedError(*(masker.text(text) if isinstance(text, str) else "" for text in (code, description)))


def _seconds(value: object) -> float | None:
    if isinstance(value, str) and value.isdecimal():
        value = int(value[:20])  # Some servers send a string.
    if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
        return None
    return min(value, LONGEST_SECONDS)


def _is_token(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) <= MAX_TOKEN_CHARS and _TOKEN.fullmatch(value) is not None


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
        "grant_types": list(GRANT_KINDS[LOGIN].grant_types),
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
