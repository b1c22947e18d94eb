"""The base class of handlers, the values that a handler and its manager exchange, and the registry: the built-in
handlers of a program, and the custom ones of a project, which take precedence.

A handler owns its transport, authentication and retries. `MCPManager` decides when it is connected, which calls are
routed to it, and how its failures are treated.
"""

from __future__ import annotations

import copy
import logging
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, NoReturn

from gaia_mcp._version import __version__
from gaia_mcp.core.names import handler_key
from gaia_mcp.toolspec.tool_filter import is_in_scope

# Tried after the method for the kind of message. Rich's consoles print text unchanged with `out`, but their `print`
# interprets markup.
_PLAIN = ("out", "print")


@dataclass
class MCPClientInfo:
    """The `clientInfo` that a handler that is an MCP client sends in `initialize`."""

    name: str = "gaia-mcp"
    version: str = __version__

    def to_dict(self) -> dict[str, str]:
        """The JSON object to send."""
        return {"name": self.name, "version": self.version}


@dataclass
class MCPHandlerConfig:
    """The configuration of one handler.

    `stages` and `agents` restrict who may use its tools: None allows all, an empty list none, and a stage "all" every
    stage. `timeout` is in seconds, for each tool call. `max_retries` is how often the handler may retry a failed
    request. Longer results are cut to `max_result_bytes` bytes (UTF-8). `settings` are specific to the handler, such as
    URLs and credentials; `repr` omits them.
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
    """The result of a tool, or, with `is_error`, the reason for its failure. `metadata` is for programs."""

    content: str
    is_error: bool = False
    error_message: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class MCPToolCall:
    """A tool call requested by a model. The response refers to it by `id`."""

    id: str
    name: str
    arguments: dict[str, Any]


class MCPHandler(ABC):
    """The base class of handlers.

    The handler's name is the class attribute `name`, if set, otherwise the name in its configuration. `console` prints
    messages to the user with its methods `print_dim` and `print_warning`, as those of `AgentConsole`, or with `print`.
    `project_config` is a read-only copy of the configuration of the whole project. `logger` is named `mcp.NAME`.
    """

    name: str = ""
    description: str = ""
    # A class attribute, so that it exists even in a handler that does not call `super().__init__`.
    _connected: bool = False

    def __init__(
        self, config: MCPHandlerConfig, *, console: Any = None, project_config: dict[str, Any] | None = None
    ) -> None:
        self.name = self.name or config.name
        self.config = config
        self.client_info = MCPClientInfo()
        self.console = console
        self.project_config: dict[str, Any] = _read_only(project_config or {})
        self.logger = logging.getLogger(f"mcp.{self.name}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}{'' if self._connected else ', not connected'}>"

    @abstractmethod
    def connect(self) -> None:
        """Connect. Called once, before the first use. Must set `_connected` on success; may raise any exception."""

    @abstractmethod
    def list_tools(self) -> list[MCPToolDefinition]:
        """The tools. Called after `connect`."""

    @abstractmethod
    def call_tool(self, name: str, arguments: dict[str, Any]) -> MCPToolResult:
        """Call a tool, within `config.timeout`. A failure is returned as a result with `is_error`, not raised."""

    @abstractmethod
    def disconnect(self) -> None:
        """Release all resources. May be called several times."""

    def health_check(self) -> bool:
        """Whether the connection can be used."""
        return self._connected

    def matches_scope(self, stage: str | None, agent: str | None) -> bool:
        """Whether the handler is enabled and `agent` may use its tools at `stage`. A stage or agent of None is not
        checked.
        """
        config = self.config
        return config.enabled and is_in_scope(config.stages, config.agents, stage, agent)

    def _bubble_message(self, message: str) -> None:
        """Print a message on the console, or log it if there is none that can."""
        self._show("print_dim", logging.INFO, message)

    def _bubble_warning(self, message: str) -> None:
        """Print a warning on the console, or log it if there is none that can."""
        self._show("print_warning", logging.WARNING, message)

    def _show(self, method: str, level: int, message: str) -> None:
        if not was_shown(self.console, method, f"[{self.name}] {message}"):
            self.logger.log(level, "%s", message)


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise TypeError("project_config is read-only; change a copy of it: copy.deepcopy(self.project_config)")


# Subclasses, not proxies: handlers check for dicts and lists, and write them as JSON.
class _ReadOnlyDict(dict[str, Any]):
    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return copy.deepcopy(dict(self), memo)

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


class _ReadOnlyList(list[Any]):
    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = clear = extend = insert = _refuse
    pop = remove = reverse = sort = _refuse

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return copy.deepcopy(list(self), memo)

    def __reduce__(self) -> Any:
        return list, (list(self),)


def _read_only(value: Any) -> Any:
    """A copy of dicts and lists, at any depth, that refuses to be changed; anything else itself."""
    if isinstance(value, dict):
        return _ReadOnlyDict((key, _read_only(each)) for key, each in value.items())
    if isinstance(value, list):
        return _ReadOnlyList(map(_read_only, value))
    return value


logger = logging.getLogger("gaia_mcp")


def was_shown(console: Any, method: str, message: str) -> bool:
    """Print a message with `method` of `console`, or with a method for any text. Returns whether it was printed.

    An exception of the console is logged, not raised: it must not interrupt the operation that the message is about.
    """
    shows = (getattr(console, name, None) for name in (method, *_PLAIN))
    show = next(filter(callable, shows), None)
    if show is None:
        return False
    try:
        show(message)
    except Exception:
        logger.exception("the console failed to show a message")
        return False
    return True


class MCPRegistry:
    """Handlers by name; `-` and `_` are equivalent. May be used from several threads.

    A custom handler replaces the built-in one of the same name, and takes its position.
    """

    def __init__(self) -> None:
        self._builtin: dict[str, MCPHandler] = {}
        self._custom: dict[str, MCPHandler] = {}

    def __repr__(self) -> str:
        return f"<MCPRegistry {[handler.name for handler in self.list_all()]}>"

    def register_builtin(self, handler: MCPHandler) -> None:
        """Add a built-in handler of the program. It replaces a built-in one of the same name."""
        self._builtin[handler_key(handler.name)] = handler

    def register_custom(self, handler: MCPHandler) -> None:
        """Add a custom handler of the project. It replaces a handler of the same name."""
        self._custom[handler_key(handler.name)] = handler

    def get(self, name: str) -> MCPHandler | None:
        """The handler of this name, or None."""
        key = handler_key(name)
        return self._custom.get(key, self._builtin.get(key))

    def list_all(self) -> list[MCPHandler]:
        """All handlers: first the names of built-in handlers, then the others, each in the order of registration."""
        return list((self._builtin | self._custom).values())

    def get_for_scope(self, stage: str | None = None, agent: str | None = None) -> list[MCPHandler]:
        """The enabled handlers whose tools `agent` may use at `stage`. A stage or agent of None is not checked."""
        return [handler for handler in self.list_all() if handler.matches_scope(stage, agent)]

    def __len__(self) -> int:
        return len(self.list_all())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None
