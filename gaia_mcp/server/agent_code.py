"""How the parts of an agent's provider run the agent's own code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gaia_mcp.server.event_loop import EventLoop

if TYPE_CHECKING:
    from gaia_mcp.asking import Call
    from gaia_mcp.server.failures import OnFailure


class TextMethod(Protocol):
    """A marked method whose arguments are text."""

    def call(self, agent: Any, arguments: Mapping[str, str]) -> Any:
        """Call the method. Raises `InvalidArgumentsError`, and whatever the method raises."""

    def completions(self, agent: Any, name: str, typed: str, given: Mapping[str, str]) -> Iterable[str] | None:
        """The completions of an argument; None if no argument has this name."""


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
        """The `ttlMs` and `cacheScope` of its results, where given."""

    @property
    def specificity(self) -> tuple[int, int]:
        """The sort key of templates that match the same URI: the greatest wins."""

    @property
    def text(self) -> TextMethod:
        """The method."""

    def match(self, uri: str) -> dict[str, str] | None:
        """The variables of a URI; None if it does not match the template."""


class Features(NamedTuple):
    """The marked prompts by name, resources by URI and templates by template."""

    prompts: Mapping[str, MarkedPrompt] = {}
    resources: Mapping[str, MarkedResource] = {}
    templates: Mapping[str, MarkedResource] = {}


_LISTS = frozenset({"tools", "prompts", "resources", "templates"})
# The caching hints of a list: the result's member, the agent's attribute, the check of its value, the expected value.
_CACHING: tuple[tuple[str, str, Callable[[Any], bool], str], ...] = (
    ("ttlMs", "list_ttl_ms", lambda ttl: type(ttl) is int and ttl >= 0, "a whole number of milliseconds from 0 on"),
    ("cacheScope", "list_cache_scope", lambda scope: scope in ("public", "private"), "'public' or 'private'"),
)


class AgentCode:
    """The code of one agent. `note` reports a problem of its definitions once and adds it to `problems`. `on_failure`
    gets the exceptions that are not answered with an error.
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
        """The return value of the agent's method of this name; None if it has no such method."""
        method = getattr(self.agent, name, None)
        return method() if callable(method) else None

    def features(self) -> Features:
        """The agent's marked prompts, resources and templates."""
        found = self.optional("get_mcp_features")
        return Features() if found is None else Features(found.prompts, found.resources, found.templates)

    def without_marked(
        self, kind: str, own: Iterable[dict[str, Any]], key: str, marked: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """The agent's own definitions, without those that a marked method of the same `key` overrides."""
        kept = []
        for definition in own:
            if (method := marked.get(definition[key])) is None:
                kept.append(definition)
            elif method.definition != definition:
                self.note(f"{kind} {definition[key]!r} is defined twice; the marked method is used")
        return kept

    def list_caching(self, name: str) -> dict[str, Any]:
        """The `ttlMs` and `cacheScope` for the result of the list `name` ("tools", "prompts", "resources" or
        "templates"), where the agent sets them.
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
        """`value`; if it is awaitable, its result."""
        return self.loop.run(value, call) if hasattr(value, "__await__") else value
