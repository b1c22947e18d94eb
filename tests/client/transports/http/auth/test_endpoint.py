"""Requests to the token endpoint of a loopback server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jwt
import pytest

from gaia_mcp.client.transports.http.auth import Settings
from gaia_mcp.client.transports.http.auth.endpoint import Sources, request_tokens
from gaia_mcp.client.transports.http.auth.fetching import Fetcher
from gaia_mcp.client.transports.http.auth.signing import new_key
from gaia_mcp.client.transports.http.auth.tokens import Identity, Method, TokenRefusedError
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import AuthorizationError
from tests.client.transports.http.auth.world import NOW, SOURCES, Answer, Request, World
from tests.waiting import ENOUGH_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping


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
