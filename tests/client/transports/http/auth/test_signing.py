"""Signed JWTs, read by PyJWT and by hand."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

from gaia_mcp.client.transports.http.auth.signing import (
    UnsignableError,
    check_signing,
    client_assertion,
    new_key,
    proof,
)
from tests.client.transports.http.auth.world import NOW

ISSUER = "https://auth.example.com"


def pem(key: Any) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def public(key: str) -> Any:
    return serialization.load_pem_private_key(key.encode(), None).public_key()


def decoded(token: str, key: Any, algorithm: str) -> dict[str, Any]:
    options = {"verify_exp": False, "verify_iat": False, "verify_aud": False}
    return jwt.decode(token, key, algorithms=[algorithm], options=options)


@pytest.mark.parametrize("algorithm", ["ES256", "RS256", "EdDSA"])
def test_a_client_assertion_is_signed_and_has_the_required_claims(algorithm: str) -> None:
    """Spec: RFC 7523, §3: issuer and subject are the client, the audience is the issuer; it is used once and soon."""
    made = {"ES256": new_key, "RS256": lambda: pem(rsa.generate_private_key(65537, 2048))}
    key = made.get(algorithm, lambda: pem(ed25519.Ed25519PrivateKey.generate()))()

    claims = decoded(client_assertion("CID", key, algorithm, ISSUER, NOW + 0.7, b"u" * 16), public(key), algorithm)

    assert claims == {
        "iss": "CID",
        "sub": "CID",
        "aud": ISSUER,
        "iat": int(NOW),
        "exp": int(NOW) + 300,
        "jti": "dXV1dXV1dXV1dXV1dXV1dQ",
    }


@pytest.mark.parametrize(("key", "algorithm"), [("nonsense", "ES256"), ("", "RS256"), (new_key(), "RS256")])
def test_the_error_for_an_invalid_key_does_not_show_the_key(key: str, algorithm: str) -> None:
    """Ours: no secret is in an error."""
    with pytest.raises(UnsignableError) as caught:
        client_assertion("CID", key, algorithm, ISSUER, NOW, b"")

    assert not key or key not in str(caught.value)


@pytest.mark.parametrize("algorithm", ["none", "HS256", ""])
def test_only_asymmetric_algorithms_are_accepted(algorithm: str) -> None:
    """Spec: the extension for client credentials; `none` signs nothing."""
    with pytest.raises(UnsignableError, match="is none of"):
        client_assertion("CID", new_key(), algorithm, ISSUER, NOW, b"")


def test_a_dpop_proof_is_bound_to_one_request() -> None:
    """Spec: RFC 9449, §4.2: method, URL without query and fragment, time, nonce, and the hash of the token."""
    key = new_key()
    text = proof(key, "POST", "https://a.example:8443/mcp?x=1#y", NOW, b"1", nonce="N", token="T")
    header = jwt.get_unverified_header(text)

    assert (header["typ"], header["alg"]) == ("dpop+jwt", "ES256")
    assert "d" not in header["jwk"]
    assert decoded(text, jwt.PyJWK(header["jwk"]).key, "ES256") == {
        "jti": "MQ",
        "htm": "POST",
        "htu": "https://a.example:8443/mcp",
        "iat": int(NOW),
        "nonce": "N",
        "ath": base64.urlsafe_b64encode(hashlib.sha256(b"T").digest()).rstrip(b"=").decode(),
    }


def test_a_dpop_proof_for_the_token_endpoint_has_no_token_hash() -> None:
    """Spec: RFC 9449, §5."""
    text = proof(new_key(), "POST", "https://a.example/token", NOW, b"1")
    body = text.split(".")[1]

    assert set(json.loads(base64.urlsafe_b64decode(body + "=="))) == {"jti", "htm", "htu", "iat"}


def test_a_dpop_proof_needs_an_elliptic_curve_key() -> None:
    """Ours: a file that was edited."""
    for key in (pem(ed25519.Ed25519PrivateKey.generate()), "nonsense"):
        with pytest.raises(UnsignableError, match="its key is damaged"):
            proof(key, "POST", "https://a.example/", NOW, b"")


def test_missing_pyjwt_is_reported_before_signing(no_pyjwt: None) -> None:
    """Ours: it is an optional extra."""
    with pytest.raises(UnsignableError, match="PyJWT") as caught:
        check_signing()
    assert caught.value.is_missing
