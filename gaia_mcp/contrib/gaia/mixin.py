"""`MCPClientMixin`: registers the tools of MCP servers as an agent's own.

    >>> from gaia_mcp import Agent, MCPClientMixin
    >>> class MyAgent(Agent, MCPClientMixin):
    ...     def __init__(self, **options):
    ...         super().__init__(**options)
    ...         self.connect_mcp_server("demo", {"command": "gaia", "args": ["mcp", "serve", "demo"]})
    >>> def model(messages):
    ...     if len(messages) == 2:
    ...         return {"tool": "mcp_demo_greet", "tool_args": {"name": "Ada"}}
    ...     return {"answer": "I have greeted Ada."}
    >>> agent = MyAgent(silent_mode=True, model=model)
    >>> agent.run("Greet Ada")["result"]
    I have greeted Ada.
    'I have greeted Ada.'

The first of the two lines is printed by the agent's console. No language model is included: `model` is any function
from messages to a reply, and without one the result of `run` is an error.

The mixin also works with the `Agent` of AMD's GAIA, and registers the tools in its registry.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.config import MCPConfig
from gaia_mcp.client.transports.factory import check_type
from gaia_mcp.config.entries import read_entry
from gaia_mcp.config.store import check_server_name
from gaia_mcp.contrib.gaia.client_manager import MCPClientManager
from gaia_mcp.contrib.gaia.tool_registry import follower_of, follows, has_tools, register, registries_of, unregister
from gaia_mcp.core.errors import MCPError

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.client.mcp_client import MCPClient

logger = logging.getLogger("gaia_mcp")


class MCPClientMixin:
    """Add MCP servers to an agent: `class MyAgent(Agent, MCPClientMixin)`, in either order, or alone.

    As in GAIA's documents (MCPClientMixin). Constructors pass on unknown arguments. With `auto_load_config` the servers
    of the configuration file are connected at once, with `config_file` those of that file. GAIA's own `Agent` does not
    call this constructor: then the first use has the same effect. Raises `ConfigFileError` for an unreadable file.

    `_mcp_manager` may be set before, also to one that several agents share. When an agent is garbage-collected, tools
    that no other agent uses are unregistered; the servers are stopped with their manager.
    """

    # Whether a server's tools become the agent's own, which its model may call. If not, its code calls them:
    # `get_mcp_client(NAME).call_tool(...)`. As in az prototype.
    _enable_mcp_tools = True
    # Class attributes: they exist before the constructor runs, and without it.
    _mcp_manager: MCPClientManager | None = None
    # The manager that was created without a file.
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
            # Even if the agent's own constructor has created a manager without a file.
            self._mcp_manager = MCPClientManager(MCPConfig(config_file), debug or bool(getattr(self, "debug", False)))
        self._servers(debug=debug)
        _construct_the_others(self, args, kwargs)
        if auto_load_config or config_file is not None:
            self.load_mcp_servers_from_config()

    def connect_mcp_server(self, name: str, config: dict[str, Any]) -> bool:
        """Connect to a server, save its entry, register its tools, and rebuild the prompt.

        Returns False on any failure; the reason is printed on the console. Raises `EntryError` (a `ValueError`) for an
        invalid name or entry, and for a server that is not reached over stdio.
        """
        check_server_name(name)
        check_type(read_entry(name, config))
        try:
            client = self._servers().add_server(name, config)
        except Exception as error:  # noqa: BLE001 (a program's own manager, or its host, may raise anything)
            self._tell("print_error", str(error))
            return False
        self._adopt(client)
        self._rebuild_prompt()
        self._tell("print_info", f"Connected to MCP server '{name}' ({client.server_info.get('name', 'unnamed')})")
        return True

    def load_mcp_servers_from_config(self) -> int:
        """Connect to the servers of the configuration file, register their tools, and rebuild the prompt once.

        Returns the number of connected servers; failures are printed on the console. The servers are connected in
        parallel, each with the timeout of its entry.
        """
        manager = self._servers()
        manager.load_from_config()
        self._print_mcp_load_summary()
        clients = [client for name in manager.list_servers() if (client := manager.get_client(name)) is not None]
        new = [client for client in clients if not follows(self, client)]
        for client in new:
            self._adopt(client)
        if new:
            self._rebuild_prompt()
        return len(clients)

    def disconnect_mcp_server(self, name: str) -> None:
        """Unregister a server's tools, disconnect from it, remove its entry, and rebuild the prompt.

        Also works for a server that failed to connect. An unknown name, or a file that cannot be changed, is reported
        on the console; nothing is raised.
        """
        manager = self._servers()
        client = manager.get_client(name)
        if client is None and name not in _failures(manager):
            self._tell("print_warning", f"MCP server '{name}' not found")
            return
        if client is not None:
            self._unregister_mcp_tools(client)
        try:
            manager.remove_server(name)
        except MCPError as error:
            self._tell("print_error", str(error))
        if client is not None:
            self._unregister_mcp_tools(client)  # Again, since they may have been registered again meanwhile.
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

    def _print_mcp_load_summary(self) -> None:
        """Print the servers of the file that are not connected, with the reasons, on the console."""
        for name, reason in _failures(self._servers()).items():
            self._tell("print_warning", f"MCP server '{name}' is not connected: {reason}")

    def _register_mcp_tools(self, client: MCPClient) -> None:
        """Register the tools of a server where this agent looks them up; report unusable ones on the console. Does
        nothing if `_enable_mcp_tools` is false.
        """
        if not self._enable_mcp_tools:
            return
        tools = client.list_tools()
        if not tools and client.last_error is not None:
            self._tell("print_warning", f"MCP server '{client.name}' does not list its tools: {client.last_error}")
        for problem in _listed(client.tool_problems):
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
        follower = follower_of(client)
        with follower.changing:
            follower.add(self)  # First, so that no change is missed in between.
            self._register_mcp_tools(client)

    def _refresh(self, client: MCPClient) -> None:
        """Register a server's tools again, since they have changed."""
        if not self._is_connected_by(client):
            return
        self._unregister_mcp_tools(client)
        self._register_mcp_tools(client)
        if not self._is_connected_by(client):
            self._unregister_mcp_tools(client)  # It was disconnected before there was anything to unregister.
        self._rebuild_prompt()

    def _leave(self, client: MCPClient) -> None:
        """Unregister the tools of a server that was disconnected, if there are any."""
        if any(has_tools(registry, client) for registry in registries_of(self)):
            self._unregister_mcp_tools(client)
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


def _failures(manager: MCPClientManager) -> dict[str, Any]:
    """The reasons why servers are not connected, by server name."""
    lines = _listed(manager.get_status_report())
    return {line["name"]: line["error"] for line in lines if not line["connected"]}


def _listed(found: Any) -> list[Any]:
    """A list unchanged; an empty one for any other value, since programs' tests replace managers and clients by mock
    objects.
    """
    return found if isinstance(found, list) else []


def _construct_the_others(mixin: MCPClientMixin, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Call the constructors that come after ours, unless they have been called already."""
    order = type(mixin).__mro__
    others = [base for base in order[order.index(MCPClientMixin) + 1 : -1] if "__init__" in vars(base)]
    # The attributes of a constructed agent, in GAIA too. A console alone may be a class attribute.
    if others and all(getattr(mixin, name, None) is not None for name in ("console", "error_history")):
        return
    if not others:
        kwargs = {name: value for name, value in kwargs.items() if name != "debug"}
    super(MCPClientMixin, mixin).__init__(*args, **kwargs)
