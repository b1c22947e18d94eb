"""An index of the discovered tools: which handlers have a tool of a given name.

A name is that of a tool, of its function, or `HANDLER.TOOL` and `mcp_HANDLER_TOOL`, which also select the handler.
Knows no scopes or circuit breakers; handlers keep their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from gaia_mcp.manager.function_names import FunctionNames, allowed_characters
from gaia_mcp.names import handler_key

if TYPE_CHECKING:
    from gaia_mcp.handlers.base import MCPToolDefinition
    from gaia_mcp.manager.managed_handler import ManagedHandler


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
