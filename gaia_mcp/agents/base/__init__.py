"""The base classes of agents, the decorators for tools, prompts and resources, and the consoles."""

from __future__ import annotations

from gaia_mcp.agents.base.agent import Agent, ApiAgent
from gaia_mcp.agents.base.console import AgentConsole, SilentConsole
from gaia_mcp.agents.base.mcp_agent import MCPAgent
from gaia_mcp.agents.base.tools import _TOOL_REGISTRY, prompt, resource, tool

__all__ = [
    "_TOOL_REGISTRY",
    "Agent",
    "AgentConsole",
    "ApiAgent",
    "MCPAgent",
    "SilentConsole",
    "prompt",
    "resource",
    "tool",
]
