"""The demo's `greet`, served by the official SDK."""

from __future__ import annotations

from mcp.server import MCPServer

app = MCPServer("sdk")


@app.tool()
def greet(name: str, style: str = "plain") -> str:
    """Say hello to somebody."""
    return f"Hello, {name}!"


app.run()
