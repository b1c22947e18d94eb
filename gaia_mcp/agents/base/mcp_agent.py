"""`MCPAgent`: the base class of agents that can be served as an MCP server.

Any class with the first two methods can be served as well; this one adds defaults for the others, and an error when one
of the two is missing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from gaia_mcp.agents.base.agent import Agent


class MCPAgent(Agent, ABC):
    """An agent whose tools, prompts and resources can be served: GAIA's documents, MCPAgent.

    Two more methods are used if an agent has them: `get_mcp_prompt(name, arguments)` returns a prompt's text, its
    messages or a complete `prompts/get` result; `read_mcp_resource(uri)` a resource's text, bytes, JSON value or a
    complete `resources/read` result.
    """

    @abstractmethod
    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        """The tools: each a dict with `name`, `description` and `inputSchema` (JSON Schema of an object).

        Other members of MCP's `Tool` (`title`, `outputSchema`, `annotations`, `icons`) are passed on.
        """

    @abstractmethod
    def execute_mcp_tool(self, tool_name: str, arguments: dict[str, Any]) -> Any:
        """Run a tool and return a JSON value; a dict with a list of MCP content blocks under `content` is the complete
        result.

        The arguments fit the tool's schema. A failure is an exception, or a dict with `error`, `"success": False` or
        `"status": "error"`. Raises `ValueError` for an unknown tool. Called from several threads at once.
        """

    def get_mcp_prompts(self) -> list[dict[str, Any]]:
        """The prompts: each a dict with `name`, `description` and `arguments`. None by default."""
        return []

    def get_mcp_resources(self) -> list[dict[str, Any]]:
        """The resources: each a dict with `uri`, `name`, `description` and `mimeType`. None by default."""
        return []

    def get_mcp_server_info(self) -> dict[str, Any]:
        """Name and version of the server; `description`, `title` and `instructions` may be added."""
        return {"name": f"GAIA {type(self).__name__}", "version": "2.0.0"}
