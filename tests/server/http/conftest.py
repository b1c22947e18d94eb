"""Apps that end with their test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.server.http.app import HttpApp
from tests.server.http.asgi import Server, app_of
from tests.server.http.sockets import Port

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gaia_mcp.server.http.workers import Limits


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Serves an agent, a provider or an app in memory."""
    servers: list[Server] = []

    def start(served: Any, *given: Any, **options: Any) -> Server:
        app = (
            served
            if callable(served) and not hasattr(served, "execute_mcp_tool")
            else app_of(served, *given, **options)
        )
        servers.append(Server(app))
        return servers[-1]

    yield start
    for server in servers:
        server.end()


@pytest.fixture(params=["httptools", "h11"])
def listen(request: pytest.FixtureRequest) -> Iterator[Callable[..., Port]]:
    """Serves an agent, or an app, on a port of this machine: with compiled modules, and without."""
    ports: list[Port] = []

    def start(agent: Any, limits: Limits | None = None, **options: Any) -> Port:
        ports.append(
            Port(
                agent if isinstance(agent, HttpApp) else app_of(agent, limits),
                is_pure=request.param == "h11",
                **options,
            )
        )
        return ports[-1]

    yield start
    for port in ports:
        port.end()
