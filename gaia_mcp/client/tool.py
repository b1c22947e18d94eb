"""A server's tool, as it was described, and as GAIA's registry wants it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class MCPTool:
    """A tool. `input_schema` is JSON Schema; `definition` the whole of what the server said, for those who want more.

    Annotations are hints from the server and to be distrusted.
    """

    name: str
    description: str
    input_schema: dict[str, Any]
    annotations: dict[str, Any] = field(default_factory=dict)
    definition: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def title(self) -> str:
        """What to show a person: `title`, else the annotations' title, else the name."""
        title = self.definition.get("title") or self.annotations.get("title")
        return title if isinstance(title, str) else self.name

    @property
    def output_schema(self) -> Any:
        """The schema of the structured result, None without one."""
        return self.definition.get("outputSchema")

    def to_gaia_format(self, server_name: str) -> dict[str, Any]:
        """The entry for GAIA's `_TOOL_REGISTRY`, without its `function`."""
        properties = self.input_schema.get("properties")
        required = self.input_schema.get("required")
        required = required if isinstance(required, list) else []
        parameters = {}
        for name, schema in (properties if isinstance(properties, dict) else {}).items():
            described = schema if isinstance(schema, dict) else {}
            parameters[name] = {
                "type": described.get("type", "string"),
                "required": name in required,
                "description": described.get("description", ""),
            }
        return {
            "name": f"mcp_{server_name}_{self.name}",
            "description": f"[MCP:{server_name}] {self.description}",
            "parameters": parameters,
            "atomic": True,
            "_mcp_server": server_name,
            "_mcp_tool_name": self.name,
        }


def read_tools(definitions: list[Any]) -> tuple[list[MCPTool], list[str]]:
    """The usable tools among a server's definitions, and what was wrong with the others, in words."""
    tools: list[MCPTool] = []
    problems: list[str] = []
    seen: set[str] = set()
    for number, definition in enumerate(definitions, 1):
        name = definition.get("name") if isinstance(definition, dict) else None
        if not isinstance(name, str) or not name:
            problems.append(f"tool {number} has no name")
            continue
        if name in seen:
            problems.append(f"tool {name!r} is listed twice")
            continue
        seen.add(name)
        schema, annotations = definition.get("inputSchema"), definition.get("annotations")
        if not isinstance(schema, dict):
            problems.append(f"tool {name!r} has no inputSchema object")
            schema = {}
        description = definition.get("description")
        tools.append(
            MCPTool(
                name,
                description if isinstance(description, str) else "",
                schema,
                annotations if isinstance(annotations, dict) else {},
                definition,
            )
        )
    return tools, problems
