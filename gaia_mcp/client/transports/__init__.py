"""The transports. Names are imported when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.core import lazily

if TYPE_CHECKING:
    from gaia_mcp.client.transports.base import MCPTransport
    from gaia_mcp.client.transports.stdio.transport import StdioTransport

__all__ = ["MCPTransport", "StdioTransport"]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "gaia_mcp.client.transports.base": ("MCPTransport",),
        "gaia_mcp.client.transports.stdio.transport": ("StdioTransport",),
    },
)
