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
from gaia_mcp.core import lazily

# Type checkers take it for true. `typing` itself takes longer to load than all that a TAB needs of ours.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from gaia_mcp.agents.base.agent import Agent, ApiAgent
    from gaia_mcp.agents.base.console import AgentConsole, SilentConsole
    from gaia_mcp.agents.base.mcp_agent import MCPAgent
    from gaia_mcp.agents.base.tools import prompt, resource, tool
    from gaia_mcp.asking import Call, current_call
    from gaia_mcp.asking.questions import Accepted, Cancelled, Declined, Elicit, ElicitURL, ListRoots, Sample
    from gaia_mcp.client.config import MCPConfig
    from gaia_mcp.client.host import Host
    from gaia_mcp.client.mcp_client import MCPClient
    from gaia_mcp.client.tools import MCPTool
    from gaia_mcp.client.transports.base import MCPTransport
    from gaia_mcp.client.transports.http.auth import Person
    from gaia_mcp.client.transports.http.transport import HttpTransport
    from gaia_mcp.client.transports.stdio.transport import StdioTransport
    from gaia_mcp.contrib.gaia.client_manager import MCPClientManager
    from gaia_mcp.contrib.gaia.mixin import MCPClientMixin
    from gaia_mcp.contrib.handlers.adapters import AgentHandler, ClientHandler
    from gaia_mcp.contrib.handlers.base import (
        MCPClientInfo,
        MCPHandler,
        MCPHandlerConfig,
        MCPRegistry,
        MCPToolCall,
        MCPToolDefinition,
        MCPToolResult,
    )
    from gaia_mcp.contrib.handlers.handler_manager import ManagerProvider, MCPManager
    from gaia_mcp.contrib.handlers.loader import load_handler, load_handlers_from_directory, load_mcp_handler
    from gaia_mcp.contrib.handlers.tool_loop import ToolLoopResult, run_tool_loop
    from gaia_mcp.core.content import Audio, File, Image
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.core.errors import MCPError
    from gaia_mcp.fleet.keeper.client import held_client
    from gaia_mcp.protocol.input_required import MissingCapabilityError, QuestionError
    from gaia_mcp.server.provider import InsufficientScopeError, RequestError

__all__ = [
    "Accepted",
    "Agent",
    "AgentConsole",
    "AgentHandler",
    "ApiAgent",
    "Audio",
    "Call",
    "Cancelled",
    "ClientHandler",
    "Deadline",
    "Declined",
    "Elicit",
    "ElicitURL",
    "File",
    "Host",
    "HttpTransport",
    "Image",
    "InsufficientScopeError",
    "ListRoots",
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
    "MissingCapabilityError",
    "Person",
    "QuestionError",
    "RequestError",
    "Sample",
    "SilentConsole",
    "StdioTransport",
    "ToolLoopResult",
    "__version__",
    "current_call",
    "held_client",
    "load_handler",
    "load_handlers_from_directory",
    "load_mcp_handler",
    "prompt",
    "resource",
    "run_tool_loop",
    "tool",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
        "gaia_mcp.agents.base.agent": (
            "Agent",
            "ApiAgent",
        ),
        "gaia_mcp.agents.base.console": (
            "AgentConsole",
            "SilentConsole",
        ),
        "gaia_mcp.agents.base.tools": (
            "prompt",
            "resource",
            "tool",
        ),
        "gaia_mcp.agents.base.mcp_agent": ("MCPAgent",),
        "gaia_mcp.asking": (
            "Call",
            "current_call",
        ),
        "gaia_mcp.asking.questions": (
            "Accepted",
            "Cancelled",
            "Declined",
            "Elicit",
            "ElicitURL",
            "ListRoots",
            "Sample",
        ),
        "gaia_mcp.client.config": ("MCPConfig",),
        "gaia_mcp.client.host": ("Host",),
        "gaia_mcp.client.mcp_client": ("MCPClient",),
        "gaia_mcp.client.tools": ("MCPTool",),
        "gaia_mcp.client.transports.base": ("MCPTransport",),
        "gaia_mcp.client.transports.http.auth": ("Person",),
        "gaia_mcp.client.transports.http.transport": ("HttpTransport",),
        "gaia_mcp.client.transports.stdio.transport": ("StdioTransport",),
        "gaia_mcp.core.content": (
            "Audio",
            "File",
            "Image",
        ),
        "gaia_mcp.core.deadline": ("Deadline",),
        "gaia_mcp.core.errors": ("MCPError",),
        "gaia_mcp.contrib.handlers.base": (
            "MCPClientInfo",
            "MCPHandler",
            "MCPHandlerConfig",
            "MCPRegistry",
            "MCPToolCall",
            "MCPToolDefinition",
            "MCPToolResult",
        ),
        "gaia_mcp.contrib.handlers.loader": (
            "load_handler",
            "load_handlers_from_directory",
            "load_mcp_handler",
        ),
        "gaia_mcp.contrib.handlers.adapters": (
            "AgentHandler",
            "ClientHandler",
        ),
        "gaia_mcp.contrib.gaia.client_manager": ("MCPClientManager",),
        "gaia_mcp.contrib.handlers.handler_manager": (
            "MCPManager",
            "ManagerProvider",
        ),
        "gaia_mcp.contrib.handlers.tool_loop": (
            "ToolLoopResult",
            "run_tool_loop",
        ),
        "gaia_mcp.contrib.gaia.mixin": ("MCPClientMixin",),
        "gaia_mcp.fleet.keeper.client": ("held_client",),
        "gaia_mcp.protocol.input_required": (
            "MissingCapabilityError",
            "QuestionError",
        ),
        "gaia_mcp.server.provider": (
            "InsufficientScopeError",
            "RequestError",
        ),
    },
)
