"""Requests to the token endpoint of a loopback server."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from typing import TYPE_CHECKING, Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

from gaia_mcp.client.transports.http.auth import Settings
from gaia_mcp.client.transports.http.auth.discovery import Challenge, find
from gaia_mcp.client.transports.http.auth.fetching import Fetcher
from gaia_mcp.client.transports.http.auth.grants import Grant, Grants
from gaia_mcp.client.transports.http.auth.token_requests import (
    Sources,
    UnsignableError,
    check_signing,
    client_assertion,
    new_key,
    obtained,
    proof,
    renewed,
    request_tokens,
)
from gaia_mcp.client.transports.http.auth.tokens import Identity, Method, TokenRefusedError, Tokens
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import AuthorizationError
from gaia_mcp.core.grant_kinds import CLIENT_CREDENTIALS, ENTERPRISE, JWT_BEARER
from tests.client.transports.http.auth.world import NOW, SOURCES, Answer, Request, World
from tests.waiting import ENOUGH_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


CLIENT = Identity("CID")


def requested(world: World, identity: Identity = CLIENT, key: str = "", **more: Any) -> Mapping[str, Any]:
    with Fetcher("web", world.url) as fetcher:
        return request_tokens(
            f"{world.origin}/token",
            {"grant_type": "client_credentials"},
            identity,
            fetcher,
            SOURCES,
            Deadline(ENOUGH_SECONDS),
            issuer=world.origin,
            settings=Settings(**more),
            dpop_key=key,
        )


def claims(token: str) -> dict[str, Any]:
    return jwt.decode(token, options={"verify_signature": False})


def test_the_response_of_the_token_endpoint_is_returned(world: World) -> None:
    """Spec: RFC 6749, §5.1; a public client names itself."""
    assert requested(world)["token_type"] == "Bearer"
    assert world.requests[0].form == {"grant_type": "client_credentials", "client_id": "CID"}
    assert "dpop" not in world.requests[0].headers
    assert Sources().now() > NOW - 1e9
    assert len(Sources().random(3)) == 3


def test_a_client_with_a_key_signs_for_the_issuer(world: World) -> None:
    """Spec: RFC 7523; the audience is the issuer, and each assertion is used once."""
    key = new_key()
    identity = Identity("CID", "private_key_jwt")
    requested(world, identity, private_key=key)
    requested(world, identity, private_key=key)

    first, second = (claims(request.form["client_assertion"]) for request in world.requests)
    assert (first["aud"], first["iss"], first["iat"]) == (world.origin, "CID", int(NOW))
    assert first["jti"] != second["jti"]


def test_a_required_dpop_nonce_is_sent_once(world: World) -> None:
    """Spec: RFC 9449, §8: the request is repeated with the nonce, and a proof of its own."""

    def with_nonce(request: Request) -> Answer | None:
        if claims(request.headers["dpop"]).get("nonce") == "N":
            return None
        return Answer(400, {"error": "use_dpop_nonce"}, {"DPoP-Nonce": "N"})

    world.answer_of_token = with_nonce
    requested(world, key=new_key())
    first, second = (claims(request.headers["dpop"]) for request in world.requests)
    assert (first["htu"], first["htm"], "nonce" in first, second["nonce"]) == (
        f"{world.origin}/token",
        "POST",
        False,
        "N",
    )
    assert first["jti"] != second["jti"]

    world.answer_of_token = lambda _: Answer(400, {"error": "use_dpop_nonce"}, {"DPoP-Nonce": "M"})
    with pytest.raises(TokenRefusedError):
        requested(world, key=new_key())
    assert len(world.requests) == 4


def test_an_oauth_error_has_its_code(world: World) -> None:
    """Spec: RFC 6749, §5.2."""
    world.answer_of_token = lambda _: Answer(400, {"error": "invalid_grant"})
    with pytest.raises(TokenRefusedError) as caught:
        requested(world)
    assert caught.value.code == "invalid_grant"


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_an_oauth_error_is_shown_without_the_secrets_of_the_request(world: World, method: Method) -> None:
    """Ours: some servers describe an error by what they were sent."""

    def echoing(request: Request) -> Answer:
        told = f"{request.form}, {request.headers.get('authorization')}"
        return Answer(400, {"error": "invalid_client", "error_description": told})

    world.answer_of_token = echoing
    with pytest.raises(TokenRefusedError, match="'grant_type': 'client_credentials'") as caught:
        requested(world, Identity("CID", method, "hunter2-hunter2"))
    (request,) = world.requests
    basic = request.headers.get("authorization", "Basic hunter2-hunter2").partition(" ")[2]
    assert "hunter2-hunter2" not in str(caught.value)
    assert basic not in str(caught.value)


@pytest.mark.parametrize("answer", [Answer(500, b"<html>"), Answer(302, headers={"Location": "/x"}), Answer(404)])
def test_a_response_that_is_not_an_oauth_error_is_reported_with_its_status(world: World, answer: Answer) -> None:
    """Ours: nothing else about an HTML page or a redirect helps the person."""
    world.answer_of_token = lambda _: answer
    with pytest.raises(AuthorizationError, match=f"status {answer.status}"):
        requested(world)


def test_a_key_that_cannot_sign_is_an_error(world: World) -> None:
    """Ours: no request is sent without an assertion."""
    with pytest.raises(AuthorizationError, match="cannot be signed") as caught:
        requested(world, Identity("CID", "private_key_jwt"), private_key="nonsense")
    assert caught.value.case == ""
    assert world.requests == []


def test_missing_pyjwt_is_reported_by_the_token_endpoint(world: World, no_pyjwt: None) -> None:
    """Ours: the person has to install it."""
    with pytest.raises(AuthorizationError, match="PyJWT") as caught:
        requested(world, key="PEM")
    assert caught.value.case == "pyjwt-missing"


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
    with pytest.raises(UnsignableError, match="is not one of"):
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


def kept(world: World, folder: Path, refresh: str = "R") -> Grant:
    """A grant whose access token has expired."""
    tokens = Tokens("OLD", "Bearer", NOW, refresh, ("a",))
    grant = Grant(world.url, world.origin, f"{world.origin}/token", Identity("CID"), tokens, ("a",))
    world.refresh_tokens["R"] = "a"
    keep(folder, grant)
    return grant


def keep(folder: Path, grant: Grant) -> None:
    grants = Grants(folder)
    with grants.locked(grant.issuer, grant.resource, Deadline(ENOUGH_SECONDS)):
        grants.keep(grant)


def renew(world: World, folder: Path, grant: Grant) -> Grant | None:
    with Fetcher("web", world.url) as fetcher:
        return renewed(grant, Grants(folder), Settings(), fetcher, SOURCES, Deadline(ENOUGH_SECONDS))


def test_a_rotated_refresh_token_is_saved(world: World, folder: Path) -> None:
    """Spec: AC-11, RFC 6749, §6; with the resource (AC-4)."""
    after = renew(world, folder, kept(world, folder))

    assert after is not None
    assert after.tokens is not None
    assert after.tokens.access in world.tokens
    assert after.tokens.refresh != "R"
    assert Grants(folder).find(world.url) == after
    assert world.requests[0].form == {
        "grant_type": "refresh_token",
        "refresh_token": "R",
        "resource": world.url,
        "client_id": "CID",
    }


def test_concurrent_renewals_send_one_request(world: World, folder: Path) -> None:
    """Ours: a rotated refresh token is good once, so that two processes must not send the same."""
    grant = kept(world, folder)
    results: list[Grant | None] = []
    threads = [threading.Thread(target=lambda: results.append(renew(world, folder, grant))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(results) == 8
    assert len(set(results)) == 1
    assert results[0] is not None
    assert len(world.asked("/token")) == 1


def test_a_revoked_grant_keeps_the_client_identity(world: World, folder: Path) -> None:
    """Spec: `invalid_grant` discards the tokens; the client is still registered."""
    grant = kept(world, folder)
    world.refresh_tokens.clear()

    assert renew(world, folder, grant) is None
    left = Grants(folder).find(world.url)
    assert left is not None
    assert (left.tokens, left.identity) == (None, grant.identity)
    assert renew(world, folder, grant) is None
    assert len(world.requests) == 1


@pytest.mark.parametrize("code", ["invalid_client", "unauthorized_client"])
def test_an_unknown_client_is_removed(world: World, folder: Path, code: str) -> None:
    """Spec: registration and tokens are discarded."""
    grant = kept(world, folder)
    world.answer_of_token = lambda _: Answer(401, {"error": code})

    assert renew(world, folder, grant) is None
    assert Grants(folder).all() == []


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (Answer(400, {"error": "temporarily_unavailable"}), "did not renew its token: temporarily_unavailable"),
        (Answer(503), "status 503"),
        (Answer(200, {"access_token": ""}), "gave no access token"),
    ],
)
def test_a_failed_renewal_keeps_the_tokens(world: World, folder: Path, answer: Answer, problem: str) -> None:
    """Ours: the next attempt may succeed."""
    grant = kept(world, folder)
    world.answer_of_token = lambda _: answer

    with pytest.raises(AuthorizationError, match=problem):
        renew(world, folder, grant)
    assert Grants(folder).find(world.url) == grant


def test_the_login_or_logout_of_another_process_is_respected(world: World, folder: Path) -> None:
    """Ours: it has logged in, or out, meanwhile."""
    grant = kept(world, folder)
    newer = grant._replace(tokens=Tokens("NEW"))
    keep(folder, newer)
    assert renew(world, folder, grant) == newer
    assert renew(world, folder, grant._replace(tokens=None)) == newer
    assert renew(world, folder, newer) is None

    grants = Grants(folder)
    with grants.locked(grant.issuer, grant.resource, Deadline(ENOUGH_SECONDS)):
        grants.forget(grant)
    assert renew(world, folder, grant) is None
    assert world.requests == []


ID_JAG = "urn:ietf:params:oauth:token-type:id-jag"


def granted(world: World, scopes: tuple[str, ...] = (), challenge: str = "bearer", **settings: Any) -> Grant:
    given = Settings(client_id="CID", **settings)
    with Fetcher("web", world.url) as fetcher:
        found = find(world.url, Challenge(challenge), given, fetcher, Deadline(ENOUGH_SECONDS))
        return obtained(found, given, scopes, fetcher, SOURCES, Deadline(ENOUGH_SECONDS))


def test_client_credentials_with_a_secret_get_a_token(world: World) -> None:
    """Spec: the extension for client credentials: with the resource, and the scopes that are needed."""
    grant = granted(world, ("a",), grant=CLIENT_CREDENTIALS, client_secret="s")

    (request,) = world.asked("/token")
    assert request.form == {
        "grant_type": "client_credentials", "resource": world.url, "scope": "a", "client_id": "CID",
    }  # fmt: skip
    assert request.headers["authorization"].startswith("Basic ")
    assert grant.tokens is not None
    assert (grant.tokens.scopes, grant.requested, grant.issuer) == (("a",), ("a",), world.origin)


def test_client_credentials_with_a_key_get_a_token(world: World) -> None:
    """Spec: the same extension, with a signed assertion."""
    granted(world, grant=CLIENT_CREDENTIALS, private_key=new_key())

    (request,) = world.asked("/token")
    claims = jwt.decode(request.form["client_assertion"], options={"verify_signature": False})
    assert (claims["sub"], claims["aud"], "scope" in request.form) == ("CID", world.origin, False)


def test_a_workload_sends_its_assertion(world: World) -> None:
    """Spec: RFC 7523, §2.1."""
    granted(world, grant=JWT_BEARER, assertion="WORKLOAD")

    assert world.asked("/token")[0].form == {
        "grant_type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "assertion": "WORKLOAD",
        "resource": world.url,
        "client_id": "CID",
    }


def exchange(world: World, **settings: Any) -> Grant:
    return granted(
        world,
        grant=ENTERPRISE,
        client_secret="s",
        assertion="ID-TOKEN",
        provider=f"{world.origin}/provider",
        provider_client="IDP-CID",
        **settings,
    )


def test_an_id_token_of_the_company_is_exchanged_for_a_token(world: World) -> None:
    """Spec: the extension for enterprises: the ID token is exchanged for a grant, and that for a token."""
    world.routes["/provider"] = lambda _: Answer(
        value={"access_token": "JAG", "issued_token_type": ID_JAG, "token_type": "N_A"}
    )
    exchange(world)

    assert world.asked("/provider")[0].form == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "subject_token": "ID-TOKEN",
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "requested_token_type": ID_JAG,
        "audience": world.origin,
        "resource": world.url,
        "client_id": "IDP-CID",
    }
    (request,) = world.asked("/token")
    assert request.form["assertion"] == "JAG"
    assert request.headers["authorization"].startswith("Basic ")


@pytest.mark.parametrize("value", [{}, {"access_token": "JAG"}, {"access_token": 7, "issued_token_type": ID_JAG}])
def test_an_unexpected_token_type_of_the_identity_provider_is_refused(world: World, value: dict[str, object]) -> None:
    """Spec: RFC 8693, §2.2.1: a token of another type would be passed on."""
    world.routes["/provider"] = lambda _: Answer(value=value)
    with pytest.raises(AuthorizationError, match="no identity assertion"):
        exchange(world)
    assert world.asked("/token") == []


@pytest.mark.parametrize("grant", [CLIENT_CREDENTIALS, JWT_BEARER])
def test_a_refused_machine_grant_is_not_requested_again(world: World, grant: str) -> None:
    """Spec: a workload neither tries again nor in another way."""
    world.answer_of_token = lambda _: Answer(400, {"error": "invalid_grant", "error_description": "expired"})
    with pytest.raises(AuthorizationError, match="invalid_grant: expired"):
        granted(world, grant=grant, assertion="W")
    assert len(world.asked("/token")) == 1


def test_a_server_without_a_method_for_a_secret_is_an_error(world: World) -> None:
    """Ours: the secret is not sent."""
    world.metadata["token_endpoint_auth_methods_supported"] = ["private_key_jwt"]
    with pytest.raises(AuthorizationError, match="takes no client secret"):
        granted(world, grant=CLIENT_CREDENTIALS, client_secret="s")
    assert world.asked("/token") == []


def test_a_machine_grant_may_be_bound_by_dpop(world: World) -> None:
    """Spec: RFC 9449."""
    world.answer_of_token = lambda _: Answer(value={"access_token": "A", "token_type": "DPoP"})
    assert granted(world, challenge="dpop", grant=JWT_BEARER, assertion="W").dpop_key

    world.answer_of_token = lambda _: None
    assert granted(world, challenge="dpop", grant=JWT_BEARER, assertion="W").dpop_key == ""


def test_missing_pyjwt_is_reported_for_a_machine_grant(world: World, no_pyjwt: None) -> None:
    """Ours: the person has to install it before any request can be signed."""
    with pytest.raises(AuthorizationError, match="PyJWT"):
        granted(world, challenge="dpop", grant=JWT_BEARER, assertion="W")
