"""The token endpoint, and the flows without a user: one request, with the authentication of the client, signed
assertions and DPoP proofs (RFC 9449; PyJWT, an optional extra, signs); renewal with the refresh token, by one
process at a time; client credentials, a workload identity, an employee's identity token.

A rejected request is neither repeated nor replaced by another grant type.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from gaia_mcp.client.transports.http.auth.fetching import Fetcher, UnacceptableError
from gaia_mcp.client.transports.http.auth.grants import Grant, Grants, granted
from gaia_mcp.client.transports.http.auth.tokens import (
    CLIENT_REFUSED,
    GRANT_REFUSED,
    SECRET_FIELDS,
    Identity,
    TokenRefusedError,
    authenticated,
    base64url,
    configured_identity,
    read_tokens,
    refresh_form,
    refusal,
)
from gaia_mcp.core.grant_kinds import EXCHANGE_TYPE, GRANT_KINDS, JWT_TYPE
from gaia_mcp.text import one_line
from gaia_mcp.text.redaction.masker import secrets_in

if TYPE_CHECKING:
    from types import ModuleType

    from gaia_mcp.client.transports.http.auth import Settings
    from gaia_mcp.client.transports.http.auth.discovery import Found
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.core.errors import AuthorizationError

NONCE_WANTED = "use_dpop_nonce"
UNIQUE_BYTES = 16
# As in the official SDKs: long enough for a slow network and clock skew.
ASSERTION_SECONDS = 300
# The algorithms that servers accept for a client assertion, and the one for proofs.
ALGORITHMS = ("ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA")
PROOF_ALGORITHM = "ES256"
ID_TOKEN = "urn:ietf:params:oauth:token-type:id_token"  # noqa: S105 (the name of a type)
ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"


class Sources(NamedTuple):
    """The sources of values that the rules take as arguments: the time in seconds since 1970, and random bytes."""

    now: Callable[[], float] = time.time
    random: Callable[[int], bytes] = os.urandom


def request_tokens(
    url: str,
    form: Mapping[str, str],
    identity: Identity,
    fetcher: Fetcher,
    sources: Sources,
    deadline: Deadline,
    *,
    issuer: str,
    settings: Settings,
    dpop_key: str = "",
) -> Mapping[str, Any]:
    """The response of the token endpoint at `url`. With a `dpop_key` the tokens are bound to it.

    Raises `TokenRefusedError`, `AuthorizationError` and `DeadlineError`.
    """
    nonce = ""
    while True:
        # Each request has an assertion and a proof of its own: servers reject one that they have seen.
        try:
            assertion = ""
            if identity.method == "private_key_jwt":
                assertion = client_assertion(
                    identity.client_id,
                    settings.private_key,
                    settings.algorithm,
                    issuer,
                    sources.now(),
                    sources.random(UNIQUE_BYTES),
                )
            fields, headers = authenticated(form, identity, assertion)
            if dpop_key:
                unique = sources.random(UNIQUE_BYTES)
                headers["DPoP"] = proof(dpop_key, "POST", url, sources.now(), unique, nonce=nonce)
        except UnsignableError as cause:
            raise unsignable(fetcher, cause) from cause
        reply = fetcher.post(url, "its token endpoint", deadline, form=fields, headers=headers)
        if reply.is_success:
            return reply.document
        refused = refusal(reply.document, _secrets_in(fields, headers))
        if refused.code == NONCE_WANTED and dpop_key and reply.nonce and not nonce:
            nonce = reply.nonce
            continue
        if not refused.code:
            raise fetcher.error(f"cannot be used: its token endpoint at {url} answered with status {reply.status}")
        raise refused


def _secrets_in(fields: Mapping[str, str], headers: Mapping[str, str]) -> list[str]:
    return [*(value for name, value in fields.items() if name in SECRET_FIELDS), *secrets_in(headers, [])]


def unsignable(fetcher: Fetcher, cause: UnsignableError) -> AuthorizationError:
    """The error for a JWT that cannot be signed."""
    error = fetcher.error(f"cannot be used: its authorization {cause}")
    if cause.is_missing:
        error.case = "pyjwt-missing"
    return error


class UnsignableError(Exception):
    """A JWT cannot be signed: PyJWT is not installed (`is_missing`), or the key is unusable."""

    def __init__(self, problem: str, *, is_missing: bool = False) -> None:
        super().__init__(problem)
        self.is_missing = is_missing


def client_assertion(client_id: str, key: str, algorithm: str, audience: str, now: float, unique: bytes) -> str:
    """The JWT with which a client authenticates (RFC 7523, §2.2). `key` is PEM. Raises `UnsignableError`."""
    issued = int(now)
    claims = {
        "iss": client_id,
        "sub": client_id,
        "aud": audience,
        "iat": issued,
        "exp": issued + ASSERTION_SECONDS,
        "jti": base64url(unique),
    }
    if algorithm not in ALGORITHMS:
        raise UnsignableError(f"cannot be signed: {algorithm!r} is not one of {', '.join(ALGORITHMS)}")
    return _signed(claims, key, algorithm, {})


def check_signing() -> None:
    """Raise `UnsignableError` if PyJWT is missing: to be called before the user is asked anything."""
    _pyjwt()


def new_key() -> str:
    """A private key for proofs, as PEM."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    return (
        ec.generate_private_key(ec.SECP256R1())
        .private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        .decode("ascii")
    )


