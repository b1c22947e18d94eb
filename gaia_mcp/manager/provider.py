"""`ManagerProvider`: the tools of a manager as a provider, for an MCP server.

Validates the arguments of calls if the handler does not: a remote server and an agent do so themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gaia_mcp._version import __version__
from gaia_mcp.asking import Call, enter_call
from gaia_mcp.checking.checker import Checker, validation_errors
from gaia_mcp.manager.adapters import FullDefinition, failed, wire_result
from gaia_mcp.manager.router import Reason, Refusal
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
from gaia_mcp.toolspec.validation import SchemaCostError, SchemaError
from gaia_mcp.toolspec.validation import report as explain

if TYPE_CHECKING:
    from gaia_mcp.handlers.base import MCPToolDefinition, MCPToolResult
    from gaia_mcp.manager.handler_manager import MCPManager

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
