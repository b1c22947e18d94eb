"""Finds the handler of a tool among those of a registry, connecting handlers in parallel when needed.

A tool belongs to the first handler, in the order of the registry, that has it, is in the caller's scope and is usable.
A name is that of a tool, of its function, or `HANDLER.TOOL` and `mcp_HANDLER_TOOL`, which also select the handler.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from gaia_mcp.contrib.handlers.base import MCPHandler, MCPToolDefinition, MCPToolResult, was_shown
from gaia_mcp.contrib.handlers.managed_handler import ManagedHandler
from gaia_mcp.core.names import handler_key
from gaia_mcp.fleet import close_all
from gaia_mcp.server.provider import Change, Listeners
from gaia_mcp.toolspec.repair import FunctionNames, allowed_characters
from gaia_mcp.toolspec.tool_filter import can_meet

if TYPE_CHECKING:
    from gaia_mcp.server.outcomes import OnFailure

logger = logging.getLogger("gaia_mcp")
# Once a handler has the requested tool, those before it, which take precedence, have this long to connect.
PRECEDENCE_SECONDS = 0.25


class Handlers(Protocol):
    """The methods of `MCPRegistry` that the router needs."""

    def get(self, name: str) -> MCPHandler | None:
        """The handler of this name."""

    def list_all(self) -> list[MCPHandler]:
        """All handlers."""

    def get_for_scope(self, stage: str | None = None, agent: str | None = None) -> list[MCPHandler]:
        """The enabled handlers whose tools `agent` may use at `stage`."""


class Reason(Enum):
    """Why a call is not routed to a handler."""

    UNKNOWN = auto()
    OUT_OF_SCOPE = auto()
    UNAVAILABLE = auto()


@dataclass
class Refusal(MCPToolResult):
    """The result of a call that reached no handler."""

    reason: Reason = Reason.UNKNOWN


class Router:
    """Routes to the handlers of `registry`. May be used from several threads.

    `console`, which may be None, shows warnings; `clock` returns the time in seconds. With `qualified`, tools are named
    `HANDLER.TOOL`.
    """

    def __init__(
        self,
        registry: Handlers,
        console: Any,
        clock: Callable[[], float],
        on_failure: OnFailure,
        *,
        qualified: bool = False,
    ) -> None:
        self.listeners = Listeners()
        self._registry = registry
        self._console = console
        self._clock = clock
        self._on_failure = on_failure
        self._qualified = qualified
        # Guards the attributes below. Reentrant: a signal handler may shut down in the same thread.
        self._lock = threading.RLock()
        self._functions = FunctionNames()
        self._managed: dict[str, ManagedHandler] = {}
        # Handlers that another one has replaced in the registry.
        self._replaced: list[ManagedHandler] = []
        self._index: ToolIndex | None = None
        self._shown: set[str] = set()

    def tools(self, stage: str | None, agent: str | None) -> list[MCPToolDefinition]:
        """The tools in scope, each name once, after listing those of all handlers in scope."""
        handlers = [one for one in self.handlers(stage, agent) if one.is_available()]
        discover(handlers)
        return self._first_of_each(handlers)

    def known_tools(self, stage: str | None, agent: str | None) -> list[MCPToolDefinition]:
        """As `tools`, but only those listed already."""
        return self._first_of_each(self.handlers(stage, agent))

    def shared_tools(self, stage: str | None, agent: str | None) -> list[MCPToolDefinition]:
        """The known tools in scope that share their names."""
        return shared_tools([one for one in self.handlers(stage, agent) if one.is_available()])

    def route(self, name: str, stage: str | None, agent: str | None) -> Owner | Refusal:
        """The handler of the tool that `name` means; undiscovered handlers are connected only if necessary."""
        if not isinstance(name, str):
            return _unknown(name)
        found = self._known(name, stage, agent)
        if isinstance(found, Owner):
            return found
        in_scope = self.handlers(stage, agent)
        chosen = chosen_by(name, in_scope)
        for candidates in (chosen, in_scope):
            if new := [one for one in candidates if not one.is_discovered and one.is_available()]:
                discover(new, lambda handler: name in handler.tools)
            # Even if another thread has discovered them since the last check.
            found = self._known(name, stage, agent)
            if isinstance(found, Owner):
                return found
        if found is not None:
            return found
        if (failed := next((one for one in chosen if one.has_failed), None)) is not None:
            return _refused(failed)
        return _unknown(name)

    def handlers(self, stage: str | None = None, agent: str | None = None) -> list[ManagedHandler]:
        """The enabled handlers in scope, in the order of the registry."""
        return [self._manage(handler) for handler in self._registry.get_for_scope(stage, agent)]

    def function_names(self, tools: Sequence[MCPToolDefinition]) -> list[str]:
        """The names of the functions for `tools`."""
        self.index()  # Other known tools also reserve their names.
        with self._lock:
            self._functions.add((tool.name, wanted_function(tool, qualified=self._qualified)) for tool in tools)
            return [self._functions.function_of(tool.name) for tool in tools]

    def instructions(self, stage: str | None, agent: str | None) -> str:
        """The known instructions of the handlers in scope."""
        texts = []
        for one in self.handlers(stage, agent):
            text = getattr(one.handler, "instructions", "") or one.handler.description
            if isinstance(text, str) and text:
                texts.append((one.name, text))
        if len(texts) == 1:
            return texts[0][1]
        return "\n\n".join(f"{name}: {text}" for name, text in texts)

    def used_handlers(self) -> list[ManagedHandler]:
        """The handlers that may have been used."""
        with self._lock:
            return list(self._managed.values())

    def index(self) -> ToolIndex:
        """The index of the discovered tools."""
        if (index := self._index) is not None:
            return index
        with self._lock:
            if (index := self._index) is None:
                known = (self._managed.get(handler.name) for handler in self._registry.list_all())
                discovered = [one for one in known if one is not None and one.tools]
                index = self._index = ToolIndex(discovered, self._functions, qualified=self._qualified)
            return index

    def shut_down(self) -> None:
        """Disconnect all handlers, in parallel, and clear the discovered tools. Does not raise their exceptions."""
        with self._lock:
            handlers = [*self._managed.values(), *self._replaced]
            self._replaced.clear()
            self._shown.clear()
        close_all([one.shut_down for one in handlers], "shutdown")
        self._change()

    def release_threads(self) -> None:
        """End the idle threads."""
        for one in self.used_handlers():
            one.release_threads()

    def show(self, warning: str) -> None:
        """Show a warning to the user; log it without a usable console."""
        if not was_shown(self._console, "print_warning", warning):
            logger.warning("%s", warning)

    def _known(self, name: str, stage: str | None, agent: str | None) -> Owner | Refusal | None:
        refusal: Refusal | None = None
        for owner in self.index().find(name):
            handler = owner.handler.handler
            if self._registry.get(handler.name) is not handler:
                continue  # Another one has replaced it.
            if not handler.matches_scope(stage, agent):
                refusal = refusal or Refusal("", True, _out_of_scope(name, stage, agent), reason=Reason.OUT_OF_SCOPE)
            elif owner.handler.is_available():
                return owner
            elif refusal is None or refusal.reason is Reason.OUT_OF_SCOPE:
                refusal = _refused(owner.handler)
        return refusal

    def _first_of_each(self, handlers: Sequence[ManagedHandler]) -> list[MCPToolDefinition]:
        first: dict[str, ManagedHandler] = {}
        tools = []
        for handler in handlers:
            if not handler.is_available():
                continue
            for tool in handler.tools.values():
                owner = first.setdefault(tool.name, handler)
                if owner is handler:
                    tools.append(tool)
                else:
                    self._show_collision(tool.name, owner.handler, handler.handler)
        return tools

    def _show_collision(self, tool: str, first: MCPHandler, second: MCPHandler) -> None:
        one, other = first.config, second.config
        both = f"MCP handlers '{first.name}' and '{second.name}' both have the tool '{tool}'"
        warning = f"{both}: the first one is used; the other is '{second.name}.{tool}'"
        if warning not in self._shown and can_meet(one.stages, one.agents, other.stages, other.agents):
            with self._lock:
                is_new = warning not in self._shown
                self._shown.add(warning)
            if is_new:
                self.show(warning)

    def _manage(self, handler: MCPHandler) -> ManagedHandler:
        managed = self._managed.get(handler.name)
        if managed is not None and managed.handler is handler:
            return managed
        with self._lock:
            managed = self._managed.get(handler.name)
            if managed is None or managed.handler is not handler:
                if managed is not None:
                    self._replaced.append(managed)
                managed = ManagedHandler(
                    handler, self.show, self._change, self._clock, self._on_failure, qualified=self._qualified
                )
                self._managed[handler.name] = managed
            return managed

    def _change(self, *lists: str) -> None:
        with self._lock:
            self._index = None
        self.listeners.announce(Change(lists, description=True))


def _unknown(name: object) -> Refusal:
    return Refusal("", True, f"Unknown tool: {name}")


def _refused(handler: ManagedHandler) -> Refusal:
    return Refusal("", True, handler.unavailable().error_message, reason=Reason.UNAVAILABLE)


def _out_of_scope(tool: str, stage: str | None, agent: str | None) -> str:
    scope = [f"at stage '{stage}'"] if stage is not None else []
    scope += [f"for agent '{agent}'"] if agent is not None else []
    return f"Tool '{tool}' cannot be used {' '.join(scope)}".rstrip()


def discover(handlers: Sequence[ManagedHandler], has_it: Callable[[ManagedHandler], bool] | None = None) -> None:
    """List the tools of all handlers, and wait for that.

    With `has_it`, wait only until a handler is found for which it is true, and until those before it have been checked
    too, `PRECEDENCE_SECONDS` at most. The others continue in the background.
    """
    if len(handlers) == 1:
        handlers[0].discover()
        return
    ended: set[ManagedHandler] = set()
    progress = threading.Condition()

    def work(handler: ManagedHandler) -> None:
        try:
            handler.discover()
        finally:
            with progress:
                ended.add(handler)
                progress.notify_all()

    for handler in handlers:
        threading.Thread(target=work, args=(handler,), name=f"MCP handler {handler.name}: tools", daemon=True).start()

    def first_found() -> int | None:
        if has_it is None:
            return None
        return next((number for number, one in enumerate(handlers) if one in ended and has_it(one)), None)

    def all_before(found: int | None) -> bool:
        return ended.issuperset(handlers[:found])

    with progress:
        progress.wait_for(lambda: all_before(None) or first_found() is not None)
        found = first_found()
        progress.wait_for(lambda: all_before(found), PRECEDENCE_SECONDS if found is not None else None)


class Owner(NamedTuple):
    """A handler that has a tool, which it knows by the name `tool`."""

    handler: ManagedHandler
    tool: str


class ToolIndex:
    """The tools of `handlers`, as they are now. With `qualified`, functions are named as tools are in GAIA."""

    def __init__(self, handlers: Sequence[ManagedHandler], functions: FunctionNames, *, qualified: bool) -> None:
        self._handlers = handlers
        self._functions = functions
        # By their names in the handlers.
        self.owners: dict[str, list[Owner]] = {}
        for handler in handlers:
            for tool in handler.tools:
                self.owners.setdefault(tool, []).append(Owner(handler, tool))
        functions.add(
            (tool.name, wanted_function(tool, qualified=qualified))
            for handler in handlers
            for tool in handler.tools.values()
        )

    def find(self, name: str) -> Iterator[Owner]:
        """The owners of the tools that `name` may mean, the most likely one first."""
        yield from self.owners.get(name, ())
        if (tool := self._functions.tool_of(name)) is not None and tool != name:
            yield from self.owners.get(tool, ())
            name = tool
        if (owner := self._with_handlers.get(name)) is not None:
            yield owner

    @cached_property
    def _with_handlers(self) -> dict[str, Owner]:
        """The tools by the names that also select a handler; handlers with longer names take precedence."""
        found: dict[str, Owner] = {}
        handlers = sorted(self._handlers, key=lambda handler: len(handler.name), reverse=True)
        named = [(handler.name, handler) for handler in handlers]
        # After all own names: the name of one handler may be an alternative spelling of another's.
        named += [(name, handler) for handler in handlers for name in _spellings(handler.name)[1:]]
        for name, handler in named:
            for tool in handler.tools:
                found.setdefault(f"{name}.{tool}", Owner(handler, tool))
        for name, handler in named:
            for tool in handler.tools:
                for spelling in (tool, allowed_characters(tool)):
                    found.setdefault(gaia_name(name, spelling), Owner(handler, tool))
        return found


def shared_tools(handlers: Iterable[ManagedHandler]) -> list[MCPToolDefinition]:
    """The tools whose name several handlers share: each named `HANDLER.TOOL`, unless that is the name of a tool."""
    tools = [tool for handler in handlers for tool in handler.tools.values()]
    count = Counter(tool.name for tool in tools)
    shared = [replace(tool, name=f"{tool.handler_name}.{tool.name}") for tool in tools if count[tool.name] > 1]
    return [tool for tool in shared if tool.name not in count]


def wanted_function(tool: MCPToolDefinition, *, qualified: bool) -> str:
    """The preferred function name of a tool."""
    if not qualified:
        return tool.name
    return gaia_name(tool.handler_name, tool.name.removeprefix(f"{tool.handler_name}."))


def gaia_name(handler: str, tool: str) -> str:
    """The name of a tool in GAIA's registry."""
    return f"mcp_{handler}_{tool}"


def chosen_by(name: str, handlers: Iterable[ManagedHandler]) -> list[ManagedHandler]:
    """The `handlers` that `name` may select: it begins with their name, as `HANDLER.` or `mcp_HANDLER_`."""
    return [
        handler
        for handler in handlers
        if any(name.startswith((f"{spelling}.", gaia_name(spelling, ""))) for spelling in _spellings(handler.name))
    ]


def _spellings(handler: str) -> list[str]:
    """The spellings of a handler's name, its own first."""
    return list(dict.fromkeys((handler, handler_key(handler), allowed_characters(handler))))
