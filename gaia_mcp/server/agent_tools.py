"""The tools of an agent: their list, and calls of them with validated arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.asking import Call, CallCancelledError
from gaia_mcp.checking.checker import Checker
from gaia_mcp.protocol.questions import MissingCapabilityError
from gaia_mcp.server.definitions import check_task, json_problem, page_of, task_support, tool_definition
from gaia_mcp.server.failures import raised
from gaia_mcp.server.provider import RequestError, unknown_tool
from gaia_mcp.server.results import Validator, call_result, failure, failure_of
from gaia_mcp.server.scopes import require_scopes
from gaia_mcp.toolspec.validation import InvalidArgumentsError, SchemaCostError, SchemaError, report

if TYPE_CHECKING:
    from gaia_mcp.server.agent_code import AgentCode

Wire = dict[str, Any]


class _Tool(NamedTuple):
    definition: Wire
    checker: Checker
    validate_output: Validator | None
    task: str | None
    scopes: Sequence[str]


class AgentTools:
    """The tools as they were last read. Reads them on creation, and raises whatever the agent raises."""

    def __init__(self, code: AgentCode) -> None:
        self._code = code
        self._tools: dict[str, _Tool] = {}
        self._read_tools()

    def listed(self, params: Wire, _: Call) -> Wire:
        """The result of `tools/list`."""
        self._read_tools()
        page = page_of("tools", [tool.definition for tool in self._tools.values()], "name", params)
        return {**self._code.list_caching("tools"), **page}

    def call(self, params: Wire, call: Call) -> Wire:
        """The result of `tools/call`."""
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str):
            raise RequestError("tools/call needs params.name, a string")
        if not isinstance(arguments, dict):
            raise RequestError("tools/call needs params.arguments to be an object")
        tool = self._tools.get(name)
        if tool is None:
            self._read_tools()
            tool = self._tools.get(name)
        if tool is None:
            raise unknown_tool(name)
        if tool.scopes:
            require_scopes(call.scopes, tool.scopes)
        if tool.task is not None:
            check_task(name, tool.definition, call)
        arguments, invalid = self._checked_arguments(name, tool, arguments, call)
        if invalid is not None:
            return invalid
        if tool.task is not None:
            call.continue_as_task(required=tool.task == "required")
        try:
            value = self._code.awaited(self._code.agent.execute_mcp_tool(name, arguments), call)
            return call_result(name, value, tool.validate_output)
        except (CallCancelledError, MissingCapabilityError, RequestError):
            raise
        except InvalidArgumentsError as error:
            return self._refusal(name, tool, arguments, error.problems, call)
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 (whatever a tool raises is a result)
            if not call.ends_with_question:
                self._code.on_failure(f"tool {name!r} raised {raised(error)}", error)
            return failure_of(error)

    def _read_tools(self) -> None:
        tools: dict[str, _Tool] = {}
        scopes = self._code.optional("get_mcp_tool_scopes") or {}
        for number, defined in enumerate(self._code.agent.get_mcp_tool_definitions() or [], 1):
            name = defined.get("name") if isinstance(defined, dict) else None
            if not isinstance(name, str) or not name:
                self._code.note(f"tool {number} has no name and is left out")
            elif name in tools:
                self._code.note(f"tool {name!r} is defined twice; the first definition is used")
            elif (problem := json_problem(defined)) is not None:
                self._code.note(f"tool {name!r} is left out: its definition is not JSON: {problem}")
            else:
                definition = tool_definition(defined, self._code.note)
                output = definition.get("outputSchema")
                validate = (
                    partial(self._validation_errors, name, output, Checker(output)) if output is not None else None
                )
                checker, task = Checker(definition["inputSchema"]), task_support(definition)
                tools[name] = _Tool(definition, checker, validate, task, scopes.get(name, ()))
        for problem in self._code.optional("get_mcp_tool_problems") or []:
            self._code.note(problem)
        # Replaced in one assignment: other threads look tools up concurrently.
        self._tools = tools

    def _checked_arguments(self, name: str, tool: _Tool, arguments: Wire, call: Call) -> tuple[Wire, Wire | None]:
        """The arguments as the tool's schema accepts them, and the error result if it rejects them."""
        try:
            arguments, errors = tool.checker.checked_arguments(arguments)
        except SchemaError as unusable:
            self._code.note(f"the input schema of {name!r} cannot be used: {unusable}")
            # Refused: the tool relies on validation, and the arguments may be crafted to make it too costly.
            is_refused = isinstance(unusable, SchemaCostError)
            refusal = self._refusal(name, tool, arguments, [f"not checked: {unusable}"], call) if is_refused else None
            return arguments, refusal
        return arguments, self._refusal(name, tool, arguments, map(str, errors), call) if errors else None

    def _validation_errors(self, name: str, output: Wire, checker: Checker, value: Any) -> Sequence[object]:
        """The validation errors of a tool's result; none if its output schema is unusable."""
        # Shortcut: collecting every error takes longer than the rest of a call, and most output schemas are of objects
        # while most values are not. In older JSON Schema dialects the keywords beside `$ref` are ignored.
        if not isinstance(value, dict) and output.get("type") == "object" and "$ref" not in output:
            return ("not an object",)
        try:
            return checker.validation_errors(value)
        except SchemaError as unusable:
            self._code.note(f"the output schema of {name!r} cannot be used: {unusable}")
            return ()

    def _refusal(self, name: str, tool: _Tool, arguments: Wire, problems: Iterable[str], call: Call) -> Wire:
        """The error result for invalid arguments. Raises `RequestError` for a call that rejects them."""
        if call.rejects_arguments:
            raise RequestError(f"Invalid params: {'; '.join(problems)}")
        lines = [f"- {problem}" for problem in problems]
        text = report(name, lines, tool.definition["inputSchema"], arguments)
        refuse = getattr(self._code.agent, "get_mcp_refusal", None)
        return failure(text) if refuse is None else {**call_result(name, refuse(name, text)), "isError": True}
