"""Servers of the official SDK, of either generation, in one process: `http_server.py NAME:PORT...`.

One named `sse` has that transport, every other one has Streamable HTTP; one named `stateless` has no sessions.
"""

import sys

import anyio

try:
    from mcp.server import MCPServer
except ImportError:
    MCPServer = None
    from mcp.server.fastmcp import FastMCP


def echo(text: str) -> str:
    """Say the same."""
    return text


def fail() -> str:
    """Fail."""
    raise ValueError("as it should")


async def serve(name: str, port: int) -> None:
    where = {"port": port}
    if MCPServer is not None:
        server = MCPServer("peer")
    else:
        server = FastMCP("peer", port=port, stateless_http=name == "stateless")
        where = {}
    for tool in (echo, fail):
        server.tool()(tool)
    await (server.run_sse_async if name == "sse" else server.run_streamable_http_async)(**where)


async def main() -> None:
    async with anyio.create_task_group() as servers:
        for words in sys.argv[1:]:
            name, port = words.split(":")
            servers.start_soon(serve, name, int(port))


anyio.run(main)
