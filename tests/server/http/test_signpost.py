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


def test_who_may_use_the_servers_learns_where_they_are(serve: Serve) -> None:
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


def test_one_server_with_a_name_is_not_looked_for_elsewhere(serve: Serve) -> None:
    """Ours."""
    assert serve(app_for({"one": Tools()}, environ={})).stateless(DISCOVER).reply().status == 404
