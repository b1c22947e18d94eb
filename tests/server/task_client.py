"""A client that accepts tasks, speaking to a provider in this process."""

from __future__ import annotations

import itertools
import json
import threading
from typing import TYPE_CHECKING, Any

from gaia_mcp.asking import current_call
from gaia_mcp.protocol.server import ServerConnection
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.calls import Calls
from tests.server.talk import plain
from tests.task_support import problems_of_created, problems_of_detailed
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.asking import Call
    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.server.outcomes import Job
    from gaia_mcp.server.provider import Provider

Wire = dict[str, Any]
EXTENSIONS: Wire = {"io.modelcontextprotocol/tasks": {}}
CAPABILITIES: Wire = {"elicitation": {}, "roots": {}, "extensions": EXTENSIONS}
NAME: Wire = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ADA: Wire = {"action": "accept", "content": {"name": "Ada"}}


class Jobs:
    """An agent whose tools are functions of the running call, and may all run as tasks."""

    def __init__(self, support: str = "optional", **tools: Callable[[Call], Any]) -> None:
        self._support = support
        self._tools = tools

    def get_mcp_tool_definitions(self) -> list[Wire]:
        """As every agent."""
        return [
            {"name": name, "inputSchema": {"type": "object"}, "execution": {"taskSupport": self._support}}
            for name in self._tools
        ]

    def execute_mcp_tool(self, name: str, _arguments: Wire) -> Any:
        """As every agent."""
        return self._tools[name](current_call())

    def get_mcp_prompts(self) -> list[Wire]:
        """As every agent."""
        return [{"name": "ask"}]

    def get_mcp_prompt(self, _name: str, _arguments: Wire) -> str:
        """A prompt that would be a task."""
        return str(current_call().continue_as_task(required=True))


class TaskClient:
    """A client of `agent`, with `options` of its `Calls`."""

    def __init__(self, agent: Any, capabilities: Wire = CAPABILITIES, **options: Any) -> None:
        self.sent: list[Wire] = []
        self.failures: list[str] = []
        self._capabilities = capabilities
        self._ids = itertools.count(1)
        provider: Provider = agent if hasattr(agent, "answer") else AgentProvider(agent, on_failure=self._fail)
        self.calls = Calls(
            ServerConnection(provider.describe()), provider, self._take, on_failure=self._fail, **options
        )

    def ask(self, method: str, params: Wire, capabilities: Wire | None = None) -> Wire:
        """The response to a request."""
        number = self.start(method, params, capabilities)
        wait_until(lambda: self.response(number) is not None)
        found = self.response(number)
        assert found is not None
        return found

    def start(self, method: str, params: Wire, capabilities: Wire | None = None) -> int:
        """Send a request; its id."""
        number, jobs = self._send(method, params, capabilities)
        for job in jobs:
            threading.Thread(target=self.calls.run, args=(job,), daemon=True).start()
        return number

    def run(self, method: str, params: Wire) -> None:
        """Send a request, and wait until its job has ended."""
        for job in self._send(method, params, None)[1]:
            self.calls.run(job)

    def response(self, number: int) -> Wire | None:
        """The response to a request, if it has come."""
        return next((message for message in self.sent if message.get("id") == number), None)

    def call(self, tool: str) -> Wire:
        """The response to a call."""
        return self.ask("tools/call", {"name": tool, "arguments": {}})

    def task(self, tool: str) -> str:
        """Call a tool, which becomes a task; its id."""
        created = self.call(tool)["result"]
        created.pop("_meta")
        assert problems_of_created(created) == []
        found: str = created["taskId"]
        return found

    def state(self, task_id: str) -> Wire:
        """The present state of a task."""
        found: Wire = self.ask("tasks/get", {"taskId": task_id})["result"]
        assert problems_of_detailed(found) == []
        return found

    def until(self, task_id: str, status: str) -> Wire:
        """The state of a task once it has this status."""
        wait_until(lambda: self.state(task_id)["status"] == status)
        return self.state(task_id)

    def update(self, task_id: str, **responses: Any) -> Wire:
        """Respond to what a task asks."""
        return self.ask("tasks/update", {"taskId": task_id, "inputResponses": responses})

    def notified(self, method: str) -> list[Wire]:
        """The notifications that have come, by their method."""
        return [message["params"] for message in self.sent if message.get("method") == method]

    def _send(self, method: str, params: Wire, capabilities: Wire | None) -> tuple[int, list[Job]]:
        number = next(self._ids)
        meta = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": self._capabilities if capabilities is None else capabilities,
            "io.modelcontextprotocol/clientInfo": {"name": "t"},
            "io.modelcontextprotocol/logLevel": "debug",
            "progressToken": number,
        }
        return number, self.calls.receive(json.dumps(plain(number, method, {**params, "_meta": meta})).encode())

    def _take(self, outgoing: Outgoing) -> None:
        self.sent.append(json.loads(json.dumps(outgoing.message)))

    def _fail(self, what: str, _error: BaseException) -> None:
        self.failures.append(what)


def text_of(result: Wire) -> str:
    """The text of a tool's result."""
    text: str = result["content"][0]["text"]
    return text
