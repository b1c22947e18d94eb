"""`MCPClientMixin`: any agent connects to MCP servers and offers their tools to its model.

As GAIA's documents describe it, for our `Agent` and for GAIA's own.
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


# A server that announces a change with every list would have us ask without end: like this it costs little.
PAUSE_SECONDS = 0.1


class MCPClientMixin:
    """Add MCP servers to an agent: `class MyAgent(Agent, MCPClientMixin)`, in either order, or alone.

    As in GAIA's documents (MCPClientMixin). Constructors pass on what they do not know. With `auto_load_config` the
    servers of the configuration file are connected at once; `config_file` names another file. Where nobody calls this
    constructor (GAIA's own `Agent` does not), the first use does what it would have done. The constructor raises
    `ConfigFileError` for a file that cannot be read.

    `_mcp_manager` may be set before, also to one that several agents share. When an agent goes away, the tools that no
    other uses leave the registry; the servers are ended when their manager goes.
    """

    # Also before, and without, a constructor.
    _mcp_manager: MCPClientManager | None = None
    # The one that was made where nobody had said for which file.
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
            # Also when the agent's own constructor has come by here before us, without a file.
            self._mcp_manager = MCPClientManager(MCPConfig(config_file), debug or bool(getattr(self, "debug", False)))
        self._servers(debug=debug)
        _construct_the_others(self, args, kwargs)
        if auto_load_config:
            self.load_mcp_servers_from_config()

    def connect_mcp_server(self, name: str, config: dict[str, Any]) -> bool:
        """Connect to a server, save its entry, register its tools, and rebuild the prompt. False if that failed; the
        console says why.

        Raises `EntryError` (a `ValueError`) for a name or an entry that makes no sense.
        """
        check_server_name(name)
        read_entry(name, config)
        try:
            client = self._servers().add_server(name, config)
        except MCPError as error:
            self._tell("print_error", str(error))
            return False
        self._take_on(client)
        self._rebuild_prompt()
        self._tell("print_info", f"Connected to MCP server '{name}' ({client.server_info.get('name', 'unnamed')})")
        return True

    def load_mcp_servers_from_config(self) -> int:
        """Connect to the servers of the configuration file, register their tools, and rebuild the prompt once.

        Returns how many servers are connected; the console names those that failed. Each server has the time of its
        own entry, all of them at once.
        """
        manager = self._servers()
        manager.load_from_config()
        clients = [client for name in manager.list_servers() if (client := manager.get_client(name)) is not None]
        new = [client for client in clients if not _follows(self, client)]
        for client in new:
            self._take_on(client)
        for line in manager.get_status_report():
            if not line["connected"]:
                self._tell("print_warning", f"MCP server '{line['name']}' is not connected: {line['error']}")
        if new:
            self._rebuild_prompt()
        return len(clients)

    def disconnect_mcp_server(self, name: str) -> None:
        """Take a server's tools out, disconnect from it, forget its entry, and rebuild the prompt.

        One that has failed to connect is forgotten too. The console is warned if there is none of that name, and told
        if the file cannot be changed; nothing is raised.
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
            self._unregister_mcp_tools(client)  # Once more: they may have changed, and been entered again, meanwhile.
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
        """Enter the tools of a server into the registry that this agent reads. What is wrong with them is told on the
        console, and costs no others.
        """
        tools = client.list_tools()
        if not tools and client.last_error is not None:
            self._tell("print_warning", f"MCP server '{client.name}' does not list its tools: {client.last_error}")
        for problem in client.tool_problems:
            self._tell("print_warning", f"MCP server '{client.name}': {problem}")
        for registry in registries_of(self):
            register(registry, client, tools)

    def _unregister_mcp_tools(self, client: MCPClient) -> None:
        """Take out everything that was entered for a server."""
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

    def _take_on(self, client: MCPClient) -> None:
        follower = _follower_of(client)
        with follower.changing:
            follower.add(self)  # First, so that no change falls in between.
            self._register_mcp_tools(client)

    def _refresh(self, client: MCPClient) -> None:
        """Register a server's tools anew, for these have changed."""
        if not self._is_connected_by(client):
            return
        self._unregister_mcp_tools(client)
        self._register_mcp_tools(client)
        if not self._is_connected_by(client):
            self._unregister_mcp_tools(client)  # Whoever has disconnected meanwhile was too early to do it.
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
    """Hears that a server's tools have changed, and has its agents look; takes the tools out when the last has gone.

    In a thread of its own: it is told by whoever reads the server's answers, and looking needs those. There is one such
    thread at most, however often a server announces something.
    """

    def __init__(self, client: MCPClient) -> None:
        # Held while tools are listed and entered: who lists first must not enter last.
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
        """The methods of those that are still there."""
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
                logger.warning("the tools of MCP server %r are as they were: %s", self._client.name, str(error))
            except Exception:  # the agent's own code, which may be overridden
                logger.exception("an agent could not follow the tools of MCP server %r", self._client.name)
            refresh = None  # Or the agent could not go while we wait.
            threading.Event().wait(PAUSE_SECONDS)


# One agent at a time begins to follow.
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
    """Call the constructors that come after ours, unless somebody has done so by hand already."""
    order = type(mixin).__mro__
    others = [base for base in order[order.index(MCPClientMixin) + 1 : -1] if "__init__" in vars(base)]
    # What an agent has once it is constructed, in GAIA too. A console alone may be the class's own.
    if others and all(getattr(mixin, name, None) is not None for name in ("console", "error_history")):
        return
    if not others:
        kwargs = {name: value for name, value in kwargs.items() if name != "debug"}
    super(MCPClientMixin, mixin).__init__(*args, **kwargs)
