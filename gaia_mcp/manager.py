"""Many servers at once: who is connected, who failed and why.

`MCPClientManager`, as GAIA's documents describe it.
"""

from __future__ import annotations

import logging
import threading
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from gaia_mcp.client.config import MCPConfig
from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.store import check_server_name
from gaia_mcp.errors import ConnectError, MCPError, ServerExistsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gaia_mcp.client.host import Host

logger = logging.getLogger("gaia_mcp")


class MCPClientManager:
    """The servers of `config` (`~/.gaia/mcp_servers.json` by default) as connected clients, by name.

    `host` makes what answers each server, by its name. All methods may be called from several threads. As a context
    manager it disconnects from everything at the end; so it does when it is forgotten, and when the program ends.
    """

    def __init__(
        self, config: MCPConfig | None = None, debug: bool = False, *, host: Callable[[str], Host] | None = None
    ) -> None:
        self.config = config if config is not None else MCPConfig()
        self.debug = debug
        self._host = host
        self._clients: dict[str, MCPClient] = {}
        self._failures: dict[str, str] = {}
        self._connecting: set[str] = set()
        self._lock = threading.Lock()
        # Changes of the file, one after the other.
        self._saving = threading.Lock()
        weakref.finalize(self, _disconnect, self._clients)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.disconnect_all()

    def __repr__(self) -> str:
        return f"<MCPClientManager {self.list_servers()}>"

    def add_server(self, name: str, config: dict[str, Any]) -> MCPClient:
        """Connect to a server, save its entry, and return the client.

        Raises `ServerExistsError` and `EntryError` (`ValueError`s), `ConnectError` (a `RuntimeError`) with the reason,
        `ConfigFileError` when it cannot be saved. Nothing is saved, and nothing left running, then.
        """
        check_server_name(name)
        read_entry(name, config)
        with self._reserved(name):
            client = self._connected(name, config)
            try:
                with self._saving:
                    self.config.add_server(name, config)
            except BaseException:
                client.disconnect()
                raise
            self._keep(name, client)
        return client

    def remove_server(self, name: str) -> None:
        """Disconnect from a server and forget its entry; a warning is logged if it is not connected."""
        with self._lock:
            client = self._clients.pop(name, None)
            self._failures.pop(name, None)
        if client is None:
            logger.warning("MCP server %r is not connected", name)
            return
        client.disconnect()
        with self._saving:
            self.config.remove_server(name)

    def get_client(self, name: str) -> MCPClient | None:
        """The client of a connected server, None if it is not."""
        with self._lock:
            return self._clients.get(name)

    def list_servers(self) -> list[str]:
        """The names of the connected servers, in the order in which they came."""
        with self._lock:
            return list(self._clients)

    def load_from_config(self) -> None:
        """Connect to every configured server that is neither connected nor disabled, to all at once.

        Each has its own time; one that fails holds nobody up, and is in `get_status_report()` with its reason.
        """
        threads = [
            threading.Thread(target=self._load, args=(name, entry), name=f"{name} connect", daemon=True)
            for name, entry in self.config.get_servers().items()
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def disconnect_all(self) -> None:
        """Disconnect from every server, from all at once. What has failed is forgotten too."""
        with self._lock:
            self._failures.clear()
        _disconnect(self._clients)

    def get_status_report(self) -> list[dict[str, Any]]:
        """A dict for each connected or failed server: `name`, `connected`, `tool_count`, `error` (None if all is well).

        Tools are counted as far as they are known; nothing is asked of a server.
        """
        with self._lock:
            clients, failures = dict(self._clients), dict(self._failures)
        report: list[dict[str, Any]] = []
        for name, client in clients.items():
            connected = client.is_connected()
            error = None if connected else client.last_error or "the server has gone"
            report.append(
                {"name": name, "connected": connected, "tool_count": len(client.known_tools()), "error": error}
            )
        report += [
            {"name": name, "connected": False, "tool_count": 0, "error": reason} for name, reason in failures.items()
        ]
        return report

    def _load(self, name: str, entry: dict[str, Any]) -> None:
        try:
            if isinstance(entry, dict) and entry.get("disabled") is True:
                return
            with self._reserved(name):
                client = self._connected(name, entry)
                client.list_tools()
                self._keep(name, client)
        except ServerExistsError:
            return  # Connected already, or just now by somebody else.
        except MCPError as error:
            # The words alone: the exception holds the frames of everybody who called us.
            reason = str(error)
            logger.warning("%s", reason)
            with self._lock:
                self._failures[name] = reason

    @contextmanager
    def _reserved(self, name: str) -> Iterator[None]:
        with self._lock:
            if name in self._clients or name in self._connecting:
                raise ServerExistsError(name)
            self._connecting.add(name)
        try:
            yield
        finally:
            with self._lock:
                self._connecting.discard(name)

    def _connected(self, name: str, entry: Any) -> MCPClient:
        host = self._host(name) if self._host is not None else None
        client = MCPClient.from_config(name, entry, debug=self.debug, host=host)
        if not client.connect():
            raise ConnectError(
                f"Failed to connect to MCP server {name!r}: {client.last_error}",
                hint=f"see each step with: gaia mcp test-client {name}",
                server=name,
            )
        return client

    def _keep(self, name: str, client: MCPClient) -> None:
        with self._lock:
            self._clients[name] = client
            self._failures.pop(name, None)


def _disconnect(clients: dict[str, MCPClient]) -> None:
    """Disconnect from all of `clients` at once, and empty it."""
    threads = []
    while clients:
        name, client = clients.popitem()
        thread = threading.Thread(target=client.disconnect, name=f"{name} disconnect", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            client.disconnect()  # The interpreter is ending, and starts no more threads.
        else:
            threads.append(thread)
    for thread in threads:
        thread.join()
