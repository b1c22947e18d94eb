"""A program that serves handlers and a remote server behind one manager over stdio, without the command line."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))

from gaia_mcp.server.stdio import StdioServer

DEMO = {"command": str(Path(sys.executable).parent / "gaia"), "args": ["mcp", "serve", "demo"]}

server = StdioServer("handlers")


def load() -> object:
    """Imported only now: the pipes have been taken."""
    from gaia_mcp import ClientHandler, ManagerProvider, MCPClient, MCPHandlerConfig, MCPManager, MCPRegistry
    from tests.contrib.handlers.handlers_under_test import ProgrammableHandler

    flaky = ProgrammableHandler("flaky", "flaky", stages=["build"])
    flaky.on_call = flaky.fail
    registry = MCPRegistry()
    registry.register_custom(flaky)
    registry.register_custom(ProgrammableHandler("hidden", "hidden", stages=["deploy"]))
    registry.register_custom(ClientHandler(MCPClient.from_config("demo", DEMO), MCPHandlerConfig("demo")))
    return ManagerProvider(MCPManager(registry), stage="build")


server.run(load)  # type: ignore[arg-type]
