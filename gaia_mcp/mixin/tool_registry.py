"""How the tools of a connected server are registered in a GAIA registry, and unregistered.

A registry is a plain dict for the whole process, shared by all agents in it. So every name in it is unique, each server
removes only its own entries, and an entry that replaced another one puts it back when it is removed.
"""

from __future__ import annotations

import re
import sys
import threading
from typing import TYPE_CHECKING, Any, TypeAlias

from gaia_mcp.agents.base.tools import _TOOL_REGISTRY
from gaia_mcp.client.tool import failure_of
from gaia_mcp.errors import MCPError

if TYPE_CHECKING:
    from gaia_mcp.client.mcp_client import MCPClient
    from gaia_mcp.client.tool import MCPTool

Registry: TypeAlias = dict[str, dict[str, Any]]

# Characters that the APIs of models do not allow in the name of a function.
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_-]")
# The text of GAIA's documents, "GAIA Response Wrapping", on which the prompts of agents rely.
INSTRUCTION = (
    "Parse this JSON data and provide a human-readable summary. "
    "Your answer must be a plain text string, not a JSON object."
)

# Registries are changed by whole servers at a time, from any thread.
_changing = threading.RLock()


class RegisteredTool:
    """The `function` of an entry: calls the tool of `client` and wraps the result.

    GAIA's documents, "GAIA Response Wrapping".
    """

    def __init__(self, client: MCPClient, tool: MCPTool) -> None:
        self.__name__ = tool.name
        self.__doc__ = tool.description
        self.client = client
        self.is_registered = True
        self.covered: dict[str, Any] | None = None
        self._call = client.create_tool_wrapper(tool)

    def __repr__(self) -> str:
        return f"<RegisteredTool {self.__name__!r} of {self.client.name!r}>"

    def __call__(self, /, **arguments: Any) -> Any:
        """The wrapped result; a failure is a result too."""
        try:
            result = self._call(**arguments)
        except MCPError as error:
            result = {"error": str(error)}
        return wrapped(self.__name__, result)


def wrapped(tool_name: str, result: Any) -> Any:
    """A tool's result with `status` and an instruction for the model; anything but a dict is returned unchanged."""
    if not isinstance(result, dict):
        return result
    if result.get("isError") is True or "error" in result:
        return {"status": "error", "error": _problem(result), "data": result}
    return {
        "status": "success",
        "message": f"Tool '{tool_name}' returned data",
        "data": result,
        "instruction": INSTRUCTION,
    }


def registry_of(agent: object) -> Registry:
    """The registry that an agent's base class reads: ours, or GAIA's if it is derived from GAIA's `Agent`."""
    for base in type(agent).__mro__:
        module = sys.modules.get(base.__module__)
        registry = getattr(module, "_TOOL_REGISTRY", None)
        if isinstance(registry, dict) and base.__name__ == "Agent":
            return registry
    return _TOOL_REGISTRY


def registries_of(agent: object) -> list[Registry]:
    """The registries of an agent: `registry_of`, and the copy of it that newer agents of GAIA may have."""
    own = getattr(agent, "_instance_tools", None)
    return [registry_of(agent), own] if isinstance(own, dict) else [registry_of(agent)]


def register(registry: Registry, client: MCPClient, tools: list[MCPTool]) -> None:
    """Register `tools` of `client`, replacing those registered before.

    GAIA's documents, "Tool Registration Pattern".
    """
    with _changing:
        unregister(registry, client)
        for name, tool in _named(registry, client, tools) if tools else []:
            function = RegisteredTool(client, tool)
            entry = {**tool.to_gaia_format(prefix_of(client), client.name), "name": name, "function": function}
            if registry is not _TOOL_REGISTRY:
                entry["parameters"] = _of_one_type(entry["parameters"])
            function.covered = registry.get(name)
            registry[name] = entry


def unregister(registry: Registry, client: MCPClient) -> int:
    """Remove all entries of `client`, whichever agent registered them. Returns their number."""
    with _changing:
        taken = 0
        for name, entry in list(registry.items()):
            if not isinstance(entry, dict):
                continue
            if _is_of(entry, client):
                registry.pop(name, None)
                taken += 1
                if (covered := _living(entry)) is not None:
                    registry[name] = covered
            else:
                _let_go_below(entry, client)
        return taken


def has_tools(registry: Registry, client: MCPClient) -> bool:
    """Whether any entry is one of `client`."""
    with _changing:
        return any(isinstance(entry, dict) and _is_of(entry, client) for entry in registry.values())


def _is_of(entry: dict[str, Any], client: MCPClient) -> bool:
    return entry.get("_mcp_server") == client.name and getattr(entry.get("function"), "client", client) is client


def prefix_of(client: MCPClient) -> str:
    """The prefix for the server in the names of its tools."""
    # In the tests of programs for GAIA a client is any object with the members that GAIA used at the time.
    prefix = getattr(client, "prefix", None)
    return prefix if isinstance(prefix, str) else client.name


def _named(registry: Registry, client: MCPClient, tools: list[MCPTool]) -> list[tuple[str, MCPTool]]:
    """`tools` with unique names: if one is taken, a number is added to the server's name."""
    prefix = _NOT_IN_A_NAME.sub("_", prefix_of(client))
    number = 1
    while True:
        lead = f"mcp_{prefix}" if number == 1 else f"mcp_{prefix}_{number}"
        named = _unique([(f"{lead}_{_NOT_IN_A_NAME.sub('_', tool.name)}", tool) for tool in tools])
        if all(_may_be_covered(registry.get(name), client.name) for name, _ in named):
            return named
        number += 1


def _may_be_covered(entry: Any, server: str) -> bool:
    return entry is None or (isinstance(entry, dict) and entry.get("_mcp_server") == server)


def _of_one_type(parameters: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The parameters with one type each: GAIA's own agents fail at a list of types."""
    found = {}
    for name, described in parameters.items():
        kinds = described["type"]
        if isinstance(kinds, list):
            # Null is possible for a parameter that is not required.
            kinds = " | ".join(kind for kind in kinds if kind != "null")
        found[name] = {**described, "type": kinds}
    return found


def _unique(named: list[tuple[str, MCPTool]]) -> list[tuple[str, MCPTool]]:
    found: dict[str, MCPTool] = {}
    for name, tool in named:
        free, number = name, 2
        while free in found:
            free, number = f"{name}_{number}", number + 1
        found[free] = tool
    return list(found.items())


def _living(entry: dict[str, Any]) -> dict[str, Any] | None:
    """The entry that this one replaced and that is still valid: another agent's, for a server of the same name."""
    function = entry.get("function")
    if not isinstance(function, RegisteredTool):
        return None
    function.is_registered = False
    below = function.covered
    while below is not None:
        under = below.get("function")
        if not isinstance(under, RegisteredTool) or under.is_registered:
            return below
        below = under.covered
    return None


def _let_go_below(entry: dict[str, Any], client: MCPClient) -> None:
    function = entry.get("function")
    while isinstance(function, RegisteredTool):
        if function.client is client:
            function.is_registered = False
        function = function.covered.get("function") if function.covered is not None else None


def _problem(result: dict[str, Any]) -> str:
    """The failure as text: `error`, or the texts of a result that reports a failure."""
    error = result.get("error")
    if error is not None and result.get("isError") is not True:
        return str(error.get("message", error)) if isinstance(error, dict) else str(error)
    return failure_of(result)
