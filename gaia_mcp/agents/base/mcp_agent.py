"""`MCPAgent`: the base class of agents that can be served as an MCP server.

Its tools are the methods marked with `@tool`, or those that `get_mcp_tool_definitions` and `execute_mcp_tool` describe
and run, as documented by GAIA. Any class with these two methods can be served; `MCPAgent` adds defaults, and cannot be
instantiated without either.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gaia_mcp.agents.base.agent import Agent
from gaia_mcp.agents.base.tools import PromptMark, ResourceMark, has_marks, marked, marks_of, read_once

Method = TypeVar("Method", bound=Callable[..., Any])

# The attribute of a served agent that contains the listeners to its changes.
_LISTENERS = "_mcp_listeners"

if TYPE_CHECKING:
    from gaia_mcp.agents.base.methods import MethodFeatures, MethodTools
    from gaia_mcp.server.provider import Listener

    def _required(method: Method) -> Method:
        """Not abstract for a type checker, which does not know that a marked method implements them."""
        return method
else:
    _required = abstractmethod


class MCPAgent(Agent, ABC):
    """An agent whose tools, prompts and resources can be served. Part of GAIA's documented interface.

    A subclass marks methods with `@tool`, `@prompt` or `@resource`, or overrides `get_mcp_tool_definitions` and
    `execute_mcp_tool`, which then replace the marked tools; they may call `super()` for these. A marked method and
    `execute_mcp_tool` may be `async def`: the server runs them on an event loop in a separate thread.

    Prompts and resources of marked methods are offered in addition to those of the methods below.

    An agent may define more methods: `get_mcp_prompt(name, arguments)` returns a prompt's text, its messages or a
    complete `prompts/get` result; `read_mcp_resource(uri)` a resource's text, bytes, JSON value or a complete
    `resources/read` result; `complete_mcp_argument(ref, argument, typed, given)` the completions of the text typed for
    an argument, where `ref` is MCP's reference and `given` has the other arguments; `get_mcp_refusal(tool_name,
    problem)` the result for arguments that do not match the tool's schema, instead of the text `problem`.

    `tools_changed`, `prompts_changed`, `resources_changed` and `resource_updated` notify the subscribed clients of
    changes. They may be called from any thread and do not block. Frequent changes of a list are merged into about ten
    notifications per second.

    `max_calls` limits the number of concurrent calls; further calls wait. None stands for the server's limit.

    Clients may cache the lists for `list_ttl_ms` milliseconds, and share them between users if `list_cache_scope` is
    "public". Either is one value for all lists, or a mapping from "tools", "prompts", "resources" and "templates" to
    values.

    `skills_folder` contains the skills that clients may read: each subfolder with a SKILL.md is one. It is relative to
    the file of the class that defines it.
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
        """Called before the first client is served, to open resources that the agent needs until the server ends.

        May be `async def`. If it raises, the server does not start.
        """

    def closed(self) -> Any:
        """Called once when the server ends, if `opened` did not raise. May be `async def`.

        Running calls have had one second to end by then; clients kill a server after about two. With `--reload`, a
        replaced agent is closed after its last call.
        """

    def begin_mcp(self) -> Any:
        """For the server: call `opened`, unless a tool has this name."""
        return None if "opened" in marks_of(type(self)) else self.opened()

    def end_mcp(self) -> Any:
        """For the server: call `closed`, unless a tool has this name."""
        return None if "closed" in marks_of(type(self)) else self.closed()

    def tools_changed(self) -> None:
        """Announce that tools were added or removed, or that a definition changed."""
        _announce(self, lists=("tools",))

    def prompts_changed(self) -> None:
        """Announce that prompts were added or removed, or that a definition changed."""
        _announce(self, lists=("prompts",))

    def resources_changed(self) -> None:
        """Announce that resources or templates were added or removed, or that a definition changed."""
        _announce(self, lists=("resources",))

    def resource_updated(self, uri: str) -> None:
        """Notify the clients that subscribed to exactly this URI that the resource's contents changed.

        Raises `TypeError` if the URI is not a string.
        """
        if not isinstance(uri, str):
            raise TypeError(f"resource_updated() needs the URI of the resource, not {uri!r}")
        _announce(self, uris=(uri,))

    def on_mcp_change(self, listener: Listener) -> Callable[[], None]:
        """For the server: call `listener` with each change. Returns a function that removes it."""
        from gaia_mcp.server.provider import Listeners

        ending: Callable[[], None] = vars(self).setdefault(_LISTENERS, Listeners()).add(listener)
        return ending

    def get_mcp_changing_lists(self) -> list[str]:
        """For the server: which of the lists "prompts" and "resources" a subclass overrides. An empty list of these may
        get entries later.
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

        Other members of MCP's `Tool` (`title`, `outputSchema`, `annotations`, `icons`) are passed on. By default, the
        tools of the marked methods, except those that `get_mcp_tool_problems` reports.
        """
        return get_mcp_tool_definitions(self)

    @_required
    def execute_mcp_tool(self, tool_name: str, arguments: dict[str, Any]) -> Any:
        """Run a tool and return its value, which the server converts to a result. A dict with a list of MCP content
        blocks as `content` is a complete result; its `structuredContent` must match the `outputSchema`, if any.

        The server has validated the arguments by the tool's schema. A failure is an exception, or a dict with `error`,
        `"success": False` or `"status": "error"`. Raises `ValueError` for an unknown tool. May be called from several
        threads at once.

        By default, it calls the marked method with the arguments converted to the types of its hints, and returns the
        return value unchanged, for an `async def` the coroutine.
        """
        return execute_mcp_tool(self, tool_name, arguments)

    def get_mcp_tool_problems(self) -> list[str]:
        """The problems of the marked methods, mostly invalid type hints, each with class, method and parameter. A tool,
        prompt or resource with an invalid hint is left out of the definitions.
        """
        features = self.get_mcp_features()
        return [*_tools_of(self).problems, *(features.problems if features is not None else ())]

    def get_mcp_tool_scopes(self) -> Mapping[str, Sequence[str]]:
        """The scopes that the caller's access token needs for each tool, by tool name.

        By default, those of the marked methods.
        """
        return {mark.name or method: mark.scopes for method, mark in marks_of(type(self)).items() if mark.scopes}

    def get_mcp_prompts(self) -> list[dict[str, Any]]:
        """The prompts: each a dict with `name`, `description` and `arguments`, and other members of MCP's `Prompt`.

        By default, the prompts of the methods marked with `@prompt`. The server adds these to the list that a subclass
        returns.
        """
        features = self.get_mcp_features()
        return [_copy(prompt.definition) for prompt in features.prompts.values()] if features is not None else []

    def get_mcp_resources(self) -> list[dict[str, Any]]:
        """The resources: each a dict with `uri`, `name`, `description` and `mimeType`, and other members of MCP's
        `Resource`. Resources of marked methods are included as for prompts.
        """
        features = self.get_mcp_features()
        return [_copy(one.definition) for one in features.resources.values()] if features is not None else []

    def get_mcp_resource_templates(self) -> list[dict[str, Any]]:
        """The resource templates: each a dict with `uriTemplate`, `name`, `description` and `mimeType`. Templates of
        marked methods are included as for prompts; `read_mcp_resource` is called for a URI of any other template.
        """
        features = self.get_mcp_features()
        return [_copy(one.definition) for one in features.templates.values()] if features is not None else []

    def get_mcp_skills(self) -> Sequence[str | Path]:
        """The folders of the skills, each with a SKILL.md. By default, those in `skills_folder`."""
        if self.skills_folder is None:
            return ()

        return skills_of(type(self), self.skills_folder)

    def get_mcp_features(self) -> MethodFeatures | None:
        """For the server: the methods marked with `@prompt` or `@resource`; None if the class has no such method."""
        return read_once(type(self), "_mcp_features", _features)

    def get_mcp_server_info(self) -> dict[str, Any]:
        """Name and version of the server, optionally with `description`, `title` and `instructions`."""
        return {"name": f"GAIA {type(self).__name__}", "version": "2.0.0"}


def _features(kind: type) -> MethodFeatures | None:
    if not marked(kind, PromptMark) and not marked(kind, ResourceMark):
        return None
    from gaia_mcp.agents.base.methods import features_of

    return features_of(kind)


def _announce(agent: MCPAgent, lists: tuple[str, ...] = (), uris: tuple[str, ...] = ()) -> None:
    if (listeners := vars(agent).get(_LISTENERS)) is not None:
        from gaia_mcp.server.provider import Change

        listeners.announce(Change(lists, uris))


def _copy(definition: dict[str, Any]) -> dict[str, Any]:
    from copy import deepcopy

    return deepcopy(definition)


def _tools_of(agent: MCPAgent) -> MethodTools:
    """The marked methods of the agent's class. The module that reads them is loaded once."""
    return read_once(type(agent), "_marked_tools", _read_tools)


def _read_tools(kind: type) -> MethodTools:
    from gaia_mcp.agents.base.methods import tools_of

    return tools_of(kind)


def get_mcp_tool_definitions(agent: MCPAgent) -> list[dict[str, Any]]:
    """The definitions of the marked methods, as copies."""
    return [_copy(tool.definition) for tool in _tools_of(agent).tools.values()]


def execute_mcp_tool(agent: MCPAgent, tool_name: str, arguments: dict[str, Any]) -> Any:
    """Call a marked method. Raises `ValueError` for an unknown tool."""
    tool = _tools_of(agent).tools.get(tool_name)
    if tool is None:
        raise ValueError(f"Unknown tool: {tool_name}")
    return tool.call(agent, arguments)


def skills_of(kind: type, folder: str | Path) -> list[Path]:
    """The subfolders of `folder` with a SKILL.md, sorted. `folder` is relative to the file of the class that defines
    `skills_folder`.
    """
    owner = next(each for each in kind.__mro__ if each.__dict__.get("skills_folder") is not None)
    place = Path(inspect.getfile(owner)).parent / folder
    return sorted(path.parent for path in place.glob("*/SKILL.md"))
