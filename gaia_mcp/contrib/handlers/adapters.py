"""A remote server, or an agent of this process, as a handler, and tool results between the contract of handlers,
`MCPToolResult`, and MCP, the result of `tools/call`.

A handler's result is one text; the other members of MCP are in its `metadata`, under MCP's own names. Results are
truncated here too.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gaia_mcp.asking import CallCancelledError, current_call
from gaia_mcp.contrib.handlers.base import MCPHandler, MCPHandlerConfig, MCPToolDefinition, MCPToolResult
from gaia_mcp.core.deadline import DEFAULT_TIMEOUT_SECONDS, LONGEST_REQUEST_SECONDS, Deadline
from gaia_mcp.fleet import ServerInUse
from gaia_mcp.server.capping import shortened, truncated

if TYPE_CHECKING:
    from gaia_mcp.client.mcp_client import MCPClient
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.protocol.events import Progressed
    from gaia_mcp.server.agent import AgentProvider
    from gaia_mcp.server.provider import Change

Wire = dict[str, Any]
# The members of MCP's result that a handler's result has no field for.
_CARRIED = ("structuredContent", "_meta")
# The prefix of names in `_meta` that concern the connection of a result.
_OF_THE_CONNECTION = "io.modelcontextprotocol/"


@dataclass
class FullDefinition(MCPToolDefinition):
    """A tool with its whole `definition`: title, output schema, annotations and all other members of MCP."""

    definition: dict[str, Any] = field(default_factory=dict, repr=False)


class ClientHandler(MCPHandler):
    """A remote MCP server as a handler: the tools of `client`, which is connected when they are first used.

    A call has the `timeout` of `config`, which progress extends. `max_retries` is ignored: a call that may have reached
    the server is never sent again.
    """

    def __init__(self, client: MCPClient, config: MCPHandlerConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self.client = client
        self._server = ServerInUse(client)
        # Called, on the thread that reads and without an argument, when the server announces that its tools have
        # changed. Only if the client has no other listener: an agent that listens registers the tools itself.
        self.on_tools_changed: Callable[[], None] | None = None

    @property
    def instructions(self) -> str:
        """The server's instructions for its use; empty while it is not connected."""
        return self.client.instructions

    def connect(self) -> None:
        """Connect, unless the client is connected already. Raises as `MCPClient.open` does."""
        if not self.client.is_connected():
            self._server.open(Deadline(self.config.timeout))
        if self.client.on_list_changed is None:
            self.client.on_list_changed = self._hear
        self._connected = True

    def list_tools(self) -> list[MCPToolDefinition]:
        """The tools; none if the server does not support tools. Raises as `MCPClient.open` does."""
        return [
            FullDefinition(tool.name, tool.description, tool.input_schema, self.name, tool.definition)
            for tool in self._server.fetch_tools(Deadline(self.config.timeout))
        ]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> MCPToolResult:
        """Call a tool; a failure of the server or of the connection is a result too.

        Raises `CallCancelledError` if the current call is cancelled, after cancelling the request, and
        `NotConnectedError`.
        """
        call = current_call()
        deadline = Deadline(self.config.timeout, ceiling=LONGEST_REQUEST_SECONDS)

        def on_progress(report: Progressed) -> None:
            with suppress(CallCancelledError):  # The deadline is cancelled too.
                call.progress(report.progress, report.total, report.text)

        forget = call.on_cancel(deadline.cancel)
        try:
            result = self.client.call_tool(name, arguments, deadline=deadline, on_progress=on_progress)
        finally:
            forget()
        if result.keys() != {"error"}:
            return tool_result(result)
        call.raise_if_cancelled()
        return failed(result["error"])

    def disconnect(self) -> None:
        """Disconnect from the server, also while connecting."""
        self._connected = False
        self.client.disconnect()

    def end(self) -> None:
        """Disconnect for good: it cannot be connected again, also by another thread that is using it."""
        from gaia_mcp.client.transports.stdio.child import CLOSE_GRACE_SECONDS

        self._connected = False
        self._server.close(CLOSE_GRACE_SECONDS)

    def health_check(self) -> bool:
        """Whether the server is connected now."""
        return self.client.is_connected()

    def _hear(self, kind: str) -> None:
        if kind == "tools" and self.on_tools_changed is not None:
            self.on_tools_changed()


def config_of(entry: ServerEntry) -> MCPHandlerConfig:
    """The configuration of the handler of a server, from its entry."""
    config = MCPHandlerConfig(
        entry.name,
        None if entry.stages is None else list(entry.stages),
        None if entry.agents is None else list(entry.agents),
        timeout=entry.request_seconds(DEFAULT_TIMEOUT_SECONDS),
    )
    limit = entry.raw.get("max_result_bytes")
    if isinstance(limit, int) and not isinstance(limit, bool):
        config.max_result_bytes = limit
    return config


