"""Tools registered with agents: validated, and stored until the hub ends."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.agents.hub.problems import HubError
from gaia_mcp.agents.hub.routing import Route
from gaia_mcp.checking.checker import check_schema
from gaia_mcp.jsontext import kind_of
from gaia_mcp.toolspec.validation import SchemaError

if TYPE_CHECKING:
    from gaia_mcp.agents.hub.routing import Routes

# A function name that the APIs of all models allow.
_NAME = r"[A-Za-z0-9_-]{1,64}"
_MEMBERS = ("description", "schema", "function")
# More tools would leave no room for the prompt in a model's context.
MAX_TOOLS = 128


class RegisteredTool(NamedTuple):
    """A tool as agents see it, and the route to the tool that it calls."""

    name: str
    description: str
    schema: dict[str, Any]
    route: Route

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> RegisteredTool:
        """The tool from the JSON object of `as_json`."""
        return cls(value["name"], value["description"], value["schema"], Route(value["server"], value["tool"]))

    def as_json(self) -> dict[str, Any]:
        """The tool as a JSON object."""
        described = {"name": self.name, "description": self.description, "schema": self.schema}
        return {**described, "server": self.route.server, "tool": self.route.tool}

    def definition(self) -> dict[str, Any]:
        """The tool's definition by MCP."""
        return {"name": self.name, "description": self.description, "inputSchema": self.schema}


def read_spec(name: str, spec: Mapping[str, Any], routes: Routes, warnings: list[str]) -> RegisteredTool:
    """The tool that a `tool_spec` describes. Ignored members are added to `warnings`. Raises `HubError`, also if its
    function names no existing tool.
    """
    if re.fullmatch(_NAME, name) is None:
        raise HubError(f"tool_name {name!r} must be made of up to 64 letters, digits, '_' and '-'")
    description, function = spec.get("description", ""), spec.get("function")
    if not isinstance(description, str):
        raise HubError("tool_spec.description must be a string")
    if not isinstance(function, str) or not function:
        raise HubError("tool_spec.function must be the name of a tool, such as calc.add")
    schema = _schema(spec.get("schema"))
    warnings += [f"tool_spec.{key} is unknown, and is ignored" for key in spec if key not in _MEMBERS]
    return RegisteredTool(name, description, schema, routes.find(function))


def _schema(schema: Any) -> dict[str, Any]:
    if not isinstance(schema, dict):
        raise HubError(f"tool_spec.schema must be a JSON Schema, an object, not {kind_of(schema)}")
    if schema.get("type", "object") != "object":
        raise HubError("tool_spec.schema must be the schema of an object")
    try:
        check_schema(schema)
    except SchemaError as problem:
        raise HubError(f"tool_spec.schema cannot be used: {problem}") from problem
    return {"type": "object", **schema}


class Registry:
    """The registered tools of each agent. May be used from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tools: dict[str, dict[str, RegisteredTool]] = {}

    def add(self, tool: RegisteredTool, agents: Collection[str]) -> list[str]:
        """Register a tool with all of these agents. Returns those that already had a tool of this name.

        Raises `HubError`, without registering anything, if an agent has too many tools.
        """
        with self._lock:
            known = {agent: self._tools.get(agent, {}) for agent in agents}
            for agent, tools in known.items():
                if tool.name not in tools and len(tools) >= MAX_TOOLS:
                    raise HubError(f"agent {agent!r} has {MAX_TOOLS} tools already")
            before = [agent for agent, tools in known.items() if tool.name in tools]
            self._tools.update({agent: {**tools, tool.name: tool} for agent, tools in known.items()})
        return before

    def of(self, agent: str) -> list[RegisteredTool]:
        """The tools of an agent, in the order of their first registration."""
        with self._lock:
            return list(self._tools.get(agent, {}).values())
