"""The tools that a handler listed, validated: with the right types, each name once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from typing import Any

from gaia_mcp.handlers.base import MCPToolDefinition

# A generator of tools might never end.
MAX_TOOLS = 100_000


def as_listed(tools: Iterable[Any]) -> list[Any]:
    """The result of `list_tools`, which may be a generator. Raises `TypeError` if it is not iterable."""
    return list(islice(tools, MAX_TOOLS))


def read_tools(
    listed: list[Any], handler: str, *, qualified: bool = False
) -> tuple[dict[str, MCPToolDefinition], list[str]]:
    """The tools of the handler `handler` by their names there, and messages about invalid ones.

    With `qualified`, their own names are `HANDLER.TOOL`.
    """
    tools: dict[str, MCPToolDefinition] = {}
    problems = []
    for number, tool in enumerate(listed, 1):
        if not isinstance(tool, MCPToolDefinition) or not isinstance(tool.name, str) or not tool.name:
            problems.append(f"tool {number} is not an MCPToolDefinition with a name, and is left out")
        elif tool.name in tools:
            problems.append(f"tool '{tool.name}' is listed twice; the first one is used")
        else:
            tools[tool.name] = _published(tool, handler, qualified)
    return tools, problems


def _published(tool: MCPToolDefinition, handler: str, qualified: bool) -> MCPToolDefinition:
    name = f"{handler}.{tool.name}" if qualified else tool.name
    description = tool.description if isinstance(tool.description, str) else ""
    schema = tool.input_schema if isinstance(tool.input_schema, dict) else {}
    if (name, description, handler) == (tool.name, tool.description, tool.handler_name) and schema is tool.input_schema:
        return tool
    return replace(tool, name=name, description=description, input_schema=schema, handler_name=handler)
