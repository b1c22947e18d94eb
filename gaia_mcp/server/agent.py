"""An agent as a provider: any object with `get_mcp_tool_definitions` and `execute_mcp_tool`.

Completes its definitions, checks the arguments of its calls, and turns what it returns into MCP results. Everything
here runs the agent's own code and may raise whatever that raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

from gaia_mcp.checking.checker import Checker
from gaia_mcp.protocol.jsonrpc import RESOURCE_NOT_FOUND
from gaia_mcp.protocol.questions import MissingCapabilityError
from gaia_mcp.protocol.server import Description
from gaia_mcp.server.definitions import (
    check_task,
    described_agent,
    listed_resource,
    prompt_definitions,
    resource_definitions,
    tool_definition,
)
from gaia_mcp.server.event_loop import EventLoop
from gaia_mcp.server.failures import OnFailure, note_failure, raised
from gaia_mcp.server.members import json_problem
from gaia_mcp.server.provider import LISTS, Listener, Listeners, RequestError, method_not_found
from gaia_mcp.server.results import Misfits, call_result, failure, failure_of, prompt_result, resource_result
from gaia_mcp.toolcall import CallCancelledError, ToolCall, enter_call
from gaia_mcp.toolspec.invalid_arguments import InvalidArgumentsError, report
from gaia_mcp.toolspec.validation import SchemaCostError, SchemaError

Wire = dict[str, Any]


class AgentProvider:
    """Serves `agent`, which another one may replace.

    `report` is called with every problem of the agent's definitions, once: when the definition is read, or, for a
    schema, when it is first used; `on_failure` with every exception of a tool. `list_changes` declares that the lists
    may change, as they do with another agent.
    """

    def __init__(
        self,
        agent: Any,
        *,
        list_changes: bool = False,
        report: Callable[[str], None] = lambda _: None,
        on_failure: OnFailure = note_failure,
    ) -> None:
        self._list_changes = list_changes
        self._report = report
        self._on_failure = on_failure
        self._listeners = Listeners()
        self._served = _ServedAgent(agent, report, on_failure)

    @property
    def problems(self) -> list[str]:
        """The problems of the agent's definitions that have been met so far."""
        return self._served.problems

    def describe(self) -> Description:
        """Name, version, capabilities and instructions."""
        return self._served.describe({"listChanged": True} if self._list_changes else {})

    def answer(self, method: str, params: Wire, call: ToolCall) -> Wire:
        """The result of a request, for which the agent's code runs with `call` as its current call.

        Raises `RequestError`, `CallCancelledError`, and whatever the agent raises outside of a tool.
        """
        answer = _ANSWERS.get(method)
        if answer is None:
            raise method_not_found(method)
        enter_call(call)
        try:
            return answer(self._served, params, call)
        finally:
            enter_call(None)

    def on_change(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` after every replacement. Returns a function that ends this."""
        return self._listeners.add(listener)

    def replace_agent(self, agent: Any) -> None:
        """Serve this agent from now on. Requests that are being answered end with the agent that they began with.

        Raises whatever the agent raises while it is described; the earlier agent then stays.
        """
        served = _ServedAgent(agent, self._report, self._on_failure)
        served.describe({})
        earlier, self._served = self._served, served
        self._listeners.announce(*LISTS)
        earlier.loop.retire()

    def close(self) -> None:
        """Cancel the tools that run on the agent's event loop, and end that."""
        self._served.loop.close()


class _Tool(NamedTuple):
    definition: Wire
    checker: Checker
    misfits: Misfits | None


class _ServedAgent:
    """One agent, with its tools as they were last read."""

    def __init__(self, agent: Any, report: Callable[[str], None], on_failure: OnFailure) -> None:
        self._agent = agent
        self._report = report
        self._on_failure = on_failure
        self._tools: dict[str, _Tool] = {}
        self.loop = EventLoop()
        self.problems: list[str] = []
        self._read_tools()

    def describe(self, features: Wire) -> Description:
        info = self._optional("get_mcp_server_info")
        info = described_agent(type(self._agent), info if isinstance(info, dict) else {}, self._note)
        shown: Wire = {"name": info["name"], "version": info["version"]}
        shown.update({key: info[key] for key in ("title", "description", "websiteUrl", "icons") if info.get(key)})
        capabilities: Wire = {"tools": features, "logging": {}}
        if self._optional("get_mcp_prompts"):
            capabilities["prompts"] = features
        if self._optional("get_mcp_resources"):
            capabilities["resources"] = features
        return Description(shown, capabilities, str(info.get("instructions") or ""))

    # Tools.

    def list_tools(self, params: Wire, _: ToolCall) -> Wire:
        _refuse_cursor(params)
        self._read_tools()
        return {"tools": [tool.definition for tool in self._tools.values()]}

    def call_tool(self, params: Wire, call: ToolCall) -> Wire:
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
            raise RequestError(f"Unknown tool: {name}")
        check_task(name, tool.definition, call)
        if (invalid := self._invalid_arguments(name, tool, arguments)) is not None:
            return invalid
        try:
            value = self._awaited(self._agent.execute_mcp_tool(name, arguments), call)
            return call_result(name, value, tool.misfits)
        except (CallCancelledError, MissingCapabilityError):
            raise
        except InvalidArgumentsError as error:
            return self._refusal(name, tool, arguments, error.problems)
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 (whatever a tool raises is a result)
            self._on_failure(f"tool {name!r} raised {raised(error)}", error)
            return failure_of(error)

    def _read_tools(self) -> None:
        tools: dict[str, _Tool] = {}
        for number, defined in enumerate(self._agent.get_mcp_tool_definitions() or [], 1):
            name = defined.get("name") if isinstance(defined, dict) else None
            if not isinstance(name, str) or not name:
                self._note(f"tool {number} has no name and is left out")
            elif name in tools:
                self._note(f"tool {name!r} is defined twice; the first definition is used")
            elif (problem := json_problem(defined)) is not None:
                self._note(f"tool {name!r} is left out: its definition is not JSON: {problem}")
            else:
                definition = tool_definition(defined, self._note)
                output = definition.get("outputSchema")
                misfits = partial(self._misfits, name, Checker(output)) if output is not None else None
                tools[name] = _Tool(definition, Checker(definition["inputSchema"]), misfits)
        for problem in self._optional("get_mcp_tool_problems") or []:
            self._note(problem)
        # Replaced at once: calls in other threads look tools up meanwhile.
        self._tools = tools

    def _note(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)
            self._report(problem)

    def _invalid_arguments(self, name: str, tool: _Tool, arguments: Wire) -> Wire | None:
        """The result for arguments that do not fit the tool's schema, None if they do."""
        try:
            errors = tool.checker.validation_errors(arguments)
        except SchemaError as unusable:
            self._note(f"the input schema of {name!r} cannot be used: {unusable}")
            # The tool counts on the check, which such arguments may be meant to prevent.
            is_refused = isinstance(unusable, SchemaCostError)
            return self._refusal(name, tool, arguments, [f"not checked: {unusable}"]) if is_refused else None
        return self._refusal(name, tool, arguments, map(str, errors)) if errors else None

    def _misfits(self, name: str, output: Checker, value: Any) -> Sequence[object]:
        """What is wrong with the result of a tool; nothing if its output schema cannot be used."""
        try:
            return output.validation_errors(value)
        except SchemaError as unusable:
            self._note(f"the output schema of {name!r} cannot be used: {unusable}")
            return ()

    def _refusal(self, name: str, tool: _Tool, arguments: Wire, problems: Iterable[str]) -> Wire:
        """The result for arguments that the tool does not take."""
        lines = [f"- {problem}" for problem in problems]
        text = report(name, lines, tool.definition["inputSchema"], arguments)
        refuse = getattr(self._agent, "get_mcp_refusal", None)
        return failure(text) if refuse is None else {**call_result(name, refuse(name, text)), "isError": True}

    # Prompts and resources.

    def list_prompts(self, params: Wire, _: ToolCall) -> Wire:
        _refuse_cursor(params)
        return {"prompts": prompt_definitions(self._optional("get_mcp_prompts"), self._note)}

    def get_prompt(self, params: Wire, call: ToolCall) -> Wire:
        name, arguments = params.get("name"), params.get("arguments") or {}
        prompts = prompt_definitions(self._optional("get_mcp_prompts"), self._note)
        prompt = next((prompt for prompt in prompts if prompt["name"] == name), None)
        if prompt is None:
            raise RequestError(f"Unknown prompt: {name}")
        if not isinstance(arguments, dict):
            raise RequestError("prompts/get needs params.arguments to be an object")
        for argument in prompt["arguments"]:
            if argument.get("required") and argument["name"] not in arguments:
                raise RequestError(f"prompt {name!r} needs the argument {argument['name']!r}")
        description = str(prompt.get("description") or "")
        get = getattr(self._agent, "get_mcp_prompt", None)
        if get is None:
            # GAIA's own agents describe prompts without a method to get one: the description is the prompt.
            given = "".join(f"\n{key}: {value}" for key, value in arguments.items())
            return prompt_result((description or str(name)) + given, description)
        return prompt_result(self._awaited(get(name, arguments), call), description)

    def list_resources(self, params: Wire, _: ToolCall) -> Wire:
        _refuse_cursor(params)
        defined = resource_definitions(self._optional("get_mcp_resources"))
        return {"resources": [listed_resource(resource, self._note) for resource in defined]}

    def list_templates(self, params: Wire, _: ToolCall) -> Wire:
        _refuse_cursor(params)
        return {"resourceTemplates": []}

    def read_resource(self, params: Wire, call: ToolCall) -> Wire:
        uri = params.get("uri")
        if not isinstance(uri, str):
            raise RequestError("resources/read needs params.uri, a string")
        defined = resource_definitions(self._optional("get_mcp_resources"))
        resource = next((resource for resource in defined if resource["uri"] == uri), None)
        read = getattr(self._agent, "read_mcp_resource", None)
        mime_type = resource.get("mimeType") if resource else None
        if read is None:
            if resource is None:
                raise _not_found(uri)
            return _defined_contents(resource, uri, mime_type)
        try:
            value = self._awaited(read(uri), call)
        except (ValueError, KeyError, FileNotFoundError) as error:
            if resource is not None:
                raise  # The resource exists: this is a bug, worth a traceback.
            raise RequestError(f"Resource not found: {error}", RESOURCE_NOT_FOUND, {"uri": uri}) from error
        if value is None and resource is None:
            raise _not_found(uri)
        result = resource_result(value, uri, mime_type)
        if not result["contents"]:
            raise _not_found(uri)
        return result

    def _awaited(self, value: Any, call: ToolCall) -> Any:
        """`value`, or what comes of it if it is to be awaited."""
        return self.loop.run(value, call) if hasattr(value, "__await__") else value

    def _optional(self, name: str) -> Any:
        method = getattr(self._agent, name, None)
        return method() if callable(method) else None


# What an agent answers; a method that is not here is refused, whatever capability it belongs to.
_ANSWERS: dict[str, Callable[[_ServedAgent, Wire, ToolCall], Wire]] = {
    "tools/list": _ServedAgent.list_tools,
    "tools/call": _ServedAgent.call_tool,
    "prompts/list": _ServedAgent.list_prompts,
    "prompts/get": _ServedAgent.get_prompt,
    "resources/list": _ServedAgent.list_resources,
    "resources/templates/list": _ServedAgent.list_templates,
    "resources/read": _ServedAgent.read_resource,
}


def _refuse_cursor(params: Wire) -> None:
    if params.get("cursor") is not None:
        raise RequestError("unknown cursor: every list has one page")


def _not_found(uri: str) -> RequestError:
    return RequestError("Resource not found", RESOURCE_NOT_FOUND, {"uri": uri})


def _defined_contents(resource: Wire, uri: str, mime_type: str | None) -> Wire:
    """The result for contents that stand in the resource's definition; a blob that is a string is base64."""
    text, blob = resource.get("text"), resource.get("blob")
    if text is not None:
        return resource_result(text, uri, mime_type)
    if isinstance(blob, str):
        return resource_result({"contents": [{"uri": uri, "blob": blob}]}, uri, mime_type)
    if blob is not None:
        return resource_result(blob, uri, mime_type)
    raise RequestError(f"the agent describes {uri} but has no read_mcp_resource()", data={"uri": uri})
