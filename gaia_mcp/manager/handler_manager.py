"""`MCPManager`: the tools of all handlers behind one object, as the document of handlers describes it."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from gaia_mcp.manager.adapters import failed
from gaia_mcp.manager.handler_threads import log_failure
from gaia_mcp.manager.router import Refusal, Router
from gaia_mcp.toolspec.repair import openai_function

if TYPE_CHECKING:
    from gaia_mcp.handlers.base import MCPToolDefinition, MCPToolResult
    from gaia_mcp.manager.router import Handlers
    from gaia_mcp.server.outcomes import OnFailure
    from gaia_mcp.server.provider import Listener


class MCPManager:
    """Uses the handlers of `registry`: each is connected when it is first needed, and no longer used after three
    consecutive errors.

    All methods may be called from several threads. `stage` and `agent` are the caller's, None if it has none: tools of
    handlers that are restricted to others are neither listed nor called. A failure of a handler is a result with
    `is_error`, or a warning on `console`, which is any object with `print_warning` or `print`; without one, warnings
    are logged. As a context manager it disconnects all handlers at the end.

    If several handlers have a tool of the same name, the first one in scope is used, or the next one if that has
    failed. With `qualified_names`, tools are named `HANDLER.TOOL` instead, and all can be used. `clock` returns the
    time in seconds. `on_failure` is called with a description of each exception of a tool, and the exception; by
    default, both are logged at the level of debugging.
    """

    def __init__(
        self,
        registry: Handlers,
        console: Any = None,
        *,
        qualified_names: bool = False,
        clock: Callable[[], float] = time.monotonic,
        on_failure: OnFailure = log_failure,
    ) -> None:
        self._router = Router(registry, console, clock, on_failure, qualified=qualified_names)
        weakref.finalize(self, self._router.release_threads)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown_all()

    def __repr__(self) -> str:
        return f"<MCPManager {[handler.name for handler in self._router.handlers()]}>"

    def get_tools_for_scope(self, stage: str | None = None, agent: str | None = None) -> list[MCPToolDefinition]:
        """The tools of the usable handlers in scope. Connects the handlers and lists their tools, in parallel."""
        return self._router.tools(stage, agent)

    def get_tools_as_openai_schema(self, stage: str | None = None, agent: str | None = None) -> list[dict[str, Any]]:
        """The tools in scope as `tools` of a chat completion.

        A tool whose name is invalid for OpenAI gets another one, by which it can be called here.
        """
        tools = self.get_tools_for_scope(stage, agent)
        return [
            openai_function(name, tool.description, tool.input_schema)
            for tool, name in zip(tools, self._router.function_names(tools), strict=True)
        ]

    def find_tool(
        self, tool_name: str, *, stage: str | None = None, agent: str | None = None
    ) -> MCPToolDefinition | None:
        """The tool that `call_tool` would call; None if there is none in scope or its handler cannot be used."""
        owner = self._router.route(tool_name, stage, agent)
        return None if isinstance(owner, Refusal) else owner.handler.tools.get(owner.tool)

    def call_tool(
        self, tool_name: str, arguments: dict[str, Any], *, stage: str | None = None, agent: str | None = None
    ) -> MCPToolResult:
        """Call a tool by its name, its function name, or as `HANDLER.TOOL` or `mcp_HANDLER_TOOL`.

        Failures of every kind are results. Raises `CallCancelledError` if it is called by a served tool whose own call
        is cancelled.
        """
        if not isinstance(arguments, dict):
            return failed(f"the arguments of tool '{tool_name}' are {type(arguments).__name__}, not a dict")
        owner = self._router.route(tool_name, stage, agent)
        if isinstance(owner, Refusal):
            return owner
        return owner.handler.call(owner.tool, dict(arguments))

    def shutdown_all(self) -> None:
        """Disconnect all handlers, and clear errors and failures; the next use connects again. Never raises."""
        self._router.shut_down()

    # For providers that serve the tools.

    def known_tools(self, stage: str | None = None, agent: str | None = None) -> list[MCPToolDefinition]:
        """As `get_tools_for_scope`, but only the tools listed already, without using a handler."""
        return self._router.known_tools(stage, agent)

    def shared_tools(self, stage: str | None = None, agent: str | None = None) -> list[MCPToolDefinition]:
        """The known tools whose name several handlers share, including those not in `known_tools`: each is named
        `HANDLER.TOOL`, by which it can be called.
        """
        return self._router.shared_tools(stage, agent)

    def instructions(self, stage: str | None = None, agent: str | None = None) -> str:
        """The instructions of the handlers in scope: those of a connected server or agent, else the handler's
        description.
        """
        return self._router.instructions(stage, agent)

    def on_change(self, listener: Listener) -> Callable[[], None]:
        """Call `listener`, from any thread, when `known_tools` may have changed, with "tools" in its lists if a server
        has announced changed tools that are not listed yet. Returns a function that removes the listener.
        """
        return self._router.listeners.add(listener)

    # For the tests of existing handlers.

    @property
    def _tool_map(self) -> Mapping[str, str]:
        """The handler of each tool that has been discovered."""
        owners = self._router.index().owners
        first = {
            tool: next((one for one in several if one.handler.is_available()), several[0])
            for tool, several in owners.items()
        }
        return MappingProxyType({tool: owner.handler.name for tool, owner in first.items()})

    @property
    def _failed_handlers(self) -> frozenset[str]:
        """The handlers that could not be connected, or whose circuit breaker is open."""
        return frozenset(one.name for one in self._router.used_handlers() if one.has_failed)

    @property
    def _error_counts(self) -> Mapping[str, int]:
        """The number of consecutive errors of each handler."""
        return MappingProxyType({one.name: one.errors for one in self._router.used_handlers()})
