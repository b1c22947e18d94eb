"""Ways to reach a server. Names are imported when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gaia_mcp.client.transports.base import MCPTransport
    from gaia_mcp.client.transports.stdio.transport import StdioTransport

__all__ = ["MCPTransport", "StdioTransport"]

_HOMES = {
    "MCPTransport": "gaia_mcp.client.transports.base",
    "StdioTransport": "gaia_mcp.client.transports.stdio.transport",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
