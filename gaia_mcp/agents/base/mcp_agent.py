"""`MCPAgent`: the base class of agents that can be served as an MCP server.

Its tools are the methods that are marked with `@tool`, or what two methods of GAIA's documents describe and run. Any
other class with these two can be served as well; this one adds defaults, and an error when there is neither.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from gaia_mcp.agents.base.agent import Agent
from gaia_mcp.agents.base.marks import PromptMark, ResourceMark, marked
from gaia_mcp.agents.base.tools import marks_of

Method = TypeVar("Method", bound=Callable[..., Any])

if TYPE_CHECKING:
    from gaia_mcp.agents.base.method_features import MethodFeatures

    def _required(method: Method) -> Method:
        """To a type checker they are ordinary methods: it does not see that `@tool` makes them complete."""
        return method
else:
    _required = abstractmethod


class MCPAgent(Agent, ABC):
    """An agent whose tools, prompts and resources can be served: GAIA's documents, MCPAgent.

    A subclass marks methods with `@tool`, or defines `get_mcp_tool_definitions` and `execute_mcp_tool`, which then
    decide; they may call those of this class for the marked methods. A marked method, and `execute_mcp_tool`, may be
    `async def`: the server runs them on an event loop in a thread of its own.

    Methods that are marked with `@prompt` and `@resource` are offered beside what the following methods offer.

    More methods are used if an agent has them: `get_mcp_prompt(name, arguments)` returns a prompt's text, its messages
    or a complete `prompts/get` result; `read_mcp_resource(uri)` a resource's text, bytes, JSON value or a complete
    `resources/read` result; `complete_mcp_argument(ref, argument, typed, given)` the values that complete what a person
    has typed of an argument, where `ref` is that of MCP and `given` has the other arguments; `get_mcp_refusal(
    tool_name, problem)` what a tool returns for arguments that do not fit its schema, instead of `problem` as a text.

    `max_calls` is how many of its calls may run at once; more of them wait. None stands for the server's own limit.
    """

    max_calls: int | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not marks_of(cls):
            return
        for method in (get_mcp_tool_definitions, execute_mcp_tool):
            if getattr(getattr(cls, method.__name__), "__isabstractmethod__", False):
                setattr(cls, method.__name__, method)

    def opened(self) -> Any:
        """Called before the first client is served: to open what lives as long as the server. May be `async def`.

        An exception keeps the server from starting.
        """

    def closed(self) -> Any:
        """Called once at the end of the server, if `opened` did not raise. May be `async def`. Calls have had a second
        to end by then; clients wait about two before they kill a server. With `--reload`, an agent that another one
        has replaced is closed after its last call.
        """

    def begin_mcp(self) -> Any:
        """For the server: `opened`, unless that is a tool."""
        return None if "opened" in marks_of(type(self)) else self.opened()

    def end_mcp(self) -> Any:
        """For the server: `closed`, unless that is a tool."""
        return None if "closed" in marks_of(type(self)) else self.closed()

    @_required
    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        """The tools: each a dict with `name`, `description` and `inputSchema` (JSON Schema of an object).

        Other members of MCP's `Tool` (`title`, `outputSchema`, `annotations`, `icons`) are passed on. Here, the tools
        of the marked methods, without those that `get_mcp_tool_problems` is about.
        """
        return get_mcp_tool_definitions(self)

    @_required
    def execute_mcp_tool(self, tool_name: str, arguments: dict[str, Any]) -> Any:
        """Run a tool and return its value, which the server turns into a result; a dict with a list of MCP content
        blocks under `content` is the complete result. With an `outputSchema` its `structuredContent` has to fit that.

        The arguments fit the tool's schema. A failure is an exception, or a dict with `error`, `"success": False` or
        `"status": "error"`. Raises `ValueError` for an unknown tool. Called from several threads at once.

        Here, the marked method is called with the arguments in the types of its hints; what it returns is returned
        unchanged, for an `async def` the coroutine.
        """
        return execute_mcp_tool(self, tool_name, arguments)

    def get_mcp_tool_problems(self) -> list[str]:
        """What is wrong with marked methods, above all with type hints: each with class, method and parameter. A tool,
        prompt or resource with an invalid hint is missing from the definitions.
        """
        from gaia_mcp.agents.base.method_tools import tools_of

        features = self.get_mcp_features()
        return [*tools_of(type(self)).problems, *(features.problems if features is not None else ())]

    def get_mcp_prompts(self) -> list[dict[str, Any]]:
        """The prompts: each a dict with `name`, `description` and `arguments`, and other members of MCP's `Prompt`.

        Here, and always beside those that a subclass returns, the prompts of the methods that are marked with
        `@prompt`.
        """
        features = self.get_mcp_features()
        return [_copy(prompt.definition) for prompt in features.prompts.values()] if features is not None else []

    def get_mcp_resources(self) -> list[dict[str, Any]]:
        """The resources: each a dict with `uri`, `name`, `description` and `mimeType`, and other members of MCP's
        `Resource`. Those of the methods that are marked with `@resource` as for prompts.
        """
        features = self.get_mcp_features()
        return [_copy(one.definition) for one in features.resources.values()] if features is not None else []

    def get_mcp_resource_templates(self) -> list[dict[str, Any]]:
        """The resource templates: each a dict with `uriTemplate`, `name`, `description` and `mimeType`. Those of marked
        methods as for prompts; `read_mcp_resource` is called for a URI of any other template.
        """
        features = self.get_mcp_features()
        return [_copy(one.definition) for one in features.templates.values()] if features is not None else []

    def get_mcp_features(self) -> MethodFeatures | None:
        """The methods marked with `@prompt` or `@resource`, for the server; None if the class has no such method."""
        kind = type(self)
        if not marked(kind, PromptMark) and not marked(kind, ResourceMark):
            return None
        from gaia_mcp.agents.base.method_features import features_of

        return features_of(kind)

    def get_mcp_server_info(self) -> dict[str, Any]:
        """Name and version of the server; `description`, `title` and `instructions` may be added."""
        return {"name": f"GAIA {type(self).__name__}", "version": "2.0.0"}


def _copy(definition: dict[str, Any]) -> dict[str, Any]:
    from copy import deepcopy

    return deepcopy(definition)


def get_mcp_tool_definitions(agent: MCPAgent) -> list[dict[str, Any]]:
    """The definitions of the marked methods, as copies."""
    from gaia_mcp.agents.base.method_tools import tools_of

    return [_copy(tool.definition) for tool in tools_of(type(agent)).tools.values()]


def execute_mcp_tool(agent: MCPAgent, tool_name: str, arguments: dict[str, Any]) -> Any:
    """Call a marked method."""
    from gaia_mcp.agents.base.method_tools import tools_of

    tool = tools_of(type(agent)).tools.get(tool_name)
    if tool is None:
        raise ValueError(f"Unknown tool: {tool_name}")
    return tool.call(agent, arguments)
