"""Routes registered tools to the tools of configured servers: finds these by name, and calls them through a manager."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.agents.hub.entries import HubError
from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.deadline import DEFAULT_TIMEOUT_SECONDS
from gaia_mcp.errors import MCPError, NotConnectedError
from gaia_mcp.handlers.base import MCPHandlerConfig, MCPRegistry
from gaia_mcp.manager.adapters import ClientHandler, wire_result
from gaia_mcp.manager.handler_manager import MCPManager
from gaia_mcp.manager.router import gaia_name
from gaia_mcp.names import did_you_mean, split_tool_name
from gaia_mcp.paths import cache_folder
from gaia_mcp.storage.server_cache import ServerCache

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.config.store import ConfigStore

# More than a model reads. The results of a handler with a limit of its own are cut to that before.
MAX_RESULT_BYTES = 1 << 20


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


class _Server(ClientHandler):
    """A server that refuses to connect once `is_closed` is set. A manager connects again after its shutdown if another
    thread is still calling it.
    """

    def __init__(self, client: MCPClient, config: MCPHandlerConfig, is_closed: threading.Event) -> None:
        super().__init__(client, config)
        self._is_closed = is_closed

    def connect(self) -> None:
        if self._is_closed.is_set():
            raise NotConnectedError(self.name)
        super().connect()


class Routes:
    """The tools of the servers of `store`. Connects to a server when needed, and stays connected until `close`. May be
    used from several threads.
    """

    def __init__(self, store: ConfigStore) -> None:
        self._store = store
        self._is_closed = threading.Event()
        self._lock = threading.Lock()
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
        self._is_closed.set()
        self._manager.shutdown_all()

    def _entry(self, server: str) -> ServerEntry:
        try:
            return self._store.entry(server)
        except MCPError as error:
            raise HubError(str(error)) from error

    def _use(self, entry: ServerEntry) -> None:
        """Register a server with the manager. Raises `HubError` for an entry that cannot be resolved."""
        with self._lock:
            known = self._registry.get(entry.name)
            if known is not None and known.name == entry.name:
                return
            try:
                client = MCPClient.from_entry(entry)
            except MCPError as error:
                raise HubError(str(error)) from error
            timeout = entry.timeout or DEFAULT_TIMEOUT_SECONDS
            config = MCPHandlerConfig(
                entry.name,
                stages=None if entry.stages is None else list(entry.stages),
                agents=None if entry.agents is None else list(entry.agents),
                timeout=timeout,
                max_result_bytes=MAX_RESULT_BYTES,
            )
            self._registry.register_custom(_Server(client, config, self._is_closed))

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
