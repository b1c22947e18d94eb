"""A remote server, or an agent of this process, as a handler: what a manager routes to is always a handler."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gaia_mcp.deadline import LONGEST_REQUEST_SECONDS, Deadline
from gaia_mcp.errors import PeerError
from gaia_mcp.handlers.base import MCPHandler, MCPHandlerConfig, MCPToolDefinition, MCPToolResult
from gaia_mcp.manager.tool_results import failed, tool_result
from gaia_mcp.protocol.jsonrpc import METHOD_NOT_FOUND
from gaia_mcp.toolcall import CallCancelledError, current_call

if TYPE_CHECKING:
    from gaia_mcp.client.mcp_client import MCPClient
    from gaia_mcp.protocol.events import Progressed
    from gaia_mcp.server.agent import AgentProvider
    from gaia_mcp.server.provider import Change


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
            self.client.open(Deadline(self.config.timeout))
        if self.client.on_list_changed is None:
            self.client.on_list_changed = self._hear
        self._connected = True

    def list_tools(self) -> list[MCPToolDefinition]:
        """The tools; none if the server does not support tools. Raises as `MCPClient.open` does."""
        try:
            tools = self.client.fetch_tools(Deadline(self.config.timeout))
        except PeerError as error:
            if error.code == METHOD_NOT_FOUND:
                return []  # It has only prompts or resources.
            raise
        return [
            FullDefinition(tool.name, tool.description, tool.input_schema, self.name, tool.definition) for tool in tools
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

    def health_check(self) -> bool:
        """Whether the server is connected now."""
        return self.client.is_connected()

    def _hear(self, kind: str) -> None:
        if kind == "tools" and self.on_tools_changed is not None:
            self.on_tools_changed()


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
