"""An agent's own code as the parts of its provider run it: what they have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gaia_mcp.server.event_loop import EventLoop

if TYPE_CHECKING:
    from gaia_mcp.server.failures import OnFailure
    from gaia_mcp.toolcall import Call


class TextMethod(Protocol):
    """A marked method whose arguments are text."""

    def call(self, agent: Any, arguments: Mapping[str, str]) -> Any:
        """What it returns. Raises `InvalidArgumentsError`, and whatever it raises."""

    def completions(self, agent: Any, name: str, typed: str, given: Mapping[str, str]) -> Iterable[str] | None:
        """The values of an argument, None if there is no argument of this name."""


class MarkedPrompt(Protocol):
    """A method that is marked with `@prompt`."""

    @property
    def definition(self) -> dict[str, Any]:
        """MCP's `Prompt`."""

    @property
    def text(self) -> TextMethod:
        """The method."""


class MarkedResource(Protocol):
    """A method that is marked with `@resource`."""

    @property
    def definition(self) -> dict[str, Any]:
        """MCP's `Resource` or `ResourceTemplate`."""

    @property
    def caching(self) -> dict[str, Any]:
        """The `ttlMs` and `cacheScope` of what it returns, if they are given."""

    @property
    def specificity(self) -> tuple[int, int]:
        """Of several templates that match a URI, the one with the greatest is used."""

    @property
    def text(self) -> TextMethod:
        """The method."""

    def match(self, uri: str) -> dict[str, str] | None:
        """The variables in a URI, None if it does not match the template."""


class Features(NamedTuple):
    """The marked prompts by name, resources by URI and templates by template."""

    prompts: Mapping[str, MarkedPrompt] = {}
    resources: Mapping[str, MarkedResource] = {}
    templates: Mapping[str, MarkedResource] = {}


_LISTS = frozenset({"tools", "prompts", "resources", "templates"})
# How clients may keep a list: the member of its result, the agent's attribute, which values it may have, in words.
_CACHING: tuple[tuple[str, str, Callable[[Any], bool], str], ...] = (
    ("ttlMs", "list_ttl_ms", lambda ttl: type(ttl) is int and ttl >= 0, "a whole number of milliseconds from 0 on"),
    ("cacheScope", "list_cache_scope", lambda scope: scope in ("public", "private"), "'public' or 'private'"),
)


class AgentCode:
    """One agent. `note` is called with each problem of its definitions, and reports it once, which `problems` keeps.
    `on_failure` is for exceptions that are not answered with an error.
    """

    def __init__(self, agent: Any, report: Callable[[str], None], on_failure: OnFailure) -> None:
        self.agent = agent
        self.on_failure = on_failure
        self.loop = EventLoop()
        self.problems: list[str] = []
        self._report = report

    def note(self, problem: str) -> None:
        """Report a problem, unless it was reported before."""
        if problem not in self.problems:
            self.problems.append(problem)
            self._report(problem)

    def optional(self, name: str) -> Any:
        """What the agent's method of this name returns, None without one."""
        method = getattr(self.agent, name, None)
        return method() if callable(method) else None

    def features(self) -> Features:
        """What the agent's marked methods are, beside its tools."""
        found = self.optional("get_mcp_features")
        return Features() if found is None else Features(found.prompts, found.resources, found.templates)

    def without_marked(
        self, kind: str, own: Iterable[dict[str, Any]], key: str, marked: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Those of the agent's own definitions that no marked method has, which would be used instead."""
        kept = []
        for definition in own:
            if (method := marked.get(definition[key])) is None:
                kept.append(definition)
            elif method.definition != definition:
                self.note(f"{kind} {definition[key]!r} is defined twice; the marked method is used")
        return kept

    def list_caching(self, name: str) -> dict[str, Any]:
        """How clients may keep a list, "tools", "prompts", "resources" or "templates", if the agent says so: the
        `ttlMs` and `cacheScope` of its result.
        """
        found = {}
        for member, attribute, is_allowed, described in _CACHING:
            value = getattr(self.agent, attribute, None)
            if isinstance(value, Mapping):
                for unknown in value.keys() - _LISTS:
                    self.note(f"{attribute} has {unknown!r}, which is not one of {', '.join(sorted(_LISTS))}")
                value = value.get(name)
            if value is None or value == "":
                continue
            if is_allowed(value):
                found[member] = value
            else:
                self.note(f"{attribute} of the list of {name} is {value!r}, not {described}, and is left out")
        return found

    def awaited(self, value: Any, call: Call) -> Any:
        """`value`, or what comes of it if it is to be awaited."""
        return self.loop.run(value, call) if hasattr(value, "__await__") else value
