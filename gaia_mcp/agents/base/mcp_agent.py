"""`MCPAgent`: the base class of agents that can be served as an MCP server.

Its tools are the methods that are marked with `@tool`, or what two methods of GAIA's documents describe and run. Any
other class with these two can be served as well; this one adds defaults, and an error when there is neither.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from gaia_mcp.agents.base.agent import Agent
from gaia_mcp.agents.base.marks import PromptMark, ResourceMark, has_marks, marked, read_once
from gaia_mcp.agents.base.tools import marks_of

Method = TypeVar("Method", bound=Callable[..., Any])

# An agent has this attribute once it is served: the listeners to its changes.
_LISTENERS = "_mcp_listeners"

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.agents.base.method_features import MethodFeatures
    from gaia_mcp.server.provider import Listener

    def _required(method: Method) -> Method:
        """To a type checker they are ordinary methods: it does not see that a mark makes them complete."""
        return method
else:
    _required = abstractmethod


class MCPAgent(Agent, ABC):
    """An agent whose tools, prompts and resources can be served: GAIA's documents, MCPAgent.

    A subclass marks methods with `@tool`, `@prompt` or `@resource`, or defines `get_mcp_tool_definitions` and
    `execute_mcp_tool`, which then decide; they may call those of this class for the marked methods. A marked method,
    and `execute_mcp_tool`, may be `async def`: the server runs them on an event loop in a thread of its own.

    Methods that are marked with `@prompt` and `@resource` are offered beside what the following methods offer.

    More methods are used if an agent has them: `get_mcp_prompt(name, arguments)` returns a prompt's text, its messages
    or a complete `prompts/get` result; `read_mcp_resource(uri)` a resource's text, bytes, JSON value or a complete
    `resources/read` result; `complete_mcp_argument(ref, argument, typed, given)` the values that complete what a person
    has typed of an argument, where `ref` is that of MCP and `given` has the other arguments; `get_mcp_refusal(
    tool_name, problem)` what a tool returns for arguments that do not fit its schema, instead of `problem` as a text.

    `tools_changed`, `prompts_changed`, `resources_changed` and `resource_updated` announce changes to the clients that
    have subscribed. They may be called from any thread, and return at once; a list that changes a thousand times a
    second is announced about ten times.

    `max_calls` is how many of its calls may run at once; more of them wait. None stands for the server's own limit.

    Clients may keep the lists for `list_ttl_ms` milliseconds, for everyone if `list_cache_scope` is "public". Either is
    one value for all lists, or a mapping from "tools", "prompts", "resources" and "templates" to values.

    `skills_folder` has the skills that clients may read: each of its folders with a SKILL.md is one. It is relative to
    the file of the class that names it.
    """

    max_calls: int | None = None
    list_ttl_ms: int | Mapping[str, int] | None = None
    list_cache_scope: str | Mapping[str, str] = ""
    skills_folder: str | Path | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not has_marks(cls):
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

    def tools_changed(self) -> None:
        """Announce that there are other tools now, or that the definition of one is another one."""
        _announce(self, lists=("tools",))

    def prompts_changed(self) -> None:
        """Announce that there are other prompts now, or that the definition of one is another one."""
        _announce(self, lists=("prompts",))

    def resources_changed(self) -> None:
        """Announce that there are other resources or templates now, or that one is described differently."""
        _announce(self, lists=("resources",))

    def resource_updated(self, uri: str) -> None:
        """Announce, to the clients that have subscribed to this resource, that its contents have changed. The URI has
        to be equal to the one of the subscription. Raises `TypeError` if it is not a text.
        """
        if not isinstance(uri, str):
            raise TypeError(f"resource_updated() needs the URI of the resource, not {uri!r}")
        _announce(self, uris=(uri,))

    def on_mcp_change(self, listener: Listener) -> Callable[[], None]:
        """For the server: call `listener` with each change. Returns a function that ends this."""
        from gaia_mcp.server.provider import Listeners

        ending: Callable[[], None] = vars(self).setdefault(_LISTENERS, Listeners()).add(listener)
        return ending

    def get_mcp_changing_lists(self) -> list[str]:
        """For the server: of "prompts" and "resources", those that a subclass has a method of its own for. They may be
        empty now and not later.
        """
        methods = {
            "prompts": ("get_mcp_prompts",),
            "resources": ("get_mcp_resources", "get_mcp_resource_templates"),
        }
        own = {name for name in sum(methods.values(), ()) if getattr(type(self), name) is not getattr(MCPAgent, name)}
        return [kind for kind, names in methods.items() if not own.isdisjoint(names)]

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

    def get_mcp_tool_scopes(self) -> Mapping[str, Sequence[str]]:
        """The scopes that the calls of tools need of their caller's access token, by the names of the tools.

        Here, those of the marked methods.
        """
        return {mark.name or method: mark.scopes for method, mark in marks_of(type(self)).items() if mark.scopes}

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

    def get_mcp_skills(self) -> Sequence[str | Path]:
        """The folders of the skills, each with a SKILL.md. Here, those in `skills_folder`."""
        if self.skills_folder is None:
            return ()
        from gaia_mcp.agents.base.skills import skills_of

        return skills_of(type(self), self.skills_folder)

    def get_mcp_features(self) -> MethodFeatures | None:
        """The methods marked with `@prompt` or `@resource`, for the server; None if the class has no such method."""
        return read_once(type(self), "_mcp_features", _features)

    def get_mcp_server_info(self) -> dict[str, Any]:
        """Name and version of the server; `description`, `title` and `instructions` may be added."""
        return {"name": f"GAIA {type(self).__name__}", "version": "2.0.0"}


def _features(kind: type) -> MethodFeatures | None:
    if not marked(kind, PromptMark) and not marked(kind, ResourceMark):
        return None
    from gaia_mcp.agents.base.method_features import features_of

    return features_of(kind)


def _announce(agent: MCPAgent, lists: tuple[str, ...] = (), uris: tuple[str, ...] = ()) -> None:
    if (listeners := vars(agent).get(_LISTENERS)) is not None:
        from gaia_mcp.server.provider import Change

        listeners.announce(Change(lists, uris))


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
