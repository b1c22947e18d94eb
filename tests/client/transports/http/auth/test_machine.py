"""Tokens without a person, over a loopback port."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jwt
import pytest

from gaia_mcp.client.transports.http.auth import CLIENT_CREDENTIALS, ENTERPRISE, JWT_BEARER, Settings
from gaia_mcp.client.transports.http.auth.endpoint import new_key
from gaia_mcp.client.transports.http.auth.fetching import Fetcher
from gaia_mcp.client.transports.http.auth.machine import obtained
from gaia_mcp.client.transports.http.auth.metadata import Challenge, find
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import AuthorizationError
from tests.client.transports.http.auth.world import SOURCES, Answer, World
from tests.waiting import ENOUGH_SECONDS

if TYPE_CHECKING:
    from gaia_mcp.client.transports.http.auth.grants import Grant

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
