"""A program that serves the agent of its first argument, without the command line."""

from __future__ import annotations

import sys

from gaia_mcp.server.stdio.process import StdioServer

server = StdioServer(sys.argv[1])
if limits := sys.argv[2:]:
    server.allow(int(limits[0]))


def load() -> object:
    """Imported only now: the pipes have been taken."""
    from gaia_mcp.agents.loader import load_agent
    from gaia_mcp.server.agent import AgentProvider

    provider = AgentProvider(load_agent(sys.argv[1]))
    provider.open()
    return provider


server.run(load)  # type: ignore[arg-type]
