"""The tools registered with agents: validated and kept for the client that registered them, routed to the tools of
configured servers, and served as an MCP server to agents that are programs (`ToolsOfFile`).

Agents that are programs start this server (`ToolsOfFile`). For each run the hub writes the tools to a file, since
descriptions and schemas may exceed the maximum length of a program's arguments.
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp._version import __version__
from gaia_mcp.agents.base.mcp_agent import MCPAgent
from gaia_mcp.checking import check_schema
from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.client.transports.stdio.launch import child_environment
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.contrib.handlers.adapters import ClientHandler, config_of, wire_result
from gaia_mcp.contrib.handlers.base import MCPRegistry
from gaia_mcp.contrib.handlers.handler_manager import MCPManager
from gaia_mcp.contrib.handlers.router import gaia_name
from gaia_mcp.contrib.hub.drivers.base import ToolServer, tool_server
from gaia_mcp.contrib.hub.entries import HubError
from gaia_mcp.core.errors import MCPError, NotConnectedError
from gaia_mcp.core.files import read_file
from gaia_mcp.core.names import did_you_mean, split_tool_name
from gaia_mcp.core.paths import cache_folder
from gaia_mcp.fleet import close_all
from gaia_mcp.server.running_call import RunningCall
from gaia_mcp.storage.server_cache import ServerCache
from gaia_mcp.text.strict_json import kind_of
from gaia_mcp.toolspec.validation import SchemaError

if TYPE_CHECKING:
    from gaia_mcp.asking import Call
    from gaia_mcp.config.entries import ServerEntry

# The maximum size of a file that the hub writes: 128 tools with long schemas.
MAX_BYTES = 64 << 20
# A function name that the APIs of all models allow.
_NAME = r"[A-Za-z0-9_-]{1,64}"
_MEMBERS = ("description", "schema", "function")
# More tools would leave no room for the prompt in a model's context.
MAX_TOOLS = 128
# The definitions of all tools of an owner: 128 of 8 KiB. The tools of all owners together take 200 MiB at most.
MAX_OWNER_BYTES = 1 << 20
MAX_OWNERS = 200
# As long as a session without requests is kept. The tools of an owner that was idle for longer are dropped, but only to
# make room for another's.
IDLE_SECONDS = 3600.0
# More than a model reads. The results of a handler with a limit of its own are cut to that before.
MAX_RESULT_BYTES = 1 << 20


class Tools(NamedTuple):
    """The registered tools of `agent`, and the file that configures their servers, None for the default files."""

    agent: str
    tools: Sequence[RegisteredTool] = ()
    config: Path | None = None

    def server(self, folder: Path) -> ToolServer | None:
        """How an agent starts the server of the tools, after writing its file to `folder`; None without tools."""
        if not self.tools:
            return None
        file = folder / "tools.json"
        found = {
            "agent": self.agent,
            "config": str(self.config.absolute()) if self.config is not None else "",
            "folder": _working_folder(),
            "tools": [tool.as_json() for tool in self.tools],
        }
        file.write_text(json.dumps(found), "utf-8")
        inherited = child_environment({}, os.environ, inherits_all=True)
        return tool_server(file, [tool.name for tool in self.tools], inherited)


class RegisteredTools(MCPAgent):
    """Serves `tools`, and calls them for `agent` through `routes`."""

    def __init__(self, agent: str, tools: Sequence[RegisteredTool], routes: Routes) -> None:
        super().__init__()
        self._agent = agent
        self._routes = routes
        self._tools = {tool.name: tool for tool in tools}

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        return [tool.definition() for tool in self._tools.values()]

    def execute_mcp_tool(self, tool_name: str, arguments: dict[str, Any]) -> Any:
        tool = self._tools.get(tool_name)
        if tool is None:
            raise ValueError(f"Unknown tool: {tool_name}")
        try:
            result = self._routes.call(tool.route, arguments, self._agent)
        except HubError as problem:
            return {"content": [{"type": "text", "text": str(problem)}], "isError": True}
        return result if result["content"] else None

    def get_mcp_server_info(self) -> dict[str, Any]:
        return {"name": "agents-tools", "title": "Registered tools", "version": __version__}


class ToolsOfFile(RegisteredTools):
    """The registered tools in `file`, which `Tools.server` wrote. Their servers are configured as for the hub: in the
    hub's file, or by default in the user's file and the project's file for the hub's working folder.
    """

    def __init__(self, file: str) -> None:
        found = json.loads(read_file(Path(file), MAX_BYTES))
        config = Path(found["config"]) if found["config"] else None
        folder = Path(found["folder"]) if found["folder"] else None
        tools = [RegisteredTool.of(tool) for tool in found["tools"]]
        super().__init__(found["agent"], tools, Routes(ConfigStore.locate(config, cwd=folder)))


def _working_folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 (a string is written)
    except OSError:
        return ""  # The working folder was removed, and with it any project.


class Owner(NamedTuple):
    """Whose agents get a registered tool: those of one session, and the user whose session it is. Over stdio there is
    only one owner, with neither.
    """

    principal: str | None = None
    session: str | None = None


def owner_of(call: Call) -> Owner | None:
    """The owner of what `call` registers; None if its client cannot be distinguished from others, as over HTTP with
    neither a session nor a token that names its user.
    """
    attributes = call.transport.attributes if isinstance(call, RunningCall) else {}
    owner = Owner(call.principal, call.session)
    return None if owner == Owner() and attributes.get("network.transport") == "tcp" else owner


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


class _Registered:
    """The tools of one owner, by agent and name, and the time of their last use."""

    def __init__(self, used_at: float) -> None:
        self.tools: dict[str, dict[str, RegisteredTool]] = {}
        self.used_at = used_at


class Registry:
    """The registered tools of each owner and agent. `clock` decides which owners are idle. May be used from several
    threads.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._owners: dict[Owner, _Registered] = {}

    def add(self, owner: Owner, tool: RegisteredTool, agents: Collection[str]) -> list[str]:
        """Register a tool of `owner` with all of these agents. Returns those that already had a tool of this name.

        Raises `HubError`, without registering anything, if an agent has too many tools, if the owner's take too much
        memory, or if too many owners have tools.
        """
        with self._lock:
            registered = self._owners.get(owner) or _Registered(self._clock())
            known = {agent: registered.tools.get(agent, {}) for agent in agents}
            for agent, tools in known.items():
                if tool.name not in tools and len(tools) >= MAX_TOOLS:
                    raise HubError(f"agent {agent!r} has {MAX_TOOLS} tools already")
            changed = {**registered.tools, **{agent: {**tools, tool.name: tool} for agent, tools in known.items()}}
            if _size(changed) > MAX_OWNER_BYTES:
                raise HubError(f"the tools of this client would have more than {MAX_OWNER_BYTES >> 10} KiB")
            if owner not in self._owners:
                self._make_room()
            registered.tools, registered.used_at = changed, self._clock()
            self._owners[owner] = registered
        return [agent for agent, tools in known.items() if tool.name in tools]

    def of(self, owner: Owner | None, agent: str) -> list[RegisteredTool]:
        """The tools that `owner` has registered with an agent, in the order of their first registration."""
        with self._lock:
            registered = None if owner is None else self._owners.get(owner)
            if registered is None:
                return []
            registered.used_at = self._clock()
            return list(registered.tools.get(agent, {}).values())

    def _make_room(self) -> None:
        """Drop the tools of owners that are idle, if no other owner fits. Raises `HubError` if no owner is idle."""
        if len(self._owners) < MAX_OWNERS:
            return
        since = self._clock() - IDLE_SECONDS
        self._owners = {owner: each for owner, each in self._owners.items() if each.used_at > since}
        if len(self._owners) >= MAX_OWNERS:
            raise HubError(
                f"{MAX_OWNERS} clients have registered tools, which is the limit of the hub; try again later"
            )


