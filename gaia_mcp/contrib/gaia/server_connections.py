"""The servers of an `MCPClientManager`: those that are connected or connecting, the reasons why others failed, and all
of them as handlers.

A name belongs to one client at a time, from before its server is started. Knows no configuration.
"""

from __future__ import annotations

import _thread
import atexit
import logging
import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from gaia_mcp.contrib.handlers.adapters import ClientHandler, config_of
from gaia_mcp.core.errors import ConnectError, MCPError, ServerExistsError
from gaia_mcp.fleet import close_all

if TYPE_CHECKING:
    from gaia_mcp.client.mcp_client import MCPClient
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.contrib.handlers.base import MCPHandler

logger = logging.getLogger("gaia_mcp")


class RemovedError(ConnectError):
    """Another thread removed the server, or disconnected from all, while it was being connected."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Failed to connect to MCP server {name!r}: it was removed meanwhile",
            hint="another thread removed it, or disconnected from all servers",
            server=name,
        )


class FailedToConnectError(ConnectError):
    """A client has failed to connect; `reason` is a text."""

    def __init__(self, name: str, reason: str | None) -> None:
        super().__init__(f"Failed to connect to MCP server {name!r}: {reason}", server=name)
        self.reason = str(reason)


class ServerConnections:
    """The clients of a manager, by the names of their servers. May be used from several threads.

    The connected servers are in `handlers`. When this object is garbage-collected, and when the program ends, all
    clients are disconnected; not in a forked process, since they belong to the parent. The garbage collector does not
    wait for that, but the exit of the program does.
    """

    def __init__(self, handlers: ServerHandlers) -> None:
        self.clients: dict[str, MCPClient] = {}
        self._handlers = handlers
        self.failures: dict[str, str] = {}
        # Removing one from here cancels the attempt.
        self._connecting: dict[str, MCPClient] = {}
        # Held for moments. Reentrant: a signal handler may need it in the same thread.
        self._lock = threading.RLock()
        # The names in the order of the configuration, as far as it was read.
        self._order: Sequence[str] = ()
        self._process = os.getpid()
        weakref.finalize(self, _let_go, weakref.ref(self), self._process, self.clients, self._connecting)

    def get(self, name: str) -> MCPClient | None:
        """The client of a connected server, None if it is not."""
        with self._lock:
            return self.clients.get(name)

    def names(self) -> list[str]:
        """The names of the connected servers, in the order of `arrange`, and those that it did not name behind."""
        with self._lock:
            return list(self.clients)

    def arrange(self, names: Iterable[str]) -> None:
        """List the servers, and their tools, in the order of `names`, whichever was connected first."""
        with self._lock:
            self._order = list(names)
            self._arrange()

    @contextmanager
    def attempt(self, handler: ServerHandler) -> Iterator[None]:
        """Reserve the name before the server is started. If the attempt fails, stop the server.

        Raises `ServerExistsError` for a name that is taken, and `RemovedError` for a cancelled attempt.
        """
        name, client = handler.name, handler.client
        with self._lock:
            if name in self.clients or name in self._connecting:
                raise ServerExistsError(name)
            self._connecting[name] = client
        try:
            yield
        except BaseException as error:
            was_wanted = self._withdraw(handler)
            client.disconnect()
            if isinstance(error, MCPError) and not was_wanted:
                raise RemovedError(name) from error
            raise

    def keep(self, handler: ServerHandler) -> None:
        """Add the server of a successful attempt. Raises `RemovedError` if the attempt was cancelled."""
        name = handler.name
        with self._lock:
            if self._connecting.get(name) is not handler.client:
                raise RemovedError(name)
            self.clients[name] = self._connecting.pop(name)
            self.failures.pop(name, None)
            self._handlers.put(handler)
            self._arrange()

    def _arrange(self) -> None:
        in_order = sorted(self.clients, key=place_in(self._order))
        for name in in_order if in_order != list(self.clients) else ():
            self.clients[name] = self.clients.pop(name)
        self._handlers.arrange(self._order)

    def fail(self, name: str, error: Exception) -> str:
        """Store why a server failed: only the text, since the exception would keep the frames of all callers alive."""
        if isinstance(error, FailedToConnectError):
            reason = error.reason
        else:
            reason = str(error) if isinstance(error, MCPError) else f"{type(error).__name__}: {error}"
        with self._lock:
            self.failures[name] = reason
        return reason

    def take(self, name: str) -> tuple[MCPClient | None, bool]:
        """Remove a server. Returns its client, which the caller disconnects, and whether connecting had failed."""
        with self._lock:
            client = self._connecting.pop(name, None) or self.clients.pop(name, None)
            return client, self.failures.pop(name, None) is not None

    def give_up(self, handlers: Iterable[ServerHandler]) -> None:
        """Cancel the pending attempts with these servers."""
        with self._lock:
            given_up = {one.name: one.client for one in handlers if self._connecting.get(one.name) is one.client}
            for name in given_up:
                del self._connecting[name]
        _disconnect(self._process, given_up)

    def disconnect_all(self) -> None:
        """Disconnect from all servers, in parallel, cancel pending attempts, and clear the failures."""
        with self._lock:
            clients, connecting = dict(self.clients), dict(self._connecting)
            self.clients.clear()
            self._connecting.clear()
            self.failures.clear()
            self._handlers.clear()
        _disconnect(self._process, clients, connecting)

    def report(self) -> list[dict[str, Any]]:
        """The result of `MCPClientManager.get_status_report`."""
        with self._lock:
            clients, failures = dict(self.clients), dict(self.failures)
        report: list[dict[str, Any]] = []
        for name, client in clients.items():
            connected = bool(client.is_connected())
            error = None if connected else client.last_error or "the server has exited"
            tools = client.known_tools()
            # In the tests of programs for GAIA a client is any object with the methods that GAIA calls.
            count = len(tools if isinstance(tools, list) else client.list_tools())
            report.append({"name": name, "connected": connected, "tool_count": count, "error": error})
        report += [
            {"name": name, "connected": False, "tool_count": 0, "error": reason} for name, reason in failures.items()
        ]
        return report

    def _withdraw(self, handler: ServerHandler) -> bool:
        """Remove a server. Returns whether it was known."""
        with self._lock:
            for known in (self._connecting, self.clients):
                if known.get(handler.name) is handler.client:
                    del known[handler.name]
                    if known is self.clients:
                        self._handlers.drop(handler.name)
                    return True
        return False


# For each garbage-collected object whose clients are being disconnected: its process, and an event for the end of that.
_collected: list[tuple[int, threading.Event]] = []


@atexit.register
def _wait_for_collected() -> None:
    for process, is_over in _collected.copy():
        if process == os.getpid():
            is_over.wait()


def _let_go(owner: weakref.ref[ServerConnections], process: int, *known: dict[str, MCPClient]) -> None:
    """Disconnect from all clients in `known`: `owner` was garbage-collected, or it exists and the program ends."""
    if owner() is not None:
        _disconnect(process, *known)
    elif process == os.getpid() and any(known):
        _disconnect_elsewhere(process, *known)


def _disconnect_elsewhere(process: int, *known: dict[str, MCPClient]) -> None:
    """Disconnect in another thread. Waits for nothing and takes no lock, not even those of `threading`: the garbage
    collector may run at any point, so this thread may hold the locks that disconnecting needs.
    """
    pending = (process, threading.Event())
    _collected.append(pending)

    def disconnect() -> None:
        try:
            _disconnect(process, *known)
        finally:
            _collected.remove(pending)
            pending[1].set()

    def begin() -> None:
        # A thread that waits for others should be started by `threading`, which never frees records of foreign threads.
        try:
            threading.Thread(target=disconnect, name="disconnect collected", daemon=True).start()
        except RuntimeError:
            disconnect()  # The interpreter is shutting down, and starts no more threads.

    try:
        _thread.start_new_thread(begin, ())
    except RuntimeError:
        disconnect()  # No more threads can be started.


def _disconnect(process: int, *known: dict[str, MCPClient]) -> None:
    """Disconnect from all clients in `known` at once, and empty it."""
    taken = [by_name.pop(name, None) for by_name in known for name in list(by_name)]
    clients = [client for client in taken if client is not None]
    if os.getpid() != process:
        return  # A fork of the process that started them, which still uses them.
    close_all([partial(_end, client) for client in clients], "disconnect")


def _end(client: MCPClient) -> None:
    try:
        client.disconnect()
    except Exception as error:  # noqa: BLE001 (a user's own transport may raise anything)
        logger.error("MCP server %r could not be disconnected: %s", client.name, error)


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
