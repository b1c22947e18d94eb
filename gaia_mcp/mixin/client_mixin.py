"""`MCPClientMixin`: an agent connects to MCP servers and offers their tools to its model.

As in GAIA's documents, for our `Agent` and for GAIA's own.
"""

from __future__ import annotations

import logging
import threading
import weakref
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.config import MCPConfig
from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.store import check_server_name
from gaia_mcp.errors import MCPError
from gaia_mcp.manager.client_manager import MCPClientManager
from gaia_mcp.mixin.tool_registry import register, registries_of, registry_of, unregister

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.client.mcp_client import MCPClient

logger = logging.getLogger("gaia_mcp")


# A server that announces a change after every list would be asked without end: with a pause that costs little.
PAUSE_SECONDS = 0.1


class MCPClientMixin:
    """Add MCP servers to an agent: `class MyAgent(Agent, MCPClientMixin)`, in either order, or alone.

    As in GAIA's documents (MCPClientMixin). Constructors pass on what they do not know. With `auto_load_config` the
    servers of the configuration file are connected at once; `config_file` names another file. GAIA's own `Agent` does
    not call this constructor: the first use then does the same. Raises `ConfigFileError` for an unreadable file.

    `_mcp_manager` may be set before, also to one that several agents share. When an agent is garbage-collected, tools
    that no other agent uses are unregistered; the servers are ended with their manager.
    """

    # Class attributes: they are there before the constructor, and without it.
    _mcp_manager: MCPClientManager | None = None
    # The manager that was made without a file.
    _mcp_default: MCPClientManager | None = None

    def __init__(
        self,
        *args: Any,
        auto_load_config: bool = False,
        config_file: str | Path | None = None,
        **kwargs: Any,
    ) -> None:
        debug = bool(kwargs.get("debug", False))
        if config_file is not None and self._mcp_manager is self._mcp_default and not self._has_servers():
            # Also if the agent's own constructor made a manager without a file before.
            self._mcp_manager = MCPClientManager(MCPConfig(config_file), debug or bool(getattr(self, "debug", False)))
        self._servers(debug=debug)
        _construct_the_others(self, args, kwargs)
        if auto_load_config:
            self.load_mcp_servers_from_config()

    def connect_mcp_server(self, name: str, config: dict[str, Any]) -> bool:
        """Connect to a server, save its entry, register its tools, and rebuild the prompt.

        Returns False if that failed; the reason is printed on the console. Raises `EntryError` (a `ValueError`) for an
        invalid name or entry.
        """
        check_server_name(name)
        read_entry(name, config)
        try:
            client = self._servers().add_server(name, config)
        except MCPError as error:
            self._tell("print_error", str(error))
            return False
        self._adopt(client)
        self._rebuild_prompt()
        self._tell("print_info", f"Connected to MCP server '{name}' ({client.server_info.get('name', 'unnamed')})")
        return True

    def load_mcp_servers_from_config(self) -> int:
        """Connect to the servers of the configuration file, register their tools, and rebuild the prompt once.

        Returns how many servers are connected; those that failed are printed on the console. They are connected in
        parallel, each with the timeout of its entry.
        """
        manager = self._servers()
        manager.load_from_config()
        clients = [client for name in manager.list_servers() if (client := manager.get_client(name)) is not None]
        new = [client for client in clients if not _follows(self, client)]
        for client in new:
            self._adopt(client)
        for line in manager.get_status_report():
            if not line["connected"]:
                self._tell("print_warning", f"MCP server '{line['name']}' is not connected: {line['error']}")
        if new:
            self._rebuild_prompt()
        return len(clients)

    def disconnect_mcp_server(self, name: str) -> None:
        """Unregister a server's tools, disconnect from it, remove its entry, and rebuild the prompt.

        Also for a server that failed to connect. An unknown name, or a file that cannot be changed, is reported on the
        console; nothing is raised.
        """
        manager = self._servers()
        client = manager.get_client(name)
        if all(line["name"] != name for line in manager.get_status_report()):
            self._tell("print_warning", f"MCP server '{name}' not found")
            return
        if client is not None:
            self._unregister_mcp_tools(client)
        try:
            manager.remove_server(name)
        except MCPError as error:
            self._tell("print_error", str(error))
        if client is not None:
            self._unregister_mcp_tools(client)  # Again, since they may have been registered anew meanwhile.
            self._rebuild_prompt()
        self._tell("print_info", f"Disconnected from MCP server '{name}'")

    def list_mcp_servers(self) -> list[str]:
        """The names of the connected servers."""
        return self._servers().list_servers()

    def get_mcp_client(self, name: str) -> MCPClient | None:
        """The client of a connected server, None if it is not."""
        return self._servers().get_client(name)

    def get_mcp_status_report(self) -> list[dict[str, Any]]:
        """As `MCPClientManager.get_status_report`."""
        return self._servers().get_status_report()

    # What subclasses may override.

    def _register_mcp_tools(self, client: MCPClient) -> None:
        """Register the tools of a server where this agent looks them up; report unusable ones on the console."""
        tools = client.list_tools()
        if not tools and client.last_error is not None:
            self._tell("print_warning", f"MCP server '{client.name}' does not list its tools: {client.last_error}")
        for problem in client.tool_problems:
            self._tell("print_warning", f"MCP server '{client.name}': {problem}")
        for registry in registries_of(self):
            register(registry, client, tools)

    def _unregister_mcp_tools(self, client: MCPClient) -> None:
        """Unregister all tools of a server."""
        for registry in registries_of(self):
            unregister(registry, client)

    # Ours.

    def _servers(self, *, debug: bool = False) -> MCPClientManager:
        if self._mcp_manager is None:
            debug = debug or bool(getattr(self, "debug", False))
            self._mcp_manager = self._mcp_default = MCPClientManager(MCPConfig(), debug)
        return self._mcp_manager

    def _has_servers(self) -> bool:
        return self._mcp_manager is not None and bool(self._mcp_manager.list_servers())

    def _adopt(self, client: MCPClient) -> None:
        follower = _follower_of(client)
        with follower.changing:
            follower.add(self)  # First, so that no change falls in between.
            self._register_mcp_tools(client)

    def _refresh(self, client: MCPClient) -> None:
        """Register a server's tools anew, since they have changed."""
        if not self._is_connected_by(client):
            return
        self._unregister_mcp_tools(client)
        self._register_mcp_tools(client)
        if not self._is_connected_by(client):
            self._unregister_mcp_tools(client)  # It was disconnected before there was anything to unregister.
        self._rebuild_prompt()

    def _is_connected_by(self, client: MCPClient) -> bool:
        return self._servers().get_client(client.name) is client

    def _rebuild_prompt(self) -> None:
        rebuild = getattr(self, "rebuild_system_prompt", None)
        if callable(rebuild):
            rebuild()

    def _tell(self, how: str, message: str) -> None:
        say = getattr(getattr(self, "console", None), how, None)
        if callable(say):
            say(message)
        else:
            logger.log(_LEVELS[how], "%s", message)