def proof(key: str, method: str, url: str, now: float, unique: bytes, *, nonce: str = "", token: str = "") -> str:
    """The proof for one request (RFC 9449, §4.2), with the `nonce` of the server, for a `token` if it carries one.

    Raises `UnsignableError`.
    """
    parts = urlsplit(url)
    claims: dict[str, Any] = {
        "jti": base64url(unique),
        "htm": method,
        "htu": f"{parts.scheme}://{parts.netloc}{parts.path}",
        "iat": int(now),
    }
    if nonce:
        claims["nonce"] = nonce
    if token:
        claims["ath"] = base64url(hashlib.sha256(token.encode("ascii")).digest())
    return _signed(claims, key, PROOF_ALGORITHM, {"typ": "dpop+jwt", "jwk": _public_jwk(key)})


def _public_jwk(key: str) -> dict[str, Any]:
    _pyjwt()
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from jwt.algorithms import ECAlgorithm

    try:
        private = load_pem_private_key(key.encode(), None)
    except (ValueError, TypeError):
        private = None
    if not isinstance(private, EllipticCurvePrivateKey):
        raise UnsignableError("cannot be proved: its key is damaged; a new login makes another")
    made: dict[str, Any] = json.loads(ECAlgorithm.to_jwk(private.public_key()))
    return made


def _signed(claims: dict[str, Any], key: str, algorithm: str, headers: dict[str, Any]) -> str:
    jwt = _pyjwt()
    try:
        return str(jwt.encode(claims, key, algorithm=algorithm, headers=headers))
    except (jwt.PyJWTError, ValueError, TypeError) as cause:
        # The cause is not part of the message: it may quote the key.
        raise UnsignableError(f"cannot be signed with its private key and {algorithm}") from cause


def _pyjwt() -> ModuleType:
    try:
        import jwt
    except ImportError:
        raise UnsignableError("needs signed JWTs, for which the package PyJWT is missing", is_missing=True) from None
    return jwt


def renewed(
    grant: Grant, grants: Grants, settings: Settings, fetcher: Fetcher, sources: Sources, deadline: Deadline
) -> Grant | None:
    """The stored grant, with new tokens in place of those in `grant`. None if there are none: the refresh token was
    rejected for good, or another process has logged out.

    Raises `AuthorizationError` and `DeadlineError`, without changing anything, and `ConfigFileError`.
    """
    with grants.locked(grant.issuer, grant.resource, deadline):
        kept = grants.read(grant.issuer, grant.resource)
        if kept is None or kept.tokens is None:
            return None
        if grant.tokens is None or kept.tokens.access != grant.tokens.access:
            return kept  # Another process has renewed it.
        if not kept.tokens.refresh:
            return None
        try:
            document = request_tokens(
                kept.token_endpoint,
                refresh_form(kept.tokens.refresh, kept.resource),
                kept.identity,
                fetcher,
                sources,
                deadline,
                issuer=kept.issuer,
                settings=settings,
                dpop_key=kept.dpop_key,
            )
            tokens = read_tokens(document, sources.now(), kept.requested, kept.tokens)
        except TokenRefusedError as cause:
            if cause.code == GRANT_REFUSED:
                grants.keep(kept._replace(tokens=None))
            elif cause.code in CLIENT_REFUSED:
                grants.forget(kept)
            else:
                raise fetcher.error(f"did not renew its token: {one_line(str(cause))}") from cause
            return None
        except UnacceptableError as cause:
            raise fetcher.unusable(f"its authorization server {kept.issuer} {cause}") from cause
        after = kept._replace(tokens=tokens)
        grants.keep(after)
        return after


def obtained(
    found: Found,
    settings: Settings,
    scopes: tuple[str, ...],
    fetcher: Fetcher,
    sources: Sources,
    deadline: Deadline,
) -> Grant:
    """The grant of the authorization server to this program, not yet stored.

    Raises `AuthorizationError` and `DeadlineError`.
    """
    server, resource = found.server, found.resource.identifier
    try:
        identity = _identity(found, settings)
        key = ""
        if found.wants_dpop:
            check_signing()
            key = new_key()

        def request(url: str, form: Mapping[str, str], identity: Identity, key: str = "") -> Mapping[str, Any]:
            return request_tokens(
                url, form, identity, fetcher, sources, deadline, issuer=server.issuer, settings=settings, dpop_key=key
            )

        form = {"resource": resource, **({"scope": " ".join(scopes)} if scopes else {})}
        grant_types = GRANT_KINDS[settings.grant].grant_types
        assertion = settings.assertion
        if EXCHANGE_TYPE in grant_types:
            exchange = {
                **form,
                "grant_type": EXCHANGE_TYPE,
                "subject_token": assertion,
                "subject_token_type": ID_TOKEN,
                "requested_token_type": ID_JAG,
                "audience": server.issuer,
            }
            answer = request(settings.provider, exchange, Identity(settings.provider_client))
            assertion = _exchanged(answer)
        form["grant_type"] = grant_types[-1]
        if JWT_TYPE in grant_types:
            form["assertion"] = assertion
        document = request(server.token_endpoint, form, identity, key)
        return granted(server, resource, identity, document, scopes, key, sources.now())
    except UnacceptableError as cause:
        raise fetcher.unusable(f"its authorization server {server.issuer} {cause}") from cause
    except UnsignableError as cause:
        raise unsignable(fetcher, cause) from cause
    except TokenRefusedError as cause:
        raise fetcher.error(f"was not authorized: {one_line(str(cause))}") from cause


def _identity(found: Found, settings: Settings) -> Identity:
    if settings.private_key:
        return Identity(settings.client_id, "private_key_jwt")
    return configured_identity(settings.client_id, settings.client_secret, found.server)


def _exchanged(document: Mapping[str, Any]) -> str:
    """The assertion that the identity provider issued (RFC 8693). It is not an access token: `token_type` is unused."""
    token = document.get("access_token")
    if not isinstance(token, str) or document.get("issued_token_type") != ID_JAG:
        raise UnacceptableError("got no identity assertion from the provider of identities")
    return token
