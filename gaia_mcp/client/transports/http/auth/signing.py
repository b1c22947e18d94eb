"""Signed JWTs: the assertion of a client, and the proofs that bind a token to a key (DPoP, RFC 9449).

PyJWT, an optional extra, signs, and `cryptography` generates the keys.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from gaia_mcp.client.transports.http.auth.tokens import base64url

if TYPE_CHECKING:
    from types import ModuleType

# As in the official SDKs: long enough for a slow network and clock skew.
ASSERTION_SECONDS = 300
# The algorithms that servers accept for a client assertion, and the one for proofs.
ALGORITHMS = ("ES256", "ES384", "ES512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "EdDSA")
PROOF_ALGORITHM = "ES256"


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
        raise UnsignableError(f"cannot be signed: {algorithm!r} is none of {', '.join(ALGORITHMS)}")
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
