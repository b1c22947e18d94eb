"""An agent as a server sees it: its definitions made presentable, its calls checked.

Knows nothing of connections. Everything here runs an agent's own code and may raise whatever that raises.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.protocol.jsonrpc import INVALID_PARAMS, RESOURCE_NOT_FOUND
from gaia_mcp.protocol.server import Description
from gaia_mcp.server.results import call_result, failure, failure_of, prompt_result, resource_result, unsayable
from gaia_mcp.toolcall import CallCancelledError
from gaia_mcp.toolspec.schema import Checker, SchemaError

if TYPE_CHECKING:
    from collections.abc import Callable

Wire = dict[str, Any]


class RefusedError(Exception):
    """The request makes no sense: a JSON-RPC error with `code`, `data` and this text."""

    def __init__(self, text: str, code: int = INVALID_PARAMS, data: Any = None) -> None:
        super().__init__(text)
        self.code = code
        self.data = data


class _Tool(NamedTuple):
    """A tool as clients see it, and what checks its arguments."""

    definition: Wire
    checker: Checker


class ServedAgent:
    """`agent`, ours or not: whatever has the two methods. `tell` is given what is wrong with its definitions, each
    thing once, when it is met: a schema when it is first used. `problems` keeps that.
    """

    def __init__(self, agent: Any, *, list_changes: bool = False, tell: Callable[[str], None] = lambda _: None) -> None:
        self.agent = agent
        self._list_changes = list_changes
        self._tell = tell
        self._tools: dict[str, _Tool] = {}
        self.problems: list[str] = []
        self._read_tools()

    def describe(self) -> Description:
        """Name, version, capabilities and instructions."""
        info = self._optional("get_mcp_server_info")
        info = info if isinstance(info, dict) else {}
        name = str(info.get("name") or f"GAIA {type(self.agent).__name__}")
        shown: Wire = {"name": name, "version": str(info.get("version") or "2.0.0")}
        shown.update({key: info[key] for key in ("title", "description", "websiteUrl", "icons") if info.get(key)})
        offered: Wire = {"listChanged": True} if self._list_changes else {}
        capabilities: Wire = {"tools": offered, "logging": {}}
        if self._optional("get_mcp_prompts"):
            capabilities["prompts"] = offered
        if self._optional("get_mcp_resources"):
            capabilities["resources"] = offered
        return Description(shown, capabilities, str(info.get("instructions") or ""))

    def answer(self, method: str, params: Wire) -> Wire:
        """The result of a request. Raises `RefusedError`."""
        if method == "tools/call":
            return self._call(params)
        if method == "tools/list":
            self._no_cursor(params)
            self._read_tools()
            return {"tools": [tool.definition for tool in self._tools.values()]}
        if method == "prompts/list":
            self._no_cursor(params)
            return {"prompts": self._prompts()}
        if method == "prompts/get":
            return self._get_prompt(params)
        if method == "resources/list":
            self._no_cursor(params)
            return {"resources": self._resources()}
        if method == "resources/templates/list":
            self._no_cursor(params)
            return {"resourceTemplates": []}
        return self._read_resource(params)

    # Tools.

    def _read_tools(self) -> None:
        tools: dict[str, _Tool] = {}
        for number, definition in enumerate(self.agent.get_mcp_tool_definitions() or [], 1):
            name = definition.get("name") if isinstance(definition, dict) else None
            if not isinstance(name, str) or not name:
                self._note(f"tool {number} has no name and is left out")
            elif name in tools:
                self._note(f"tool {name!r} is defined twice; the first counts")
            elif (problem := unsayable(definition)) is not None:
                self._note(f"tool {name!r} is left out, JSON cannot say its definition: {problem}")
            else:
                shown = _presentable(definition)
                tools[name] = _Tool(shown, Checker(shown["inputSchema"]))
        # Replaced as a whole: calls in other threads look things up meanwhile.
        self._tools = tools

    def _note(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)
            self._tell(problem)

    def _call(self, params: Wire) -> Wire:
        name, arguments = params.get("name"), params.get("arguments", {})
        if not isinstance(name, str):
            raise RefusedError("tools/call needs params.name, a string")
        if not isinstance(arguments, dict):
            raise RefusedError("tools/call needs params.arguments to be an object")
        tool = self._tools.get(name)
        if tool is None:
            self._read_tools()
            tool = self._tools.get(name)
        if tool is None:
            raise RefusedError(f"Unknown tool: {name}")
        if (problem := self._argument_problem(name, tool, arguments)) is not None:
            return problem
        try:
            return call_result(self.agent.execute_mcp_tool(name, arguments))
        except CallCancelledError:
            raise
        except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001 (whatever a tool raises is a result)
            import traceback

            traceback.print_exc()
            return failure_of(error)

    def _argument_problem(self, name: str, tool: _Tool, arguments: Wire) -> Wire | None:
        try:
            found = tool.checker.validation_errors(arguments)
        except SchemaError as unusable:
            self._note(f"the schema of {name!r} cannot be used: {unusable}")
            return None
        if not found:
            return None
        import json

        lines = [f"The arguments do not fit the tool {name!r}:", *(f"- {problem}" for problem in found)]
        lines += [
            "Expected tool schema:",
            json.dumps(tool.definition["inputSchema"], indent=2),
            "Your arguments:",
            json.dumps(arguments, indent=2),
        ]
        return failure("\n".join(lines))

    # Prompts and resources.

    def _prompts(self) -> list[Wire]:
        prompts = [dict(prompt) for prompt in self._optional("get_mcp_prompts") or [] if _named(prompt, "name")]
        for prompt in prompts:
            given = prompt.get("arguments")
            prompt["arguments"] = [item for item in given if _named(item, "name")] if isinstance(given, list) else []
        return prompts

    def _get_prompt(self, params: Wire) -> Wire:
        name, arguments = params.get("name"), params.get("arguments") or {}
        prompt = next((prompt for prompt in self._prompts() if prompt["name"] == name), None)
        if prompt is None:
            raise RefusedError(f"Unknown prompt: {name}")
        if not isinstance(arguments, dict):
            raise RefusedError("prompts/get needs params.arguments to be an object")
        for argument in prompt["arguments"]:
            if argument.get("required") and argument["name"] not in arguments:
                raise RefusedError(f"prompt {name!r} needs the argument {argument['name']!r}")
        description = str(prompt.get("description") or "")
        get = getattr(self.agent, "get_mcp_prompt", None)
        if get is None:
            # The agent only described it: what it described is what there is to say.
            given = "".join(f"\n{key}: {value}" for key, value in arguments.items())
            return prompt_result((description or str(name)) + given, description)
        return prompt_result(get(name, arguments), description)

    def _resources(self) -> list[Wire]:
        resources = []
        for resource in self._optional("get_mcp_resources") or []:
            if _named(resource, "uri"):
                shown = {key: value for key, value in resource.items() if key not in ("text", "blob")}
                resources.append({"name": str(resource["uri"]), **shown})
        return resources

    def _read_resource(self, params: Wire) -> Wire:
        uri = params.get("uri")
        defined = [resource for resource in self._optional("get_mcp_resources") or [] if _named(resource, "uri")]
        resource = next((resource for resource in defined if resource["uri"] == uri), None)
        read = getattr(self.agent, "read_mcp_resource", None)
        if not isinstance(uri, str):
            raise RefusedError("resources/read needs params.uri, a string", data={"uri": uri})
        if resource is None and read is None:
            raise RefusedError("Resource not found", RESOURCE_NOT_FOUND, {"uri": uri})
        mime_type = resource.get("mimeType") if resource else None
        if read is None:
            text, blob = (resource.get("text"), resource.get("blob")) if resource else (None, None)
            if text is None and isinstance(blob, str):
                return resource_result({"contents": [{"uri": uri, "blob": blob}]}, uri, mime_type)
            if text is None and blob is None:
                raise RefusedError(f"the agent describes {uri} but has no read_mcp_resource()", data={"uri": uri})
            return resource_result(blob if text is None else text, uri, mime_type)
        try:
            value = read(uri)
        except (ValueError, KeyError, FileNotFoundError) as error:
            if resource is not None:
                raise  # It is there: this is something else, and worth a traceback.
            raise RefusedError(f"Resource not found: {error}", RESOURCE_NOT_FOUND, {"uri": uri}) from error
        return resource_result(value, uri, mime_type)

    def _optional(self, name: str) -> Any:
        method = getattr(self.agent, name, None)
        return method() if callable(method) else None

    def _no_cursor(self, params: Wire) -> None:
        if params.get("cursor") is not None:
            raise RefusedError("unknown cursor: every list has one page")


def _named(item: Any, key: str) -> bool:
    return isinstance(item, dict) and isinstance(item.get(key), str) and bool(item[key])


def _presentable(definition: Wire) -> Wire:
    """A definition with everything that MCP requires: GAIA's agents leave things out."""
    schema = definition.get("inputSchema")
    schema = dict(schema) if isinstance(schema, dict) else {}
    if schema.get("type") != "object":
        schema = {"type": "object", **{key: value for key, value in schema.items() if key != "type"}}
    description = definition.get("description")
    shown = {key: value for key, value in definition.items() if value is not None}
    return {
        **shown,
        "description": description if isinstance(description, str) else "",
        "inputSchema": schema,
    }
