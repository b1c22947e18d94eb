"""Many servers at once: which are connected, which failed and why.

`MCPClientManager`, as GAIA's documents describe it.
"""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from gaia_mcp.client.config import MCPConfig
from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.config.store import check_server_name
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import ConfigFileError, ConnectError, MCPError, PeerError, ServerExistsError

if TYPE_CHECKING:
    from gaia_mcp.client.host import Host

logger = logging.getLogger("gaia_mcp")


class _RemovedError(ConnectError):
    """Another thread removed the server, or disconnected from all, while it was being connected."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Failed to connect to MCP server {name!r}: it was removed meanwhile",
            hint="another thread removed it, or disconnected from all servers",
            server=name,
        )


class MCPClientManager:
    """The servers of `config` (`~/.gaia/mcp_servers.json` by default) as connected clients, by name.

    As in GAIA's documents (MCPClientManager), and beyond them: all methods may be called from several threads, and
    `host` returns, by a server's name, the host that responds to that server. As a context manager it disconnects from
    all servers at the end; also when it is garbage-collected, and when the program ends. In a forked process it has no
    servers: they belong to the parent.

    Raises `ConfigFileError` if the configuration cannot be read.
    """

    def __init__(
        self, config: MCPConfig | None = None, debug: bool = False, *, host: Callable[[str], Host] | None = None
    ) -> None:
        self.config = config if config is not None else MCPConfig()
        self.debug = debug
        self._host = host
        self._clients: dict[str, MCPClient] = {}
        self._failures: dict[str, str] = {}
        # Those that are being connected. Removing one from here gives the attempt up.
        self._connecting: dict[str, MCPClient] = {}
        # Held for moments. A signal handler may enter again in the same thread.
        self._lock = threading.RLock()
        # Held to change the file.
        self._saving = threading.Lock()
        self._process = os.getpid()
        weakref.finalize(self, _disconnect, self._process, self._clients, self._connecting)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect_all()

    def __repr__(self) -> str:
        return f"<MCPClientManager {self.list_servers()}>"

    def add_server(self, name: str, config: dict[str, Any]) -> MCPClient:
        """Connect to a server, save its entry, and return the client. The entry's `timeout`, in seconds, is the limit
        for connecting; 30 without one.

        Raises `ServerExistsError` and `EntryError` (`ValueError`s), `VariableUnsetError`, `ConnectError` (a
        `RuntimeError`) with the reason, also if it is removed meanwhile, and `ConfigFileError` if the entry cannot be
        saved. Then nothing was saved, and nothing is left running.
        """
        check_server_name(name)
        client = self._client(name, config)
        with self._attempt(client):
            self._connect(client)
            with self._saving:
                self._keep(client)
                self.config.add_server(name, config)
        return client

    def remove_server(self, name: str) -> None:
        """Disconnect from a server and remove its entry, also while it is being connected or after that has failed.

        For any other name a warning is logged. Raises `ConfigFileError` if the file cannot be changed, after
        disconnecting.
        """
        client = None
        try:
            with self._saving:
                with self._lock:
                    client = self._connecting.pop(name, None) or self._clients.pop(name, None)
                    has_failed = self._failures.pop(name, None) is not None
                if client is None and not has_failed:
                    logger.warning("MCP server %r is not connected", name)
                    return
                self.config.remove_server(name)
        finally:
            if client is not None:
                client.disconnect()

    def get_client(self, name: str) -> MCPClient | None:
        """The client of a connected server, None if it is not."""
        with self._lock:
            return self._clients.get(name)

    def list_servers(self) -> list[str]:
        """The names of the connected servers, in the order in which they were connected."""
        with self._lock:
            return list(self._clients)

    def load_from_config(self) -> None:
        """Connect to all servers in the file that are neither connected nor disabled, in parallel.

        The timeout of each entry is for connecting and listing the tools together. A server that fails does not delay
        the others, and is in `get_status_report()` with the reason. Nothing is raised, as GAIA's documents promise: a
        file that can no longer be read is logged. Ctrl-C gives up the servers that are not connected yet.
        """
        try:
            entries = self.config.get_servers()
        except ConfigFileError as error:
            logger.error("%s", str(error))
            return
        connected = self.list_servers()
        begun: list[MCPClient] = []
        is_over = threading.Event()
        threads = [
            threading.Thread(target=self._load, args=(name, entry, begun, is_over), name=f"{name} connect", daemon=True)
            for name, entry in entries.items()
            if name not in connected and not (isinstance(entry, dict) and entry.get("disabled") is True)
        ]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except BaseException:
            is_over.set()
            with self._lock:
                given_up = {client.name: client for client in begun if self._connecting.get(client.name) is client}
                for name in given_up:
                    del self._connecting[name]
            _disconnect(self._process, given_up)
            raise

    def disconnect_all(self) -> None:
        """Disconnect from all servers, in parallel, and give up those that are being connected.

        The failures are forgotten too; the file is not changed.
        """
        with self._lock:
            clients, connecting = dict(self._clients), dict(self._connecting)
            self._clients.clear()
            self._connecting.clear()
            self._failures.clear()
        _disconnect(self._process, clients, connecting)

    def get_status_report(self) -> list[dict[str, Any]]:
        """A dict for each connected or failed server: `name`, `connected`, `tool_count`, `error` (None without one).

        As in newer releases of GAIA. Counts the tools that are already known; sends no request.
        """
        with self._lock:
            clients, failures = dict(self._clients), dict(self._failures)
        report: list[dict[str, Any]] = []
        for name, client in clients.items():
            connected = client.is_connected()
            error = None if connected else client.last_error or "the server has exited"
            report.append(
                {"name": name, "connected": connected, "tool_count": len(client.known_tools()), "error": error}
            )
        report += [
            {"name": name, "connected": False, "tool_count": 0, "error": reason} for name, reason in failures.items()
        ]
        return report

    def _load(self, name: str, entry: Any, begun: list[MCPClient], is_over: threading.Event) -> None:
        try:
            client = self._client(name, entry)
            deadline = Deadline(client.timeout)
            with self._attempt(client):
                begun.append(client)
                if is_over.is_set():
                    raise _RemovedError(name)
                self._connect(client)
                try:
                    client.fetch_tools(deadline)
                except PeerError as error:
                    # A server that has prompts alone may respond with an error, and is useful all the same.
                    logger.warning("%s", str(error))
                self._keep(client)
        except (ServerExistsError, _RemovedError):
            return  # Connected already, also by another thread; or removed meanwhile.
        except Exception as error:  # noqa: BLE001 (the program's own `host` may raise anything)
            # The text alone: the exception would keep the frames of all callers alive.
            reason = str(error) if isinstance(error, MCPError) else f"{type(error).__name__}: {error}"
            logger.warning("%s", reason)
            with self._lock:
                self._failures[name] = reason

    def _client(self, name: str, entry: Any) -> MCPClient:
        host = self._host(name) if self._host is not None else None
        return MCPClient.from_config(name, entry, debug=self.debug, host=host)

    @contextmanager
    def _attempt(self, client: MCPClient) -> Iterator[None]:
        """Reserve the name before the server is started. If the attempt fails, end the server."""
        with self._lock:
            if client.name in self._clients or client.name in self._connecting:
                raise ServerExistsError(client.name)
            self._connecting[client.name] = client
        try:
            yield
        except BaseException as error:
            was_wanted = self._withdraw(client)
            client.disconnect()
            if isinstance(error, MCPError) and not was_wanted:
                raise _RemovedError(client.name) from error
            raise

    def _connect(self, client: MCPClient) -> None:
        if not client.connect():
            problem = f"Failed to connect to MCP server {client.name!r}: {client.last_error}"
            raise ConnectError(problem, server=client.name)

    def _keep(self, client: MCPClient) -> None:
        with self._lock:
            if self._connecting.get(client.name) is not client:
                raise _RemovedError(client.name)
            self._clients[client.name] = self._connecting.pop(client.name)
            self._failures.pop(client.name, None)

    def _withdraw(self, client: MCPClient) -> bool:
        """Forget a client; returns whether it was known until now."""
        with self._lock:
            for known in (self._connecting, self._clients):
                if known.get(client.name) is client:
                    del known[client.name]
                    return True
        return False


def _disconnect(process: int, *known: dict[str, MCPClient]) -> None:
    """Disconnect from all clients in `known` at once, and empty it."""
    taken = [by_name.pop(name, None) for by_name in known for name in list(by_name)]
    clients = [client for client in taken if client is not None]
    if os.getpid() != process:
        return  # A fork of the process that started them, which goes on using them.
    threads = []
    for client in clients:
        thread = threading.Thread(target=_end, args=(client,), name=f"{client.name} disconnect", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            _end(client)  # The interpreter is ending, and starts no more threads.
        else:
            threads.append(thread)
    for thread in threads:
        thread.join()


def _end(client: MCPClient) -> None:
    try:
        client.disconnect()
    except Exception as error:  # noqa: BLE001 (a user's own transport may raise anything)
        logger.error("MCP server %r could not be disconnected: %s", client.name, error)
