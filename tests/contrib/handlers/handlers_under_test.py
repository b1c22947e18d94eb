"""Handlers that behave well, badly, and in ways that a test decides, for the tests of what uses them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from gaia_mcp.contrib.handlers.base import MCPHandler, MCPHandlerConfig, MCPRegistry, MCPToolDefinition, MCPToolResult
from tests.waiting import PATIENCE_SECONDS

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}}


class ProgrammableHandler(MCPHandler):
    """Counts what is done with it. Its tools return their argument `text`, unless a test decides otherwise: with
    `on_connect`, `on_list`, `on_call` and `on_disconnect`, each called in place of what the handler would do.
    """

    def __init__(self, name: str, *tools: str, **config: Any) -> None:
        super().__init__(MCPHandlerConfig(name, **config))
        self.tools = tools
        self.connects = self.lists = self.calls = self.disconnects = 0
        self.on_connect: Callable[[], object] = lambda: None
        self.on_list: Callable[[], Any] = self.definitions
        self.on_call: Callable[[str, dict[str, Any]], Any] = lambda _, arguments: MCPToolResult(arguments["text"])
        self.on_disconnect: Callable[[], object] = lambda: None

    def definitions(self) -> list[MCPToolDefinition]:
        return [MCPToolDefinition(tool, f"The tool {tool}.", SCHEMA, self.name) for tool in self.tools]

    def connect(self) -> None:
        self.connects += 1
        self._connected = True
        self.on_connect()

    def list_tools(self) -> list[MCPToolDefinition]:
        self.lists += 1
        found: list[MCPToolDefinition] = self.on_list()
        return found

    def call_tool(self, name: str, arguments: dict[str, Any]) -> MCPToolResult:
        self.calls += 1
        result: MCPToolResult = self.on_call(name, arguments)
        return result

    def disconnect(self) -> None:
        self.disconnects += 1
        self._connected = False
        self.on_disconnect()

    def fail(self, *_: object) -> MCPToolResult:
        """For `on_call`: an error."""
        return MCPToolResult("", is_error=True, error_message="it failed")


class Console:
    """Keeps the warnings that it is to show."""

    def __init__(self) -> None:
        self.warnings: list[str] = []

    def print_warning(self, message: str) -> None:
        self.warnings.append(message)


def registry_of(*handlers: MCPHandler) -> MCPRegistry:
    registry = MCPRegistry()
    for handler in handlers:
        registry.register_custom(handler)
    return registry


def at_once(count: int, function: Callable[[int], Any]) -> list[Any]:
    """What `function` returns for the numbers below `count`, called at the same time in threads of their own."""
    results: dict[int, Any] = {}
    barrier = threading.Barrier(count)

    def work(number: int) -> None:
        barrier.wait(PATIENCE_SECONDS)
        results[number] = function(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return [results[number] for number in range(count)]


def names(tools: Iterable[MCPToolDefinition]) -> list[str]:
    return [tool.name for tool in tools]
