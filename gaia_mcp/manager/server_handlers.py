"""The servers of an `MCPClientManager` as handlers: the connected and the configured ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gaia_mcp.deadline import DEFAULT_TIMEOUT_SECONDS
from gaia_mcp.handlers.base import MCPHandler, MCPHandlerConfig
from gaia_mcp.manager.adapters import ClientHandler

if TYPE_CHECKING:
    from gaia_mcp.client.mcp_client import MCPClient
    from gaia_mcp.config.entries import ServerEntry


class ServerHandler(ClientHandler):
    """The server that `read` describes. `connect` connects it and adds it to the manager. `entry` is the original
    entry.
    """

    def __init__(self, client: MCPClient, read: ServerEntry, connect: Callable[[ServerHandler], None]) -> None:
        super().__init__(client, config_of(read))
        self.entry = read.raw
        self._connect_server = connect

    def connect(self) -> None:
        """Connect. Raises what the function `connect` raises."""
        self._connect_server(self)
        super().connect()


class ServerHandlers:
    """The handlers of servers, by server name. May be used from several threads."""

    def __init__(self) -> None:
        # Held to change them. Reentrant: a signal handler may do so in the same thread.
        self._lock = threading.RLock()
        # Replaced as a whole, so that no thread sees a partial change.
        self._handlers: dict[str, ServerHandler] = {}

    def get(self, name: str) -> ServerHandler | None:
        """The handler of a server, None if there is none."""
        return self._handlers.get(name)

    def list_all(self) -> list[MCPHandler]:
        """All handlers, in the order of `arrange`, and those that it did not name behind."""
        return list(self._handlers.values())

    def get_for_scope(self, stage: str | None = None, agent: str | None = None) -> list[MCPHandler]:
        """The handlers of the servers that `agent` may use at `stage`; None if the caller has no agent or stage."""
        return [handler for handler in self._handlers.values() if handler.matches_scope(stage, agent)]

    def put(self, handler: ServerHandler) -> None:
        """Add a handler, or replace the one of the same server."""
        with self._lock:
            self._handlers = {**self._handlers, handler.name: handler}

    def arrange(self, names: Sequence[str]) -> None:
        """Put the handlers in the order of `names`."""
        with self._lock:
            in_order = sorted(self._handlers, key=place_in(names))
            if in_order != list(self._handlers):
                self._handlers = {name: self._handlers[name] for name in in_order}

    def state(self) -> object:
        """An object that is replaced by each change."""
        return self._handlers

    def names(self) -> list[str]:
        """The names of the servers."""
        return list(self._handlers)

    def drop(self, name: str) -> None:
        """Remove the handler of a server, if there is one."""
        with self._lock:
            if name in self._handlers:
                self._handlers = {other: handler for other, handler in self._handlers.items() if other != name}

    def clear(self) -> None:
        """Remove all handlers."""
        with self._lock:
            self._handlers = {}


def place_in(names: Sequence[str]) -> Callable[[str], int]:
    """The key that sorts names in the order of `names`, with others behind in their own order."""
    places = {name: place for place, name in enumerate(names)}
    return lambda name: places.get(name, len(places))


def config_of(read: ServerEntry) -> MCPHandlerConfig:
    """The configuration of the handler of a server, from its entry."""
    config = MCPHandlerConfig(
        read.name,
        None if read.stages is None else list(read.stages),
        None if read.agents is None else list(read.agents),
        timeout=read.request_seconds(DEFAULT_TIMEOUT_SECONDS),
    )
    limit = read.raw.get("max_result_bytes")
    if isinstance(limit, int) and not isinstance(limit, bool):
        config.max_result_bytes = limit
    return config
