"""Handlers: Python plug-ins that offer tools and implement their own transport, authentication and retries.

A handler is a class derived from `MCPHandler`, in a file `NAME_handler.py`. An `MCPRegistry` contains the handlers of a
program. An `MCPManager` connects each on first use, routes calls to it, and stops using it after repeated failures.

    >>> from gaia_mcp.handlers import MCPHandler, MCPHandlerConfig, MCPRegistry, MCPToolDefinition, MCPToolResult
    >>> class Clock(MCPHandler):
    ...     name = "clock"
    ...     def connect(self):
    ...         self._connected = True
    ...     def list_tools(self):
    ...         return [MCPToolDefinition("hour", "The hour of a time.", {"type": "object"}, self.name)]
    ...     def call_tool(self, name, arguments):
    ...         return MCPToolResult(arguments["time"].partition(":")[0])
    ...     def disconnect(self):
    ...         self._connected = False
    >>> registry = MCPRegistry()
    >>> registry.register_custom(Clock(MCPHandlerConfig("clock", stages=["build"])))
    >>> [handler.name for handler in registry.get_for_scope(stage="build")]
    ['clock']
    >>> registry.get_for_scope(stage="deploy")
    []
    >>> from gaia_mcp.handlers import MCPManager, run_tool_loop
    >>> with MCPManager(registry) as manager:
    ...     manager.call_tool("hour", {"time": "08:30"}, stage="build").content
    ...     manager.call_tool("hour", {"time": "08:30"}, stage="deploy").error_message
    '08'
    "Tool 'hour' cannot be used at stage 'deploy'"

`ClientHandler` and `AgentHandler` adapt a remote server and an agent to handlers; a `ManagerProvider` serves the tools
of a manager as an MCP server.

`run_tool_loop` lets a language model call the tools, in the format of OpenAI's chat completions. The caller provides
the function that requests a completion. With the package `openai`, its argument `tools` is
`tools if tools is not None else openai.omit`:

    >>> def ask(messages, tools):
    ...     # Here: client.chat.completions.create(model=..., messages=messages, tools=...)
    ...     if messages[-1]["role"] == "user":
    ...         call = {"name": tools[0]["function"]["name"], "arguments": '{"time": "08:30"}'}
    ...         message = {"content": None, "tool_calls": [{"id": "1", "type": "function", "function": call}]}
    ...     else:
    ...         message = {"content": f"It is past {messages[-1]['content']}."}
    ...     return {"choices": [{"message": message}]}
    >>> with MCPManager(registry) as manager:
    ...     run_tool_loop(ask, [{"role": "user", "content": "How late is it?"}], manager, stage="build").content
    'It is past 08.'

Names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.core import lazily

if TYPE_CHECKING:
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

__all__ = [
    "AgentHandler",
    "ClientHandler",
    "MCPClientInfo",
    "MCPHandler",
    "MCPHandlerConfig",
    "MCPManager",
    "MCPRegistry",
    "MCPToolCall",
    "MCPToolDefinition",
    "MCPToolResult",
    "ManagerProvider",
    "ToolLoopResult",
    "load_handler",
    "load_handlers_from_directory",
    "load_mcp_handler",
    "run_tool_loop",
]

__getattr__, __dir__ = lazily(
    __name__,
    {
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
        "gaia_mcp.contrib.handlers.handler_manager": (
            "MCPManager",
            "ManagerProvider",
        ),
        "gaia_mcp.contrib.handlers.tool_loop": (
            "ToolLoopResult",
            "run_tool_loop",
        ),
    },
)
