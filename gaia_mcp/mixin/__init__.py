"""The servers' tools as an agent's own: `MCPClientMixin`, and the registry that it writes to."""

from __future__ import annotations

from gaia_mcp.mixin.client_mixin import MCPClientMixin

__all__ = ["MCPClientMixin"]
