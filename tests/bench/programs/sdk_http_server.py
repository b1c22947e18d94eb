"""The demo's `greet`, served by the official SDK over HTTP at `HOST:PORT`."""

from __future__ import annotations

import sys

from mcp.server import MCPServer

app = MCPServer("sdk")


@app.tool()
def greet(name: str, style: str = "plain") -> str:
    """Say hello to somebody."""
    return f"Hello, {name}!"


app.run(transport="streamable-http", port=int(sys.argv[1].rpartition(":")[2]))
