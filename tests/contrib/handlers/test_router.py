"""Discovery while other threads call tools: none of them finds a tool unknown that a handler has."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from gaia_mcp.contrib.handlers.base import MCPRegistry, MCPToolDefinition, MCPToolResult
from gaia_mcp.contrib.handlers.handler_manager import MCPManager
from tests.contrib.handlers.handlers_under_test import ProgrammableHandler, registry_of
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.contrib.handlers.base import MCPHandler


class Registry(MCPRegistry):
    """Runs `meanwhile` once, as another thread might, before it returns handlers."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], object] | None = None

    def get_for_scope(self, stage: str | None = None, agent: str | None = None) -> list[MCPHandler]:
        meanwhile, self.meanwhile = self.meanwhile, None
        if meanwhile is not None:
            meanwhile()
        return super().get_for_scope(stage, agent)


class Console:
    """Runs `meanwhile` in a thread of its own while a warning is shown."""

    def __init__(self) -> None:
        self.meanwhile: Callable[[], object] = lambda: None
        self.threads: list[threading.Thread] = []

    def print_warning(self, _: str) -> None:
        self.threads.append(threading.Thread(target=lambda: self.meanwhile()))
        self.threads[-1].start()
        # It may have to wait for what shows the warning.
        self.threads[-1].join(0.2)


def test_a_tool_that_another_thread_discovers_during_a_call_is_found() -> None:
    """A5: `call_tool` works without a discovery of its own, also where one ends at that moment."""
    registry = Registry()
    registry.register_custom(ProgrammableHandler("calc", "add"))

    with MCPManager(registry) as manager:
        registry.meanwhile = manager.get_tools_for_scope
        assert manager.call_tool("add", {"text": "a"}) == MCPToolResult("a")


def test_a_call_waits_for_the_end_of_a_discovery() -> None:
    """A5: a call waits for the end of the listing, of which a problem is just being shown."""
    handler = ProgrammableHandler("calc", "add")
    handler.on_list = lambda: [*handler.definitions(), MCPToolDefinition("", "without a name", {}, "calc")]
    console, results = Console(), []

    with MCPManager(registry_of(handler), console) as manager:
        assert manager._tool_map == {}  # An index without it has been made.
        console.meanwhile = lambda: results.append(manager.call_tool("add", {"text": "a"}))
        manager.get_tools_for_scope()
        for thread in console.threads:
            thread.join(PATIENCE_SECONDS)

    assert results == [MCPToolResult("a")]
