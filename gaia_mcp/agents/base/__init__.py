"""The base classes of agents."""

from __future__ import annotations

from gaia_mcp.agents.base.mcp_agent import MCPAgent

__all__ = ["MCPAgent"]
