"""A server of the official SDK, of either generation: `http_server.py TRANSPORT PORT [stateless]`."""

import sys

transport, port, *more = sys.argv[1:]
try:
    from mcp.server import MCPServer
except ImportError:
    from mcp.server.fastmcp import FastMCP

    server = FastMCP("peer", port=int(port), stateless_http=bool(more))
    where = {}
else:
    server = MCPServer("peer")
    where = {"port": int(port)}


@server.tool()
def echo(text: str) -> str:
    """Say the same."""
    return text


@server.tool()
def fail() -> str:
    """Fail."""
    raise ValueError("as it should")


server.run(transport=transport, **where)
