"""`MCPManager`: the tools of all handlers behind one object, as the document of handlers describes it; and
`ManagerProvider`, its tools as a provider, for an MCP server.

The provider validates the arguments of calls if the handler does not: a remote server and an agent do so themselves.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from gaia_mcp._version import __version__
from gaia_mcp.asking import Call, enter_call
from gaia_mcp.checking import Checker, validation_errors
from gaia_mcp.contrib.handlers.adapters import FullDefinition, failed, wire_result
from gaia_mcp.contrib.handlers.handler_threads import log_failure
from gaia_mcp.contrib.handlers.router import Handlers, Reason, Refusal, Router
from gaia_mcp.protocol.server import Description
from gaia_mcp.server.definitions import check_task, json_problem, tool_definition
from gaia_mcp.server.provider import (
    Announcer,
    Change,
    Listener,
    Listeners,
    RequestError,
    ResultError,
    method_not_found,
    unknown_tool,
)
from gaia_mcp.server.results import checked_result
from gaia_mcp.toolspec.repair import openai_function
from gaia_mcp.toolspec.validation import SchemaCostError, SchemaError
from gaia_mcp.toolspec.validation import report as explain

if TYPE_CHECKING:
    from gaia_mcp.contrib.handlers.base import MCPToolDefinition, MCPToolResult
    from gaia_mcp.server.outcomes import OnFailure

Wire = dict[str, Any]


class ManagerProvider:
    """Provides the tools of `manager` that `agent` may use at `stage`, as a server named `name`. If several handlers
    share a tool name, it means the tool of the first one; all of them are also listed as `HANDLER.TOOL`.

    `report` is called once with each problem of a tool's definition. `instructions` default to those of the handlers. A
    failure of a handler is a result, and `close` disconnects the handlers.
    """

    def __init__(
        self,
        manager: MCPManager,
        *,
        stage: str | None = None,
        agent: str | None = None,
        name: str = "gaia-mcp",
        version: str = __version__,
        instructions: str = "",
        report: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._manager = manager
        self._stage = stage
        self._agent = agent
        self._info = {"name": name, "version": version}
        self._instructions = instructions
        self._report = report
        self._reported: set[str] = set()
        self._listeners = Listeners()
        # The tools listed last; None before the first list.
        self._listed: list[MCPToolDefinition] | None = None
        self._announcer = Announcer(self._announce, self._listeners)
        self._stop_listening = manager.on_change(self._announcer.announce)

    def describe(self) -> Description:
        """Name, version, capabilities, and the instructions that are known so far."""
        instructions = self._instructions or self._manager.instructions(self._stage, self._agent)
        return Description(self._info, {"tools": {"listChanged": True}, "logging": {}}, instructions)

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        """The result of `tools/list` or `tools/call`. Handlers run with `call` as their current call.

        Raises `RequestError`, and `CallCancelledError`.
        """
        enter_call(call)
        try:
            if method == "tools/list":
                return self._list_tools(params)
            if method == "tools/call":
                return self._call_tool(params, call)
        finally:
            enter_call(None)
        raise method_not_found(method)

    def on_change(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        """Call `listener` when the tools have changed since they were listed. Returns a function that removes it."""
        return self._listeners.add(listener, wanted)

    def close(self) -> None:
        """Disconnect all handlers."""
        self._stop_listening()
        self._announcer.close()
        self._manager.shutdown_all()

    def _list_tools(self, params: Wire) -> Wire:
        if params.get("cursor") is not None:
            raise RequestError("unknown cursor: every list has one page")
        self._manager.get_tools_for_scope(self._stage, self._agent)
        tools = self._listed = self._known_tools()
        return {"tools": [definition for tool in tools if (definition := self._definition(tool)) is not None]}

    def _known_tools(self) -> list[MCPToolDefinition]:
        scope = self._stage, self._agent
        return [*self._manager.known_tools(*scope), *self._manager.shared_tools(*scope)]

    def _call_tool(self, params: Wire, call: Call) -> Wire:
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str):
            raise RequestError("tools/call needs params.name, a string")
        if not isinstance(arguments, dict):
            raise RequestError("tools/call needs params.arguments to be an object")
        tool = self._manager.find_tool(name, stage=self._stage, agent=self._agent)
        known = tool.definition if isinstance(tool, FullDefinition) else {}
        check_task(name, known, call)
        if tool is not None:
            arguments, problem = self._checked_arguments(tool, arguments)
            if problem:
                return wire_result(failed(problem))
        result = self._manager.call_tool(name, arguments, stage=self._stage, agent=self._agent)
        if isinstance(result, Refusal) and result.reason is not Reason.UNAVAILABLE:
            raise unknown_tool(name)
        return self._wire(name, result, known.get("outputSchema"))

    def _wire(self, name: str, result: MCPToolResult, output: Any) -> Wire:
        wire = wire_result(result)
        if not result.metadata and output is None:
            return wire
        try:
            return checked_result(wire, partial(self._validation_errors, name, output) if output is not None else None)
        except ResultError as invalid:
            return wire_result(failed(f"tool {name!r} returned {invalid}"))

    def _validation_errors(self, name: str, output: Any, value: Any) -> Sequence[object]:
        """The validation errors of a tool's structured content; none if its output schema cannot be used."""
        try:
            return validation_errors(output, value)
        except SchemaError as unusable:
            self._report_once(f"the output schema of {name!r} cannot be used: {unusable}")
            return ()

    def _definition(self, tool: MCPToolDefinition) -> Wire | None:
        known = tool.definition if isinstance(tool, FullDefinition) else {}
        definition = {
            **known, "name": tool.name, "description": tool.description, "inputSchema": tool.input_schema,
        }  # fmt: skip
        if (problem := json_problem(definition)) is None:
            return tool_definition(definition, self._report_once)
        self._report_once(f"tool {tool.name!r} is left out: its definition is not JSON: {problem}")
        return None

    def _checked_arguments(self, tool: MCPToolDefinition, arguments: Wire) -> tuple[Wire, str]:
        """The arguments as the tool's schema accepts them, and their problem; empty if they are valid, or if the tool
        validates them itself.
        """
        if isinstance(tool, FullDefinition):
            return arguments, ""
        schema = tool_definition({"inputSchema": tool.input_schema})["inputSchema"]
        try:
            arguments, errors = Checker(schema).checked_arguments(arguments)
            problems = [str(error) for error in errors]
        except SchemaError as unusable:
            self._report_once(f"the input schema of {tool.name!r} cannot be used: {unusable}")
            # The tool relies on the validation, which such arguments may be crafted to prevent.
            problems = [f"not checked: {unusable}"] if isinstance(unusable, SchemaCostError) else []
        details = [f"- {problem}" for problem in problems]
        return arguments, explain(tool.name, details, schema, arguments) if problems else ""

    def _report_once(self, problem: str) -> None:
        if problem not in self._reported:
            self._reported.add(problem)
            self._report(problem)

    def _announce(self, change: Change) -> None:
        """The manager's tools may have changed: announce it if they differ from the last list."""
        known = self._known_tools() if self._listed is not None else None
        is_new = known is not None and ("tools" in change.lists or known != self._listed)
        if is_new:
            self._listed = known
        self._listeners.announce(Change(("tools",)) if is_new else Change(description=True))


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
