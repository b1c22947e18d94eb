"""What is at `/mcp` where several servers have paths of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gaia_mcp.server.http import app_for
from tests.server.http.asgi import Tools
from tests.server.talk import DISCOVER

if TYPE_CHECKING:
    from tests.server.http.asgi import Server

Serve = Callable[..., "Server"]


def test_an_authorized_client_gets_the_paths_of_the_servers(serve: Serve) -> None:
    """Ours: by any method, for a client looks for older transports by GET."""
    server = serve(app_for({"one": Tools(), "two": Tools()}, token="s3cret", environ={}))

    assert server.stateless(DISCOVER).reply().status == 401
    for asked in (
        server.stateless(DISCOVER, authorization="Bearer s3cret"),
        server.ask("GET", authorization="Bearer s3cret"),
    ):
        reply = asked.reply()
        assert reply.status == 404
        assert reply.json["error"]["message"] == "there are several servers here, at /one/mcp, /two/mcp"


def test_a_single_named_server_has_no_signpost(serve: Serve) -> None:
    """Ours: an error that names the only other path would not help a client that has the wrong URL."""
    assert serve(app_for({"one": Tools()}, environ={})).stateless(DISCOVER).reply().status == 404
