"""The client library: one server at a time, over a transport.

Names are imported when they are first used, so that a program pays only for what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaia_mcp.client.config import MCPConfig
    from gaia_mcp.client.host import Host
    from gaia_mcp.client.mcp_client import MCPClient
    from gaia_mcp.client.tool import MCPTool
    from gaia_mcp.client.transports.base import MCPTransport
    from gaia_mcp.client.transports.stdio.transport import StdioTransport
    from gaia_mcp.manager.client_manager import MCPClientManager

__all__ = ["Host", "MCPClient", "MCPClientManager", "MCPConfig", "MCPTool", "MCPTransport", "StdioTransport"]

_HOMES = {
    "Host": "gaia_mcp.client.host",
    "MCPClient": "gaia_mcp.client.mcp_client",
    "MCPClientManager": "gaia_mcp.manager.client_manager",
    "MCPConfig": "gaia_mcp.client.config",
    "MCPTool": "gaia_mcp.client.tool",
    "MCPTransport": "gaia_mcp.client.transports.base",
    "StdioTransport": "gaia_mcp.client.transports.stdio.transport",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
