"""A handler that runs in this process, for the tests of what uses one."""

from __future__ import annotations

from typing import Any

from gaia_mcp.contrib.handlers.base import MCPHandler, MCPToolDefinition, MCPToolResult


class EchoHandler(MCPHandler):
    """Returns the text that it is given. Named by its configuration."""

    description = "Returns text."

    def connect(self) -> None:
        self._connected = True

    def list_tools(self) -> list[MCPToolDefinition]:
        schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        return [MCPToolDefinition("echo", "Return the text.", schema, self.name)]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> MCPToolResult:
        return MCPToolResult(arguments["text"])

    def disconnect(self) -> None:
        self._connected = False
