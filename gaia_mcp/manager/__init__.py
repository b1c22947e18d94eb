"""Many servers behind one object."""

from __future__ import annotations

from gaia_mcp.manager.client_manager import MCPClientManager

__all__ = ["MCPClientManager"]
