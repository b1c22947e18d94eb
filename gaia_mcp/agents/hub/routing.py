"""The tools of the configured servers, which registered tools are routed to: found by name, and called."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.agents.hub.problems import HubError
from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import MCPError
from gaia_mcp.names import did_you_mean, split_tool_name
from gaia_mcp.paths import cache_folder
from gaia_mcp.storage.server_cache import ServerCache
from gaia_mcp.toolcall import CallCancelledError, current_call

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.config.store import ConfigStore
    from gaia_mcp.protocol.events import Progressed


class Route(NamedTuple):
    """A tool of a configured server."""

    server: str
    tool: str


class Routes:
    """The tools of the servers of `store`. Connects to a server when that is needed, and stays connected until `close`.
    May be used from several threads.
    """

    def __init__(self, store: ConfigStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._clients: dict[str, MCPClient] = {}

    def find(self, function: str) -> Route:
        """The tool that is called `function`: SERVER.TOOL, or mcp_SERVER_TOOL as in GAIA. A server is connected only if
        its tools are not known.

        Raises `HubError` for one that is not there.
        """
        problem = ""
        try:
            for route in _readings(function, self._store.names()):
                entry = self._store.entry(route.server)
                if entry.disabled:
                    problem = problem or f"server {route.server!r} is disabled"
                    continue
                known = ServerCache(cache_folder(), entry).seen()
                names = [tool["name"] for tool in known or ()]
                if route.tool not in names:
                    names = self._tools(entry)
                if route.tool in names:
                    return route
                close = did_you_mean(route.tool, names)
                missing = f"server {route.server!r} has no tool {route.tool!r}"
                problem = problem or (f"{missing}; {close}" if close else missing)
        except MCPError as error:
            raise HubError(str(error)) from error
        raise HubError(problem or f"{function!r} is not SERVER.TOOL of a configured server")

    def call(self, route: Route, arguments: dict[str, Any]) -> dict[str, Any]:
        """The result of a tool, as its server sent it. It is sent once, and cancelled with the current call.

        Raises `HubError`, `CallCancelledError`.
        """
        call = current_call()
        try:
            client = self._client(self._store.entry(route.server))
            deadline = Deadline(client.timeout)

            def on_progress(report: Progressed) -> None:
                with suppress(CallCancelledError):  # The deadline knows.
                    call.progress(report.progress, report.total, report.text)

            call.on_cancel(deadline.cancel)
            return client.call(route.tool, arguments, deadline, on_progress=on_progress)
        except MCPError as error:
            call.raise_if_cancelled()
            raise HubError(str(error)) from error

    def close(self) -> None:
        """Disconnect from all servers."""
        with self._lock:
            clients = list(self._clients.values())
            self._clients.clear()
        for client in clients:
            client.disconnect()

    def _tools(self, entry: ServerEntry) -> list[str]:
        client = self._client(entry)
        return [tool.name for tool in client.fetch_tools(Deadline(client.timeout), refresh=True)]

    def _client(self, entry: ServerEntry) -> MCPClient:
        with self._lock:
            client = self._clients.get(entry.name)
            if client is None:
                client = self._clients[entry.name] = MCPClient.from_entry(entry)
        client.open(Deadline(client.timeout))
        return client


def _readings(function: str, servers: list[str]) -> Iterator[Route]:
    """What the name of a function may mean, the likeliest first."""
    if (parts := split_tool_name(function, servers)) is not None:
        yield Route(*parts)
    for server in sorted(servers, key=len, reverse=True):
        begin = f"mcp_{server}_"
        if function.startswith(begin) and len(function) > len(begin):
            yield Route(server, function.removeprefix(begin))
