"""An agent as a provider: any object with `get_mcp_tool_definitions` and `execute_mcp_tool`.

Owns its tools (their list, and calls of them with validated arguments) and the completion of arguments; what it offers
to read is in `agent_features`.

Completes its definitions, validates the arguments of calls, and converts return values to MCP results. Everything here
runs the agent's own code and raises whatever that code raises.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Container, Iterable, Sequence, Sized
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from gaia_mcp.asking import Call, CallCancelledError, enter_call
from gaia_mcp.checking import Checker
from gaia_mcp.protocol.envelope import SKILLS_EXTENSION, TASKS_EXTENSION
from gaia_mcp.protocol.input_required import MissingCapabilityError
from gaia_mcp.protocol.server import Description
from gaia_mcp.server.agent_code import AgentCode, TextMethod
from gaia_mcp.server.agent_features import AgentPrompts, AgentResources, AgentSkills
from gaia_mcp.server.definitions import (
    check_task,
    described_agent,
    json_problem,
    page_of,
    task_support,
    tool_definition,
)
from gaia_mcp.server.outcomes import OnFailure, note_failure, raised
from gaia_mcp.server.provider import (
    LISTS,
    Announcer,
    Change,
    Listener,
    Listeners,
    RequestError,
    method_not_found,
    require_scopes,
    unknown_tool,
)
from gaia_mcp.server.results import Validator, call_result, failure, failure_of
from gaia_mcp.toolspec.validation import InvalidArgumentsError, SchemaCostError, SchemaError, report

# The specification's limit on `completion.values`.
MAX_VALUES = 100
_REFERENCES = {"ref/prompt": "name", "ref/resource": "uri"}
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


class AgentCompletions:
    """Completes with marked methods, else with the agent's own `complete_mcp_argument`."""

    def __init__(self, code: AgentCode, prompts: AgentPrompts, resources: AgentResources) -> None:
        self._code = code
        self._prompts = prompts
        self._resources = resources

    def exist(self) -> bool:
        """Whether the agent supports completion."""
        features = self._code.features()
        has_arguments = any(prompt.definition["arguments"] for prompt in features.prompts.values())
        return has_arguments or bool(features.templates) or self._completes_itself()

    def complete(self, params: Wire, call: Call) -> Wire:
        """The result of `completion/complete`. A completer that raises gives no values: completion only aids typing."""
        if not self.exist():
            raise method_not_found("completion/complete")
        ref, of, name, typed, given = _asked(params)
        marked = self._marked(ref["type"], of)
        try:
            if marked is not None:
                found = marked.completions(self._code.agent, name, typed, given)
            elif self._completes_itself():
                found = self._code.agent.complete_mcp_argument(dict(ref), name, typed, given)
            else:
                found = ()
            if found is not None:
                return {"completion": _completion(self._code.awaited(found, call))}
        except (CallCancelledError, MissingCapabilityError):
            raise
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 (the author's code)
            self._code.on_failure(f"the completion of {name!r} of {of!r} raised {raised(error)}", error)
            return {"completion": _completion(())}
        raise RequestError(f"{of!r} has no {name!r} to complete")

    def _marked(self, kind: str, of: str) -> TextMethod | None:
        """The marked method of the reference; None if the agent's own methods define it."""
        features = self._code.features()
        found = (features.prompts if kind == "ref/prompt" else features.templates).get(of)
        if found is not None:
            return found.text
        if kind == "ref/prompt":
            is_known = any(prompt["name"] == of for prompt in self._prompts.definitions())
        else:
            is_known = any(template["uriTemplate"] == of for template in self._resources.templates())
        if not is_known:
            raise RequestError(f"Unknown prompt: {of}" if kind == "ref/prompt" else f"Unknown resource template: {of}")
        return None

    def _completes_itself(self) -> bool:
        return callable(getattr(self._code.agent, "complete_mcp_argument", None))


def _asked(params: Wire) -> tuple[Wire, str, str, str, dict[str, str]]:
    """The reference, its name or URI, the argument's name, its value so far, and the other arguments.

    Raises `RequestError`.
    """
    ref, argument, context = params.get("ref"), params.get("argument"), params.get("context")
    key = _REFERENCES.get(str(ref.get("type"))) if isinstance(ref, dict) else None
    if not isinstance(ref, dict) or key is None or not isinstance(of := ref.get(key), str):
        raise RequestError("completion/complete needs params.ref, with the name of a prompt or the uri of a template")
    name, typed = (argument.get("name"), argument.get("value")) if isinstance(argument, dict) else (None, None)
    if not isinstance(name, str) or not isinstance(typed, str):
        raise RequestError("completion/complete needs params.argument, with a name and a value, both texts")
    given = context.get("arguments") if isinstance(context, dict) else None
    given = {key: text for key, text in given.items() if isinstance(text, str)} if isinstance(given, dict) else {}
    return ref, of, name, typed, given


def _completion(found: Any) -> Wire:
    """MCP's `completion` for the return value of an author's function."""
    found = [found] if isinstance(found, str) else () if found is None else found
    values = [str(value) for value in islice(found, MAX_VALUES + 1)]
    completion: Wire = {"values": values[:MAX_VALUES], "hasMore": len(values) > MAX_VALUES}
    if isinstance(found, Sized):
        completion["total"] = len(found)
    return completion


class AgentProvider:
    """Serves `agent`; `replace_agent` replaces it.

    `report` is called once with every problem of the agent's definitions: when the definition is read, or, for a
    schema, when it is first used. `on_failure` is called with every exception of a tool. `list_changes` declares the
    `listChanged` capabilities; pass it if the agent will be replaced. An agent that announces changes itself does not
    need it.
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
        self._announcer = Announcer(self._listeners.announce, self._listeners)
        self._served = _ServedAgent(agent, report, on_failure)
        self._served.listen(self._announcer.announce)
        # Guards the count of running requests per agent, and the replacement of the agent.
        self._lock = threading.Lock()

    @property
    def problems(self) -> list[str]:
        """The problems found in the agent's definitions so far."""
        return self._served.code.problems

    def describe(self) -> Description:
        """Name, version, capabilities and instructions."""
        return self._served.describe(list_changes=self._list_changes)

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        """Answer a request. The agent's code runs with `call` as its current call.

        Raises `RequestError`, `CallCancelledError`, and any exception that the agent raises outside a tool.
        """
        with self._lock:
            served = self._served
            served.running += 1
        enter_call(call)
        try:
            if (answer := served.answers.get(method)) is None:
                raise method_not_found(method)
            return answer(params, call)
        finally:
            enter_call(None)
            with self._lock:
                served.running -= 1
                is_last = served is not self._served and not served.running
            if is_last:
                served.end()

    def open(self) -> None:
        """Open the agent's resources for the server's lifetime; `close` closes them. Raises what the agent raises."""
        self._served.begin()

    def on_change(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        """Call `listener` after each announced change and each replacement. Returns a function that removes it."""
        return self._listeners.add(listener, wanted)

    def replace_agent(self, agent: Any) -> None:
        """Serve this agent from now on. Running requests are finished by the agent that started them.

        Raises whatever the new agent raises while it is described or opened; the old agent then stays in use.
        """
        served = _ServedAgent(agent, self._report, self._on_failure)
        served.describe()
        if self._served.is_open:
            served.begin()
        with self._lock:
            earlier, self._served = self._served, served
            is_unused = not earlier.running
        earlier.stop_listening()
        served.listen(self._announcer.announce)
        # The new agent may have other contents for every resource, so clients must read each again.
        self._announcer.announce(Change(LISTS, tuple(self._listeners.uris())))
        earlier.code.loop.retire()
        if is_unused:
            earlier.end()

    def close(self) -> None:
        """Close the agent if it was opened, cancel the tools on its event loop, and stop the loop."""
        self._served.stop_listening()
        self._announcer.close()
        self._served.end()
        self._served.code.loop.close()


class _ServedAgent:
    """One agent."""

    def __init__(self, agent: Any, report: Callable[[str], None], on_failure: OnFailure) -> None:
        self.code = AgentCode(agent, report, on_failure)
        self.tools = AgentTools(self.code)
        self.prompts = AgentPrompts(self.code)
        self.skills = AgentSkills(self.code)
        self.resources = AgentResources(self.code, self.skills)
        self.completions = AgentCompletions(self.code, self.prompts, self.resources)
        # The supported methods; any other is answered with METHOD_NOT_FOUND.
        self.answers: dict[str, Callable[[Wire, Call], Wire]] = {
            "tools/list": self.tools.listed,
            "tools/call": self.tools.call,
            "prompts/list": self.prompts.listed,
            "prompts/get": self.prompts.get,
            "resources/list": self.resources.listed,
            "resources/templates/list": self.resources.list_templates,
            "resources/read": self.resources.read,
            "completion/complete": self.completions.complete,
            "skills/list": self.skills.listed,
            "skills/get": self.skills.get,
            "resources/directory/read": self.skills.read_folder,
        }
        self._on_change = getattr(agent, "on_mcp_change", None)
        self.stop_listening: Callable[[], None] = lambda: None
        self.running = 0
        self.is_open = False
        self._ending = threading.Lock()

    def listen(self, listener: Listener) -> None:
        if callable(self._on_change):
            self.stop_listening = self._on_change(listener)

    def begin(self) -> None:
        self.code.awaited(self.code.optional("begin_mcp"), Call())
        self.is_open = True

    def end(self) -> None:
        # Held until the agent is closed, so that a second `end` (a signal and the end of stdin may arrive together)
        # closes the event loop only after that.
        with self._ending:
            was_open, self.is_open = self.is_open, False
            if not was_open:
                return
            try:
                self.code.awaited(self.code.optional("end_mcp"), Call())
            except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 (the server ends all the same)
                self.code.on_failure(f"closing the agent raised {raised(error)}", error)

    def describe(self, *, list_changes: bool = False) -> Description:
        info = self.code.optional("get_mcp_server_info")
        info = described_agent(type(self.code.agent), info if isinstance(info, dict) else {}, self.code.note)
        shown: Wire = {"name": info["name"], "version": info["version"]}
        shown.update({key: info[key] for key in ("title", "description", "websiteUrl", "icons") if info.get(key)})
        announces = callable(self._on_change)
        features = {"listChanged": True} if list_changes or announces else {}
        capabilities: Wire = {"tools": features, "logging": {}, "extensions": {TASKS_EXTENSION: {}}}
        changing = self.code.optional("get_mcp_changing_lists") or ()
        if self.prompts.exist() or "prompts" in changing:
            capabilities["prompts"] = features
        if self.resources.exist() or "resources" in changing:
            capabilities["resources"] = {"subscribe": True, **features} if announces else features
        if self.skills.exist():
            capabilities["extensions"][SKILLS_EXTENSION] = {"directoryRead": True}
        if self.completions.exist():
            capabilities["completions"] = {}
        return Description(shown, capabilities, str(info.get("instructions") or ""))
