"""What a handler is: the class to derive from, and the values that pass between a handler and its manager.

A handler owns its transport, authentication and retries. When it is connected, which tools are routed to it, and what
becomes of its failures is for `MCPManager` to decide.
"""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from gaia_mcp._version import __version__
from gaia_mcp.handlers.console import was_shown
from gaia_mcp.toolspec.scope import is_in_scope


@dataclass
class MCPClientInfo:
    """How a handler that is an MCP client introduces itself: the `clientInfo` of `initialize`."""

    name: str = "gaia-mcp"
    version: str = __version__

    def to_dict(self) -> dict[str, str]:
        """The JSON object to send."""
        return {"name": self.name, "version": self.version}


@dataclass
class MCPHandlerConfig:
    """The configuration of one handler.

    `stages` and `agents` restrict who may use its tools: None allows all, an empty list none, and "all" among the
    stages every stage. `timeout` is in seconds, for each call of a tool. `max_retries` is how often the handler may
    repeat a request that failed. Of a longer result only the first `max_result_bytes` bytes (UTF-8) are used.
    `settings` are the handler's own, such as URLs and credentials; `repr` leaves them out.
    """

    name: str
    stages: list[str] | None = None
    agents: list[str] | None = None
    enabled: bool = True
    timeout: float = 30
    max_retries: int = 2
    max_result_bytes: int = 8192
    settings: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass
class MCPToolDefinition:
    """A tool of a handler. `input_schema` is the JSON Schema of its arguments."""

    name: str
    description: str
    input_schema: dict[str, Any]
    handler_name: str


@dataclass
class MCPToolResult:
    """What a tool returned, or with `is_error` why it failed. `metadata` is for programs."""

    content: str
    is_error: bool = False
    error_message: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class MCPToolCall:
    """A call of a tool, as a model asks for it. `id` names it in the answer."""

    id: str
    name: str
    arguments: dict[str, Any]


class MCPHandler(ABC):
    """The base class of handlers.

    A class that sets `name` is known by that, any other by the name in its configuration. `console` shows messages to
    the user with its methods `print_dim` and `print_warning`, as an `AgentConsole` does, or with `print`.
    `project_config` is the configuration of the whole project, which a handler only reads. `logger` is `mcp.NAME`.
    """

    name: str = ""
    description: str = ""
    # Also of a handler that does not call `super().__init__`.
    _connected: bool = False

    def __init__(
        self, config: MCPHandlerConfig, *, console: Any = None, project_config: dict[str, Any] | None = None
    ) -> None:
        self.name = self.name or config.name
        self.config = config
        self.client_info = MCPClientInfo()
        self.console = console
        self.project_config = {} if project_config is None else project_config
        self.logger = logging.getLogger(f"mcp.{self.name}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}{'' if self._connected else ', not connected'}>"

    @abstractmethod
    def connect(self) -> None:
        """Connect, once, before the first use; set `_connected` on success. May raise anything."""

    @abstractmethod
    def list_tools(self) -> list[MCPToolDefinition]:
        """The tools, after `connect`."""

    @abstractmethod
    def call_tool(self, name: str, arguments: dict[str, Any]) -> MCPToolResult:
        """Call a tool, within `config.timeout`. A failure is a result with `is_error`, and not raised."""

    @abstractmethod
    def disconnect(self) -> None:
        """Release everything. May be called several times."""

    def health_check(self) -> bool:
        """Whether the connection can be used."""
        return self._connected

    def matches_scope(self, stage: str | None, agent: str | None) -> bool:
        """Whether it is enabled and `agent` may use its tools at `stage`; None for what the caller does not name."""
        config = self.config
        return config.enabled and is_in_scope(config.stages, config.agents, stage, agent)

    def _bubble_message(self, message: str) -> None:
        """Show a message to the user; it is logged if no console can."""
        self._show("print_dim", logging.INFO, message)

    def _bubble_warning(self, message: str) -> None:
        """Show a warning to the user; it is logged if no console can."""
        self._show("print_warning", logging.WARNING, message)

    def _show(self, method: str, level: int, message: str) -> None:
        if not was_shown(self.console, method, f"[{self.name}] {message}"):
            self.logger.log(level, "%s", message)
