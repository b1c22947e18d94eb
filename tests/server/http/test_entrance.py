"""The way into an endpoint: what is refused, and what becomes of faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.server.http import entrance as module
from tests.server.http.asgi import Tools, app_of
from tests.server.stores import FailingStore
from tests.server.talk import DISCOVER, plain

if TYPE_CHECKING:
    from tests.server.http.asgi import Server

Serve = Callable[..., "Server"]


@pytest.mark.parametrize("method", ["PUT", "PATCH", "HEAD", "OPTIONS", "TRACE"])
def test_other_methods_are_not_allowed(serve: Serve, method: str) -> None:
    """Wire §3.3: 405 with `Allow`."""
    reply = serve(Tools()).ask(method).reply()

    assert (reply.status, reply.headers["allow"]) == (405, "GET, POST, DELETE")


def test_a_server_that_ends_takes_nothing_new(serve: Serve) -> None:
    """Ours: 503, so that a client goes elsewhere."""
    server = serve(app_of(Tools()))
    server.app.end_streams()

    assert server.stateless(DISCOVER).reply().status == 503


def test_a_gateway_is_no_server_of_itself(serve: Serve) -> None:
    """Ours: 508 for its own requests, which would lead to more of them without end."""
    server = serve(app_of(Tools(), mark="own"))

    reply = server.stateless(DISCOVER, gaia_mcp_gateway="own").reply()
    assert (reply.status, reply.json["error"]["message"]) == (508, "this gateway is one of its own servers")
    assert server.stateless(DISCOVER, gaia_mcp_gateway="another").reply().status == 200
    assert serve(app_of(Tools())).stateless(DISCOVER, gaia_mcp_gateway="").reply().status == 200


def test_a_fault_of_ours_is_reported_and_answered(serve: Serve) -> None:
    """Ours: 500 with a JSON-RPC error, and no text of the fault."""
    failures: list[str] = []

    class Broken:
        async def authorize(self, request: Any) -> str | None:
            raise ZeroDivisionError("secret")

    server = serve(app_of(Tools(), authorizer=Broken(), on_failure=lambda what, _: failures.append(what)))
    reply = server.stateless(DISCOVER).reply()

    assert (reply.status, reply.error) == (500, -32603)
    assert b"secret" not in reply.body
    assert failures == ["POST raised ZeroDivisionError: secret"]


def test_a_client_that_goes_away_within_its_request_is_sent_nothing(serve: Serve) -> None:
    """Ours."""
    asked = serve(Tools()).ask("POST", content_type="application/json", accept="*/*")
    asked.leave()
    asked.end()

    assert asked.start is None


def test_a_store_that_fails_is_noted_now_and_then(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: for the owner of the server, while every client is told to come again."""
    failures: list[str] = []
    store = FailingStore()
    server = serve(app_of(Tools(), store=store, on_failure=lambda what, _: failures.append(what)))
    session = server.open_session()
    store.failing.add("get")

    for _ in range(3):
        assert server.send(plain(1, "ping"), **session).reply().status == 503
    assert failures == ["gone"]
    monkeypatch.setattr(module, "NOTE_SECONDS", 0.0)
    assert server.send(plain(1, "ping"), **session).reply().status == 503
    assert failures == ["gone", "gone"]


def test_a_request_that_is_refused_is_counted(serve: Serve) -> None:
    """Ours: for the metrics of the server."""
    server = serve(Tools())
    refused: list[int] = []
    server.app.endpoints["/mcp"].entrance.on_refusal = lambda refusal: refused.append(refusal.status)

    assert server.stateless(DISCOVER, host="evil.example").reply().status == 403
    assert refused == [403]
