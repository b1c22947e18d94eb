"""The tools of a connected server in a GAIA registry: registered, registered again when the server announces changed
tools, unregistered.

A registry is a plain dict for the whole process, shared by all agents in it, so every name in it is unique, each server
removes only its own entries, and an entry that replaced another one puts it back when it is removed.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
import weakref
from typing import TYPE_CHECKING, Any, TypeAlias

from gaia_mcp.agents.base.tools import _TOOL_REGISTRY
from gaia_mcp.client.tools import MCPTool, failure_of
from gaia_mcp.core.errors import MCPError

if TYPE_CHECKING:
    from gaia_mcp.client.mcp_client import MCPClient

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
# A server that announces a change after every list would be polled without end: with this pause that costs little.
PAUSE_SECONDS = 0.1


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


logger = logging.getLogger("gaia_mcp")


class Follower:
    """Refreshes the agents of a server when its tools have changed; unregisters the tools after the last agent.

    Runs in its own thread: the notification arrives on the thread that reads responses, which a refresh needs. There is
    at most one such thread, however often a server announces changes.
    """

    def __init__(self, client: MCPClient) -> None:
        # Held while tools are listed and registered, so that a stale list is not registered last.
        self.changing = threading.RLock()
        self._client = client
        self._agents: list[weakref.WeakMethod[Any]] = []
        self._lock = threading.Lock()
        self._is_due = False
        self._is_looking = False
        # Whether the client was disconnected, and not connected again.
        self._is_over = False

    def add(self, agent: Any) -> None:
        """Also refresh `agent`, a mixin, as long as it exists."""
        registry = registry_of(agent)

        def gone(_: object) -> None:
            if not self.agents():
                unregister(registry, self._client)

        self._agents.append(weakref.WeakMethod(agent._refresh, gone))

    def agents(self) -> list[Any]:
        """The `_refresh` methods of the agents that still exist."""
        return [refresh for reference in list(self._agents) if (refresh := reference()) is not None]

    def __call__(self, kind: str) -> None:
        if kind != "tools":
            return
        with self._lock:
            self._is_due = True
            if self._is_looking:
                return
            self._is_looking = True
        threading.Thread(target=self._look, name="MCP tools changed", daemon=True).start()

    def connection_changed(self, how: str) -> None:
        """Unregister the tools of a client that was disconnected; register them again once it is connected."""
        if how == "disconnected":
            # Without waiting for an agent that is registering tools: it unregisters them afterwards.
            self._is_over = True
            for refresh in self.agents():
                refresh.__self__._leave(self._client)
        elif self._is_over:
            self._is_over = False
            self("tools")

    def _look(self) -> None:
        while True:
            with self._lock:
                if not self._is_due:
                    self._is_looking = False
                    return
                self._is_due = False
            try:
                self._client.fetch_tools()
                for refresh in self.agents():
                    with self.changing:
                        refresh(self._client)
                        if self._is_over:
                            refresh.__self__._leave(self._client)
            except MCPError as error:
                logger.warning("the tools of MCP server %r were not updated: %s", self._client.name, str(error))
            except Exception:  # the agent's own code, which may be overridden
                logger.exception("an agent could not update the tools of MCP server %r", self._client.name)
            refresh = None  # Otherwise the agent could not be garbage-collected during the pause.
            threading.Event().wait(PAUSE_SECONDS)


# Held to assign a client its only follower.
_following = threading.Lock()


def follower_of(client: MCPClient) -> Follower:
    with _following:
        if not isinstance(client.on_list_changed, Follower):
            client.on_list_changed = Follower(client)
            client.on_connection = client.on_list_changed.connection_changed
        return client.on_list_changed


def follows(agent: object, client: MCPClient) -> bool:
    follower = client.on_list_changed
    return isinstance(follower, Follower) and any(method.__self__ is agent for method in follower.agents())