class AgentHandler(MCPHandler):
    """An agent as a handler: the tools of `agent`, an `MCPAgent` or any object with its two required methods.

    As when the agent is served, arguments are validated against the tools' schemas, and `async def` tools are run.
    """

    def __init__(self, agent: Any, config: MCPHandlerConfig, **options: Any) -> None:
        super().__init__(config, **options)
        self._agent = agent
        self._provider: AgentProvider | None = None
        # The agent's instructions for its use; empty while it is not connected.
        self.instructions = ""
        # Called, in a thread of its own and without an argument, when the agent announces that its tools have changed.
        self.on_tools_changed: Callable[[], None] | None = None

    def connect(self) -> None:
        """Read the agent's tools, and open it. Raises what the agent raises."""
        from gaia_mcp.server.agent import AgentProvider

        self._provider = AgentProvider(self._agent, report=self._bubble_warning)
        self.instructions = self._provider.describe().instructions
        self._provider.on_change(self._hear)
        self._provider.open()
        self._connected = True

    def list_tools(self) -> list[MCPToolDefinition]:
        """The tools. Raises what the agent raises."""
        return [
            FullDefinition(tool["name"], tool["description"], tool["inputSchema"], self.name, tool)
            for tool in self._answer("tools/list", {})["tools"]
        ]

    def call_tool(self, name: str, arguments: dict[str, Any]) -> MCPToolResult:
        """Call a tool. Raises `CallCancelledError` if the current call is cancelled."""
        return tool_result(self._answer("tools/call", {"name": name, "arguments": arguments}))

    def disconnect(self) -> None:
        """Close the agent, and end its event loop."""
        self._connected = False
        provider, self._provider = self._provider, None
        if provider is not None:
            provider.close()

    def _hear(self, change: Change) -> None:
        if "tools" in change.lists and self.on_tools_changed is not None:
            self.on_tools_changed()

    def _answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if self._provider is None:
            raise RuntimeError(f"agent {self.name!r} is not connected")
        return self._provider.answer(method, params, current_call())


def failed(problem: str) -> MCPToolResult:
    """The result of a call that failed because of `problem`."""
    return MCPToolResult("", is_error=True, error_message=problem)


def checked(value: Any, called: Callable[[], str]) -> MCPToolResult:
    """The value that a handler returned if it is a valid result, else the result of a failure that names `called()`."""
    if not isinstance(value, MCPToolResult):
        return failed(f"{called()} returned {type(value).__name__}, not an MCPToolResult")
    if not isinstance(value.content, str):
        return failed(f"{called()} returned a result whose content is {type(value.content).__name__}, not str")
    if isinstance(value.is_error, bool) and isinstance(value.error_message, str) and isinstance(value.metadata, dict):
        return value
    message = str(value.error_message or "")
    metadata = value.metadata if isinstance(value.metadata, dict) else {}
    return replace(value, is_error=bool(value.is_error), error_message=message, metadata=metadata)


def tool_result(wire: Wire) -> MCPToolResult:
    """A result of `tools/call` as a handler's result."""
    content = wire.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    text = "\n".join(filter(None, map(_text_of, blocks)))
    metadata = {name: wire[name] for name in _CARRIED if name in wire}
    meta = metadata.pop("_meta", None)
    if isinstance(meta, dict):
        metadata["_meta"] = {key: value for key, value in meta.items() if not key.startswith(_OF_THE_CONNECTION)}
    if not metadata.get("_meta"):
        metadata.pop("_meta", None)
    if blocks and blocks != [{"type": "text", "text": text}]:
        metadata["content"] = blocks
    if not blocks and "structuredContent" in wire:
        text = json.dumps(wire["structuredContent"], ensure_ascii=False)
    if wire.get("isError") is not True:
        return MCPToolResult(text, metadata=metadata)
    return MCPToolResult("", True, text or "the tool reported an error without a text", metadata)


def wire_result(result: MCPToolResult) -> Wire:
    """A handler's result as a result of `tools/call`."""
    blocks = _blocks(result.metadata)
    if blocks is None:
        texts = [result.content, result.error_message] if result.is_error else [result.content]
        text = "\n".join(filter(None, texts))
        blocks = [{"type": "text", "text": text}] if text else []
    carried = {name: result.metadata[name] for name in _CARRIED if name in result.metadata}
    return {"content": blocks, "isError": result.is_error, **carried}


def capped(result: MCPToolResult, max_bytes: int) -> MCPToolResult:
    """`result` with its text truncated to `max_bytes` bytes. Other content is unchanged: a part of it is useless."""
    content, message = truncated(result.content, max_bytes), truncated(result.error_message, max_bytes)
    blocks = _blocks(result.metadata)
    if blocks is not None and (cut := shortened(blocks, max_bytes)) != blocks:
        return replace(result, content=content, error_message=message, metadata={**result.metadata, "content": cut})
    if content is result.content and message is result.error_message:
        return result
    return replace(result, content=content, error_message=message)


def _blocks(metadata: dict[str, Any]) -> list[Wire] | None:
    """The content blocks in `metadata`, None without valid ones: a handler may use the name for something else."""
    blocks = metadata.get("content")
    if not isinstance(blocks, list) or not blocks:
        return None
    are_blocks = all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in blocks)
    return blocks if are_blocks else None


def _text_of(block: Wire) -> str:
    """A content block for a reader of text alone."""
    resource = block.get("resource")
    for holder in (block, resource):
        if isinstance(holder, dict) and isinstance(holder.get("text"), str):
            return str(holder["text"])
    described = resource if isinstance(resource, dict) else block
    words = [block.get("type"), described.get("name") or described.get("uri"), described.get("mimeType")]
    return f"[{' '.join(word for word in words if isinstance(word, str))}]"
