"""The tool `add` of the official SDK's server over HTTP, on the port that is given, under uvicorn as ours runs."""

from __future__ import annotations

import sys

import uvicorn
from mcp.server import MCPServer

server = MCPServer("sdk", log_level="CRITICAL")


@server.tool()
def add(a: float, b: float) -> dict[str, float]:
    """Add two numbers."""
    return {"sum": a + b}


uvicorn.run(
    server.streamable_http_app(),
    port=int(sys.argv[1]),
    http="httptools",
    loop="uvloop",
    log_config=None,
    access_log=False,
)  # fmt: skip
