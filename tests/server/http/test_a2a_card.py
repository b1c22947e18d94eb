"""The agent card of the A2A proxy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gaia_mcp.server.http.a2a_card import CARD_PATH, AgentCard
from gaia_mcp.server.http.security import ANY, Hosts, StaticToken
from gaia_mcp.server.http.workers import Limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server.http.asgi import Server

    Serve = Callable[..., Server]


def card(serve: Serve, host: str = "127.0.0.1:8000", **options: Any) -> Any:
    given = {"hosts": Hosts([ANY]), "authorizer": None, **options}
    return serve(AgentCard("mcp.execute_tool", Limits(), **given)).ask("GET", CARD_PATH, host=host).reply().json


def test_the_card_has_a_url_that_its_client_accepts(serve: Serve) -> None:
    """Seed systems, C6: AgentVault's client refuses 127.0.0.1."""
    urls = {
        "127.0.0.1:8000": "http://localhost:8000/a2a",
        "[::1]:8000": "http://localhost:8000/a2a",
        "localhost": "http://localhost/a2a",
        "proxy.example:8069": "http://proxy.example:8069/a2a",
    }

    assert {host: card(serve, host)["url"] for host in urls} == urls


def test_the_card_declares_the_authentication_scheme(serve: Serve) -> None:
    """Seed systems, C6, C11: the client sends an API key, which a variable of its environment has by this name."""
    (open_to_all,) = card(serve)["authSchemes"]
    (with_token,) = card(serve, authorizer=StaticToken("x"))["authSchemes"]

    assert (open_to_all["scheme"], "service_identifier" in open_to_all) == ("none", False)
    assert (with_token["scheme"], with_token["service_identifier"]) == ("apiKey", "gaia_mcp")


def test_the_card_is_refused_under_another_host_name(serve: Serve) -> None:
    """Ours: no host but those of the server (DNS rebinding)."""
    server = serve(AgentCard("mcp.execute_tool", Limits(), Hosts(), StaticToken("x")))

    assert server.ask("GET", CARD_PATH, host="evil.example").reply().status == 403
    assert server.ask("GET", CARD_PATH).reply().json["skills"][0]["id"] == "mcp.execute_tool"
