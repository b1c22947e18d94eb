"""Figures of a manager of handlers: what it adds to what the handlers do themselves."""

from __future__ import annotations

import statistics
import time
from typing import Any

from gaia_mcp.handlers import MCPHandler, MCPHandlerConfig, MCPManager, MCPRegistry, MCPToolDefinition, MCPToolResult
from tests.bench.figures import Effort, Figure, seconds

HANDLERS, TOOLS_OF_EACH = 50, 20
# As long as a figure of one block takes: other programs disturb some blocks, and the median is of the others.
BLOCK_CALLS = 250
SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


class Instant(MCPHandler):
    """Takes next to no time itself."""

    def connect(self) -> None:
        self._connected = True

    def list_tools(self) -> list[MCPToolDefinition]:
        return [
            MCPToolDefinition(f"{self.name}_tool_{number}", "Return the text.", SCHEMA, self.name)
            for number in range(TOOLS_OF_EACH)
        ]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> MCPToolResult:
        return MCPToolResult(arguments["text"])

    def disconnect(self) -> None:
        self._connected = False


def many_handlers(effort: Effort) -> list[Figure]:
    """A thousand tools of fifty handlers: found for the first time, and one called; beside the handlers alone."""
    registry = MCPRegistry()
    handlers = [Instant(MCPHandlerConfig(f"handler_{number}")) for number in range(HANDLERS)]
    for handler in handlers:
        registry.register_custom(handler)
    alone = seconds(lambda: [(handler.connect(), handler.list_tools()) for handler in handlers])
    found = []
    with MCPManager(registry) as manager:
        for _ in range(effort.commands):
            manager.shutdown_all()
            began = time.perf_counter()
            tools = manager.get_tools_for_scope()
            found.append(time.perf_counter() - began - alone)
            if len(tools) != HANDLERS * TOOLS_OF_EACH:
                raise SystemExit(f"not all tools were found: {len(tools)}")
        tool, arguments, handler = tools[-1].name, {"text": "a"}, handlers[-1]
        routed, called, direct = [], [], []
        for _ in range(max(1, effort.calls // BLOCK_CALLS)):
            began = time.process_time()
            for _ in range(BLOCK_CALLS):
                handler.call_tool(tool, arguments)
            before_routing = time.process_time()
            for _ in range(BLOCK_CALLS):
                manager.find_tool(tool, stage="build", agent="coder")
            before_calling = time.process_time()
            for _ in range(BLOCK_CALLS):
                manager.call_tool(tool, arguments, stage="build", agent="coder")
            direct.append((before_routing - began) / BLOCK_CALLS)
            routed.append((before_calling - before_routing) / BLOCK_CALLS)
            called.append((time.process_time() - before_calling) / BLOCK_CALLS)
    routing, added = statistics.median(routed) * 1e6, (statistics.median(called) - statistics.median(direct)) * 1e6
    milliseconds = statistics.median(found) * 1000
    name = f"{HANDLERS * TOOLS_OF_EACH} tools of {HANDLERS} handlers discovered, beside the handlers' own time"
    return [
        Figure(name, milliseconds, 50, "ms", remark=f"{alone * 1000:.2f} ms alone"),
        Figure(
            "processor time of routing a call with MCPManager",
            routing,
            20,
            "us",
            # Each handler has a thread, so that one that hangs holds up no caller.
            remark=f"a whole call adds {added:.0f} us, most of it for another thread",
        ),
    ]
