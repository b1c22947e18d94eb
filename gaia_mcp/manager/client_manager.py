"""Many servers at once: who is connected, who failed and why.

`MCPClientManager`, as GAIA's documents describe it.
"""

from __future__ import annotations

import logging
import os
import threading
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from gaia_mcp.client.config import MCPConfig
from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.config.store import check_server_name
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import ConfigFileError, ConnectError, MCPError, PeerError, ServerExistsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gaia_mcp.client.host import Host

logger = logging.getLogger("gaia_mcp")


class _LetGoError(ConnectError):
    """Somebody has removed the server, or disconnected from all, while it was being connected."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Failed to connect to MCP server {name!r}: it was let go of meanwhile",
            hint="another thread has removed it, or disconnected from all",
            server=name,
        )


class MCPClientManager:
    """The servers of `config` (`~/.gaia/mcp_servers.json` by default) as connected clients, by name.

    As in GAIA's documents (MCPClientManager), with more promised: all methods may be called from several threads, and
    `host` makes what answers each server, by its name. As a context manager it disconnects from everything at the end;
    so it does when it is forgotten, and when the program ends. In a forked process it holds nothing: the servers are
    the parent's.

    Raises `ConfigFileError` where the configuration cannot be read.
    """

    def __init__(
        self, config: MCPConfig | None = None, debug: bool = False, *, host: Callable[[str], Host] | None = None
    ) -> None:
        self.config = config if config is not None else MCPConfig()
        self.debug = debug
        self._host = host
        self._clients: dict[str, MCPClient] = {}
        self._failures: dict[str, str] = {}
        # Those that are being connected. Whoever takes one out of here has it given up.
        self._connecting: dict[str, MCPClient] = {}
        # Held for moments. A signal's handler may come back here in the same thread.
        self._lock = threading.RLock()
        # Changes of the file, one after the other.
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
        `RuntimeError`) with the reason, also when it is removed meanwhile, and `ConfigFileError` when it cannot be
        saved. Nothing is saved, and nothing left running, then.
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
        """Disconnect from a server and forget its entry, also if connecting to it goes on or has failed.

        A warning is logged if it is none of these. Raises `ConfigFileError` when the file cannot be changed; it is
        disconnected all the same.
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
        """The names of the connected servers, in the order in which they came."""
        with self._lock:
            return list(self._clients)

    def load_from_config(self) -> None:
        """Connect to every server in the file that is neither connected nor disabled, to all at once.

        Each has the time of its own entry, for connecting and listing its tools together. One that fails holds nobody
        up, and is in `get_status_report()` with its reason. Nothing is raised, as GAIA's documents promise: a file that
        can no longer be read is logged. A Ctrl-C gives up what is not connected yet.
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
        """Disconnect from every server, from all at once, and give up those that are being connected.

        What has failed is forgotten too; the file is left as it is.
        """
        with self._lock:
            clients, connecting = dict(self._clients), dict(self._connecting)
            self._clients.clear()
            self._connecting.clear()
            self._failures.clear()
        _disconnect(self._process, clients, connecting)

    def get_status_report(self) -> list[dict[str, Any]]:
        """A dict for each connected or failed server: `name`, `connected`, `tool_count`, `error` (None if all is well).

        As in newer releases of GAIA. Tools are counted as far as they are known; nothing is asked of a server.
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

    def _load(self, name: str, entry: Any, begun: list[MCPClient], is_over: threading.Event) -> None:
        try:
            client = self._client(name, entry)
            deadline = Deadline(client.timeout)
            with self._attempt(client):
                begun.append(client)
                if is_over.is_set():
                    raise _LetGoError(name)
                self._connect(client)
                try:
                    client.fetch_tools(deadline)
                except PeerError as error:
                    # A server of prompts alone may well refuse, and be of use all the same.
                    logger.warning("%s", str(error))
                self._keep(client)
        except (ServerExistsError, _LetGoError):
            return  # Connected already, or just now by somebody else; or no longer wanted.
        except Exception as error:  # noqa: BLE001 (the program's own `host` may raise anything)
            # The words alone: the exception holds the frames of everybody who called us.
            reason = str(error) if isinstance(error, MCPError) else f"{type(error).__name__}: {error}"
            logger.warning("%s", reason)
            with self._lock:
                self._failures[name] = reason

    def _client(self, name: str, entry: Any) -> MCPClient:
        host = self._host(name) if self._host is not None else None
        return MCPClient.from_config(name, entry, debug=self.debug, host=host)

    @contextmanager
    def _attempt(self, client: MCPClient) -> Iterator[None]:
        """The name is taken before the server is started. A server that is not kept in the end is ended."""
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
                raise _LetGoError(client.name) from error
            raise

    def _connect(self, client: MCPClient) -> None:
        if not client.connect():
            problem = f"Failed to connect to MCP server {client.name!r}: {client.last_error}"
            raise ConnectError(problem, server=client.name)

    def _keep(self, client: MCPClient) -> None:
        with self._lock:
            if self._connecting.get(client.name) is not client:
                raise _LetGoError(client.name)
            self._clients[client.name] = self._connecting.pop(client.name)
            self._failures.pop(client.name, None)

    def _withdraw(self, client: MCPClient) -> bool:
        """Whether it was still wanted. From now on it is not."""
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
        return  # A copy of the process that started them, which goes on using them.
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
    except Exception as error:  # noqa: BLE001 (one that fails must not keep the others; a transport may be anybody's)
        logger.error("MCP server %r could not be disconnected: %s", client.name, error)
