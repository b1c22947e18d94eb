"""Many servers at once: the connected ones, the failed ones with reasons, and the tools of all of them.

`MCPClientManager`, as GAIA's documents describe it. An `MCPManager`, with the servers as handlers, routes the tools.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from gaia_mcp.client.config import MCPConfig
from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.client.transports.factory import check_type
from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.store import check_server_name
from gaia_mcp.contrib.gaia.server_connections import (
    FailedToConnectError,
    RemovedError,
    ServerConnections,
    ServerHandler,
    ServerHandlers,
)
from gaia_mcp.contrib.handlers.handler_manager import MCPManager
from gaia_mcp.contrib.handlers.router import Refusal
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import ConfigFileError, PeerError, ServerExistsError

if TYPE_CHECKING:
    from gaia_mcp.client.host import Host
    from gaia_mcp.contrib.handlers.base import MCPToolDefinition, MCPToolResult

logger = logging.getLogger("gaia_mcp")


class MCPClientManager:
    """The servers of `config` (`~/.gaia/mcp_servers.json` by default) as connected clients, by name.

    As in GAIA's documents (MCPClientManager), and beyond them: all methods may be called from several threads, and
    `host` returns, by a server's name, the host that responds to that server. The tools of all servers can be listed
    and called by name; a configured server is then connected when it is first needed. `stages` and `agents` of an entry
    restrict who may use them. As a context manager it disconnects from all servers at the end; also when it is
    garbage-collected, and when the program ends. In a forked process it has no servers: they belong to the parent.

    Raises `ConfigFileError` if the configuration cannot be read.
    """

    def __init__(
        self, config: MCPConfig | None = None, debug: bool = False, *, host: Callable[[str], Host] | None = None
    ) -> None:
        self.config = config if config is not None else MCPConfig()
        self.debug = debug
        self._host = host
        self._handlers = ServerHandlers()
        self._connections = ServerConnections(self._handlers)
        # As in GAIA, whose programs and tests read them.
        self._clients, self._failed = self._connections.clients, self._connections.failures
        self._tools = MCPManager(self._handlers, qualified_names=True)
        # Held to change the file.
        self._saving = threading.Lock()
        # Held to create handlers from the file, so that each server gets one.
        self._reading = threading.Lock()

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
        saved. After an error nothing is saved, and nothing is left running.
        """
        check_server_name(name)
        check_type(read_entry(name, config))
        handler = self._handler(name, config)
        with self._connections.attempt(handler):
            self._connect(handler)
            with self._saving:
                self._connections.keep(handler)
                self.config.add_server(name, config)
        return handler.client

    def remove_server(self, name: str) -> None:
        """Disconnect from a server and remove its entry, also while connecting or after a failure to connect.

        For any other name a warning is logged. Raises `ConfigFileError` if the file cannot be changed, after
        disconnecting.
        """
        client = None
        try:
            with self._saving:
                client, has_failed = self._connections.take(name)
                self._handlers.drop(name)
                if client is None and not has_failed:
                    logger.warning("MCP server %r is not connected", name)
                    return
                self.config.remove_server(name)
        finally:
            if client is not None:
                client.disconnect()

    def get_client(self, name: str) -> MCPClient | None:
        """The client of a connected server, None if it is not."""
        return self._connections.get(name)

    def list_servers(self) -> list[str]:
        """The names of the connected servers, in the order of the configuration."""
        return self._connections.names()

    def load_from_config(self) -> None:
        """Connect to all servers in the file that are neither connected nor disabled, in parallel.

        The timeout of each entry covers connecting and listing the tools together. A server that fails does not delay
        the others, and is in `get_status_report()` with the reason. Nothing is raised, as GAIA's documents promise: a
        file that can no longer be read is logged. Ctrl-C cancels connecting to the remaining servers.
        """
        try:
            entries = self.config.get_servers()
        except ConfigFileError as error:
            logger.error("%s", str(error))
            return
        self._connections.arrange(entries)
        connected = self.list_servers()
        begun: list[ServerHandler] = []
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
            self._connections.give_up(begun)
            raise

    def disconnect_all(self) -> None:
        """Disconnect from all servers, in parallel, and cancel pending connections.

        The failures are cleared too; the file is not changed.
        """
        self._connections.disconnect_all()
        self._tools.shutdown_all()

    def reload(self) -> None:
        """Disconnect from all servers, and connect to those that are in the file now, as `load_from_config` does.

        As in newer releases of GAIA.
        """
        self.disconnect_all()
        self.load_from_config()

    def get_tools_for_scope(self, stage: str | None = None, agent: str | None = None) -> list[MCPToolDefinition]:
        """The tools, named `SERVER.TOOL`, of all servers that `agent` may use at `stage`; None if the caller has no
        agent or stage. Connects to the configured servers among them, in parallel.

        A server that fails is left out, with the reason in `get_status_report()`.
        """
        self._read_config()
        return self._tools.get_tools_for_scope(stage, agent)

    def get_tools_as_openai_schema(self, stage: str | None = None, agent: str | None = None) -> list[dict[str, Any]]:
        """The same tools as `tools` of a chat completion, with functions named as in GAIA: `mcp_SERVER_TOOL`."""
        self._read_config()
        return self._tools.get_tools_as_openai_schema(stage, agent)

    def find_tool(
        self, tool_name: str, *, stage: str | None = None, agent: str | None = None
    ) -> MCPToolDefinition | None:
        """The tool that `call_tool` would call; None if no such tool is in the caller's scope."""
        known = self._handlers.state()
        found = self._tools.find_tool(tool_name, stage=stage, agent=agent)
        if found is None and self._read_config() is not known:
            found = self._tools.find_tool(tool_name, stage=stage, agent=agent)
        return found

    def call_tool(
        self, tool_name: str, arguments: dict[str, Any], *, stage: str | None = None, agent: str | None = None
    ) -> MCPToolResult:
        """Call a tool: `SERVER.TOOL`, or as in GAIA `mcp_SERVER_TOOL`. Connects only to that server, if necessary.

        Failures of every kind are results with `is_error`. After three consecutive failures a server is not called for
        a while. Raises `CallCancelledError` if it is called by a served tool whose own call is cancelled.
        """
        known = self._handlers.state()
        result = self._tools.call_tool(tool_name, arguments, stage=stage, agent=agent)
        if isinstance(result, Refusal) and self._read_config() is not known:
            result = self._tools.call_tool(tool_name, arguments, stage=stage, agent=agent)
        return result

    def get_status_report(self) -> list[dict[str, Any]]:
        """A dict for each connected or failed server: `name`, `connected`, `tool_count`, `error` (None without one).

        As in newer releases of GAIA. Counts the tools that are already known, without a request.
        """
        return self._connections.report()

    def _load(self, name: str, entry: Any, begun: list[ServerHandler], is_over: threading.Event) -> None:
        try:
            handler = self._handler(name, entry)
            deadline = Deadline(handler.config.timeout)
            with self._connections.attempt(handler):
                begun.append(handler)
                if is_over.is_set():
                    raise RemovedError(name)
                self._connect(handler)
                try:
                    handler.client.fetch_tools(deadline)
                except PeerError as error:
                    # A server that has only prompts may respond with an error, but is still usable.
                    logger.warning("%s", str(error))
                self._connections.keep(handler)
        except (ServerExistsError, RemovedError):
            return  # Connected already, also by another thread; or removed meanwhile.
        except Exception as error:  # noqa: BLE001 (the program's own `host` may raise anything)
            logger.warning("%s", self._connections.fail(name, error))

    def _read_config(self) -> object:
        """Create handlers for the servers in the file that are not connected, and remove those of servers that are no
        longer in it. Returns the state of the handlers.
        """
        try:
            entries = self.config.get_servers()
        except ConfigFileError as error:
            logger.error("%s", str(error))
            return self._handlers.state()
        with self._reading:
            for name in self._handlers.names():
                if name not in entries and self.get_client(name) is None:
                    self._handlers.drop(name)
            for name, entry in entries.items():
                known = self._handlers.get(name)
                is_known = known is not None and (known.entry == entry or self.get_client(name) is known.client)
                if is_known or (isinstance(entry, dict) and entry.get("disabled") is True):
                    continue
                try:
                    self._handlers.put(self._handler(name, entry))
                except Exception as error:  # noqa: BLE001 (the program's own `host` may raise anything)
                    self._connections.fail(name, error)
            self._connections.arrange(entries)
            return self._handlers.state()

    def _handler(self, name: str, entry: Any) -> ServerHandler:
        """A server that is not connected yet. Raises as `MCPClient.from_config` does, and what `host` does."""
        source = _source_of(self.config, name)
        read = read_entry(name, entry, source)
        # As in the documents, whose tests check this call: default arguments are left out.
        options: dict[str, Any] = {} if self._host is None else {"host": self._host(name)}
        if source is not None and read.transport != "stdio":
            options["source"] = source
        client = MCPClient.from_config(name, entry, debug=self.debug, **options)
        # A weak reference: the clients, which live until the program ends, refer to their handlers.
        obtain = weakref.WeakMethod(self._obtain)

        def connect(handler: ServerHandler) -> None:
            if (method := obtain()) is not None:
                method(handler)

        return ServerHandler(client, read, connect)

    def _obtain(self, handler: ServerHandler) -> None:
        """Connect to a server because one of its tools is needed, unless it has been connected before."""
        if self.get_client(handler.name) is handler.client:
            return
        try:
            with self._connections.attempt(handler):
                self._connect(handler)
                self._connections.keep(handler)
        except (ServerExistsError, RemovedError):
            raise
        except Exception as error:
            self._connections.fail(handler.name, error)
            raise

    def _connect(self, handler: ServerHandler) -> None:
        if not handler.client.connect():
            raise FailedToConnectError(handler.name, handler.client.last_error)


def _source_of(config: MCPConfig, name: str) -> Path | None:
    """The file that contains an entry; None if a program has replaced the configuration object."""
    source = config.source_of(name) if isinstance(config, MCPConfig) else getattr(config, "config_file", None)
    return source if isinstance(source, Path) else None
