"""A program that serves the agent of its first argument, without the command line. Further arguments are options of
`StdioServer`, as `name=value`.
"""

from __future__ import annotations

import sys

from gaia_mcp.server.stdio import StdioServer

target, *options = sys.argv[1:]
given = dict(option.split("=") for option in options)
max_calls = given.pop("max_calls", None)
server = StdioServer(target, **{name: float(value) for name, value in given.items()})  # type: ignore[arg-type]
if max_calls is not None:
    server.allow(int(max_calls))


def load() -> object:
    """Imported only now: the pipes have been taken."""
    from gaia_mcp.agents import load_agent
    from gaia_mcp.server.agent import AgentProvider

    provider = AgentProvider(load_agent(target))
    provider.open()
    return provider


server.run(load)  # type: ignore[arg-type]
