"""A command line and a client library for MCP servers, and a way to serve Python agents as one.

`MCPClient` is a client of one server, `MCPClientManager` of many, and `MCPClientMixin` offers their tools to the model
of an agent: see the examples in `gaia_mcp.client`, `gaia_mcp.manager` and `gaia_mcp.mixin`. `gaia mcp serve` serves a
class based on `MCPAgent` whose methods are marked with `tool`; `man gaia-mcp` describes how to write one.

Programs written for the documents of AMD's GAIA run with other imports: `gaia.mcp` becomes `gaia_mcp`, and
`gaia.agents.base` becomes `gaia_mcp.agents.base`.

Everything public can be imported from here; it is loaded when it is first used.
"""

from __future__ import annotations

from gaia_mcp._version import __version__

# Type checkers take it for true. `typing` itself takes longer to load than all that a TAB needs of ours.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from gaia_mcp.agents.base.agent import Agent
    from gaia_mcp.agents.base.api_agent import ApiAgent
    from gaia_mcp.agents.base.console import AgentConsole, SilentConsole
    from gaia_mcp.agents.base.mcp_agent import MCPAgent
    from gaia_mcp.agents.base.tools import tool
    from gaia_mcp.client.config import MCPConfig
    from gaia_mcp.client.host import Host
    from gaia_mcp.client.mcp_client import MCPClient
    from gaia_mcp.client.tool import MCPTool
    from gaia_mcp.client.transports.base import MCPTransport
    from gaia_mcp.client.transports.stdio.transport import StdioTransport
    from gaia_mcp.content import Audio, File, Image
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.errors import MCPError
    from gaia_mcp.handlers.base import (
        MCPClientInfo,
        MCPHandler,
        MCPHandlerConfig,
        MCPToolCall,
        MCPToolDefinition,
        MCPToolResult,
    )
    from gaia_mcp.handlers.loader import load_handler, load_handlers_from_directory, load_mcp_handler
    from gaia_mcp.handlers.registry import MCPRegistry
    from gaia_mcp.manager.adapters import AgentHandler, ClientHandler
    from gaia_mcp.manager.client_manager import MCPClientManager
    from gaia_mcp.manager.handler_manager import MCPManager
    from gaia_mcp.manager.provider import ManagerProvider
    from gaia_mcp.manager.tool_loop import ToolLoopResult, run_tool_loop
    from gaia_mcp.mixin import MCPClientMixin
    from gaia_mcp.toolcall import current_call

__all__ = [
    "Agent",
    "AgentConsole",
    "AgentHandler",
    "ApiAgent",
    "Audio",
    "ClientHandler",
    "Deadline",
    "File",
    "Host",
    "Image",
    "MCPAgent",
    "MCPClient",
    "MCPClientInfo",
    "MCPClientManager",
    "MCPClientMixin",
    "MCPConfig",
    "MCPError",
    "MCPHandler",
    "MCPHandlerConfig",
    "MCPManager",
    "MCPRegistry",
    "MCPTool",
    "MCPToolCall",
    "MCPToolDefinition",
    "MCPToolResult",
    "MCPTransport",
    "ManagerProvider",
    "SilentConsole",
    "StdioTransport",
    "ToolLoopResult",
    "__version__",
    "current_call",
    "load_handler",
    "load_handlers_from_directory",
    "load_mcp_handler",
    "run_tool_loop",
    "tool",
]

_HOMES = {
    "Agent": "gaia_mcp.agents.base.agent",
    "AgentConsole": "gaia_mcp.agents.base.console",
    "AgentHandler": "gaia_mcp.manager.adapters",
    "ApiAgent": "gaia_mcp.agents.base.api_agent",
    "Audio": "gaia_mcp.content",
    "ClientHandler": "gaia_mcp.manager.adapters",
    "Deadline": "gaia_mcp.deadline",
    "File": "gaia_mcp.content",
    "Host": "gaia_mcp.client.host",
    "Image": "gaia_mcp.content",
    "MCPAgent": "gaia_mcp.agents.base.mcp_agent",
    "MCPClient": "gaia_mcp.client.mcp_client",
    "MCPClientInfo": "gaia_mcp.handlers.base",
    "MCPClientManager": "gaia_mcp.manager.client_manager",
    "MCPClientMixin": "gaia_mcp.mixin",
    "MCPConfig": "gaia_mcp.client.config",
    "MCPError": "gaia_mcp.errors",
    "MCPHandler": "gaia_mcp.handlers.base",
    "MCPHandlerConfig": "gaia_mcp.handlers.base",
    "MCPManager": "gaia_mcp.manager.handler_manager",
    "MCPRegistry": "gaia_mcp.handlers.registry",
    "MCPTool": "gaia_mcp.client.tool",
    "MCPToolCall": "gaia_mcp.handlers.base",
    "MCPToolDefinition": "gaia_mcp.handlers.base",
    "MCPToolResult": "gaia_mcp.handlers.base",
    "MCPTransport": "gaia_mcp.client.transports.base",
    "ManagerProvider": "gaia_mcp.manager.provider",
    "SilentConsole": "gaia_mcp.agents.base.console",
    "StdioTransport": "gaia_mcp.client.transports.stdio.transport",
    "ToolLoopResult": "gaia_mcp.manager.tool_loop",
    "current_call": "gaia_mcp.toolcall",
    "load_handler": "gaia_mcp.handlers.loader",
    "load_handlers_from_directory": "gaia_mcp.handlers.loader",
    "load_mcp_handler": "gaia_mcp.handlers.loader",
    "run_tool_loop": "gaia_mcp.manager.tool_loop",
    "tool": "gaia_mcp.agents.base.tools",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
