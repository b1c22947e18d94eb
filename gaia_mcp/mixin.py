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
from gaia_mcp.manager import MCPClientManager
from gaia_mcp.registration import Registry, register, registry_of, unregister

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gaia_mcp.client.mcp_client import MCPClient

logger = logging.getLogger("gaia_mcp")


class MCPClientMixin:
    """Add MCP servers to an agent: `class MyAgent(Agent, MCPClientMixin)`, in either order, or alone.

    Constructors pass on what they do not know. With `auto_load_config` the servers of the configuration file are
    connected at once; `config_file` names another file. Where nobody calls this constructor (GAIA's own `Agent` does
    not), the first use does what it would have done.

    When the agent goes away its tools leave the registry, and its servers are ended.
    """

    # Also before, and without, a constructor.
    _mcp_manager: MCPClientManager | None = None
    _mcp_end: weakref.finalize[Any, Any] | None = None

    def __init__(
        self,
        *args: Any,
        auto_load_config: bool = False,
        config_file: str | Path | None = None,
        **kwargs: Any,
    ) -> None:
        is_first = self._mcp_manager is None
        self._servers(config_file, debug=bool(kwargs.get("debug", False)))
        _construct_the_others(self, args, kwargs)
        if is_first and auto_load_config:
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
        self._register_mcp_tools(client)
        self._follow(client)
        self._rebuild_prompt()
        self._tell("print_info", f"Connected to MCP server '{name}' ({client.server_info.get('name', 'unnamed')})")
        return True

    def load_mcp_servers_from_config(self) -> int:
        """Connect to the servers of the configuration file, register their tools, and rebuild the prompt once.

        Returns how many servers are connected; the console names those that failed.
        """
        manager = self._servers()
        before = set(manager.list_servers())
        manager.load_from_config()
        names = manager.list_servers()
        for name in names:
            client = manager.get_client(name)
            if client is not None and name not in before:
                self._register_mcp_tools(client)
                self._follow(client)
        for line in manager.get_status_report():
            if not line["connected"]:
                self._tell("print_warning", f"MCP server '{line['name']}' is not connected: {line['error']}")
        if set(names) - before:
            self._rebuild_prompt()
        return len(names)

    def disconnect_mcp_server(self, name: str) -> None:
        """Disconnect from a server, forget its entry, take its tools out, and rebuild the prompt.

        A warning if it is not connected.
        """
        client = self._servers().get_client(name)
        if client is None:
            self._tell("print_warning", f"MCP server '{name}' not found")
            return
        self._unregister_mcp_tools(client)
        self._servers().remove_server(name)
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
        """Enter the tools of a server into the registry that this agent reads."""
        tools = client.list_tools()
        for problem in client.tool_problems:
            self._tell("print_warning", f"MCP server '{client.name}': {problem}")
        register(registry_of(self), client, tools)

    def _unregister_mcp_tools(self, client: MCPClient) -> None:
        """Take out everything that was entered for a server."""
        unregister(registry_of(self), client)

    # Ours.

    def _servers(self, config_file: str | Path | None = None, *, debug: bool = False) -> MCPClientManager:
        if self._mcp_manager is None:
            self._mcp_manager = MCPClientManager(MCPConfig(config_file), debug or bool(getattr(self, "debug", False)))
        if self._mcp_end is None:
            self._mcp_end = weakref.finalize(self, _let_go, registry_of(self), self._mcp_manager)
        return self._mcp_manager

    def _follow(self, client: MCPClient) -> None:
        client.on_list_changed = _Follower(weakref.WeakMethod(self._refresh), client)

    def _refresh(self, client: MCPClient) -> None:
        if self._servers().get_client(client.name) is client:
            self._unregister_mcp_tools(client)
            self._register_mcp_tools(client)
            self._rebuild_prompt()

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
    """Hears that a server's tools have changed, and has the agent look, unless that has gone.

    In a thread of its own: it is told by whoever reads the server's answers, and looking needs those.
    """

    def __init__(self, refresh: weakref.WeakMethod[Callable[[MCPClient], None]], client: MCPClient) -> None:
        self._refresh = refresh
        self._client = weakref.ref(client)
        self._lock = threading.Lock()
        self._is_due = False

    def __call__(self, kind: str) -> None:
        if kind != "tools":
            return
        with self._lock:
            if self._is_due:
                return  # The look that is due has not begun yet, and will see this change too.
            self._is_due = True
        threading.Thread(target=self._look, name="MCP tools changed", daemon=True).start()

    def _look(self) -> None:
        with self._lock:
            self._is_due = False
        refresh, client = self._refresh(), self._client()
        if refresh is not None and client is not None:
            refresh(client)


def _let_go(registry: Registry, manager: MCPClientManager) -> None:
    for name in manager.list_servers():
        if (client := manager.get_client(name)) is not None:
            unregister(registry, client)
    manager.disconnect_all()


def _construct_the_others(mixin: MCPClientMixin, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Call the constructors that come after ours, unless somebody has done so by hand already."""
    order = type(mixin).__mro__
    others = [base for base in order[order.index(MCPClientMixin) + 1 : -1] if "__init__" in vars(base)]
    # An agent has a console once it is constructed, in GAIA too.
    if others and getattr(mixin, "console", None) is not None:
        return
    if not others:
        kwargs = {name: value for name, value in kwargs.items() if name != "debug"}
    super(MCPClientMixin, mixin).__init__(*args, **kwargs)