_LEVELS = {"print_info": logging.INFO, "print_warning": logging.WARNING, "print_error": logging.ERROR}


class _Follower:
    """Refreshes the agents of a server when its tools have changed; unregisters the tools after the last agent.

    In a thread of its own: the announcement comes from the thread that reads responses, and a refresh needs those.
    There is at most one such thread, however often a server announces changes.
    """

    def __init__(self, client: MCPClient) -> None:
        # Held while tools are listed and registered, so that an older list is not registered last.
        self.changing = threading.RLock()
        self._client = client
        self._agents: list[weakref.WeakMethod[Any]] = []
        self._lock = threading.Lock()
        self._is_due = False
        self._is_looking = False

    def add(self, agent: MCPClientMixin) -> None:
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
            except MCPError as error:
                logger.warning("the tools of MCP server %r were not updated: %s", self._client.name, str(error))
            except Exception:  # the agent's own code, which may be overridden
                logger.exception("an agent could not update the tools of MCP server %r", self._client.name)
            refresh = None  # Otherwise the agent could not be garbage-collected during the pause.
            threading.Event().wait(PAUSE_SECONDS)


# Held to give a client its one follower.
_following = threading.Lock()


def _follower_of(client: MCPClient) -> _Follower:
    with _following:
        if not isinstance(client.on_list_changed, _Follower):
            client.on_list_changed = _Follower(client)
        return client.on_list_changed


def _follows(agent: MCPClientMixin, client: MCPClient) -> bool:
    follower = client.on_list_changed
    return isinstance(follower, _Follower) and any(method.__self__ is agent for method in follower.agents())


def _construct_the_others(mixin: MCPClientMixin, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Call the constructors that come after ours, unless they have been called already."""
    order = type(mixin).__mro__
    others = [base for base in order[order.index(MCPClientMixin) + 1 : -1] if "__init__" in vars(base)]
    # What an agent has once it is constructed, in GAIA too. A console alone may be the class's own.
    if others and all(getattr(mixin, name, None) is not None for name in ("console", "error_history")):
        return
    if not others:
        kwargs = {name: value for name, value in kwargs.items() if name != "debug"}
    super(MCPClientMixin, mixin).__init__(*args, **kwargs)