def _size(tools: Mapping[str, Mapping[str, RegisteredTool]]) -> int:
    """The length of the definitions as JSON. A tool of several agents is stored once."""
    every = {id(tool): tool for of_agent in tools.values() for tool in of_agent.values()}
    return sum(len(json.dumps(tool.as_json())) for tool in every.values())


class Route(NamedTuple):
    """A tool of a configured server."""

    server: str
    tool: str


class _Warnings:
    """The console of a manager: stores the warnings about unavailable servers."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def print_warning(self, text: str) -> None:
        self.lines.append(text)


class Routes:
    """The tools of the servers of `store`. Connects to a server when needed, and stays connected until `close`. May be
    used from several threads.
    """

    def __init__(self, store: ConfigStore) -> None:
        self._store = store
        self._is_closed = False
        # Held to add one.
        self._lock = threading.Lock()
        self._handlers: list[ClientHandler] = []
        self._registry = MCPRegistry()
        self._warnings = _Warnings()
        self._manager = MCPManager(self._registry, self._warnings, qualified_names=True)

    def find(self, function: str) -> Route:
        """The tool named `function`: SERVER.TOOL, or mcp_SERVER_TOOL as in GAIA. Connects to the server only if the
        tool is not in its cached list.

        Raises `HubError` if there is no such tool.
        """
        problem = f"{function!r} is not SERVER.TOOL of a configured server"
        try:
            for server, tool in _readings(function, self._store.names()):
                entry = self._store.entry(server)
                if entry.disabled:
                    problem = f"server {server!r} is disabled"
                    continue
                known = ServerCache(cache_folder(), entry).seen() or ()
                if any(each["name"] == tool for each in known):
                    return Route(server, tool)
                self._use(entry)
                if (found := self._manager.find_tool(function)) is not None:
                    return Route(found.handler_name, found.name.removeprefix(f"{found.handler_name}."))
                problem = self._why_missing(server, tool)
        except MCPError as error:
            problem = str(error)
        raise HubError(problem)

    def agents_of(self, route: Route, agents: Collection[str]) -> list[str]:
        """The agents among `agents` that may use the server. Raises `HubError` if it is no longer configured."""
        entry = self._entry(route.server)
        return [agent for agent in agents if entry.is_available(None, agent)]

    def call(self, route: Route, arguments: dict[str, Any], agent: str) -> dict[str, Any]:
        """Call a tool for `agent`. Returns an MCP result, also for a failure. The tool is called once, and cancelled
        with the current call.

        Raises `CallCancelledError`, and `HubError` if the server is no longer configured, or not for this agent.
        """
        entry = self._entry(route.server)
        if entry.disabled or not entry.is_available(None, agent):
            raise HubError(f"server {route.server!r} is {'disabled' if entry.disabled else f'not for {agent}'}")
        self._use(entry)
        result = self._manager.call_tool(f"{route.server}.{route.tool}", arguments, agent=agent)
        if result.is_error and self._warnings.lines and "unavailable" in result.error_message:
            result.error_message = self._warnings.lines[-1]
        return wire_result(result)

    def close(self) -> None:
        """Disconnect from all servers permanently. May be called repeatedly, also while another thread uses them."""
        with self._lock:
            self._is_closed = True
        # Not only the manager, which connects again if another thread still calls it.
        close_all([each.end for each in self._handlers], "close")
        self._manager.shutdown_all()

    def _entry(self, server: str) -> ServerEntry:
        try:
            return self._store.entry(server)
        except MCPError as error:
            raise HubError(str(error)) from error

    def _use(self, entry: ServerEntry) -> None:
        """Register a server with the manager. Raises `HubError` for an entry that cannot be resolved."""
        with self._lock:
            if self._is_closed:
                raise HubError(str(NotConnectedError(entry.name)))
            known = self._registry.get(entry.name)
            if known is not None and known.name == entry.name:
                return
            try:
                client = MCPClient.from_entry(entry)
            except MCPError as error:
                raise HubError(str(error)) from error
            config = config_of(entry)
            config.max_result_bytes = MAX_RESULT_BYTES
            self._handlers.append(ClientHandler(client, config))
            self._registry.register_custom(self._handlers[-1])

    def _why_missing(self, server: str, tool: str) -> str:
        if self._warnings.lines:
            return self._warnings.lines[-1]
        names = [each.name.removeprefix(f"{server}.") for each in self._manager.known_tools()]
        close = did_you_mean(tool, names)
        return f"server {server!r} has no tool {tool!r}" + (f"; {close}" if close else "")


def _readings(function: str, servers: list[str]) -> Iterator[Route]:
    """The possible interpretations of a function name, the most likely first."""
    if (parts := split_tool_name(function, servers)) is not None:
        yield Route(*parts)
    for server in sorted(servers, key=len, reverse=True):
        begin = gaia_name(server, "")
        if function.startswith(begin) and len(function) > len(begin):
            yield Route(server, function.removeprefix(begin))
