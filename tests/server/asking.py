"""Clients of both eras that answer what a running call asks, and an agent whose tools ask."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.asking import current_call
from gaia_mcp.protocol.server import ServerConnection
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.calls import Calls
from tests.server.talk import plain

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.asking import Call
    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.server.outcomes import Job
    from gaia_mcp.server.running_call import RunningCall


Wire = dict[str, Any]
CAPABILITIES: Wire = {"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}}
NAME: Wire = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ADA: Wire = {"action": "accept", "content": {"name": "Ada"}}
ROOTS: Wire = {"roots": [{"uri": "file:///a", "name": "A"}]}
THOUGHT: Wire = {"role": "assistant", "content": {"type": "text", "text": "hm"}, "model": "m"}

BOTH = pytest.mark.parametrize("era", ["handshake", "stateless"])


class Tools:
    """An agent whose tools are functions of the running call."""

    def __init__(self, **tools: Callable[[Call], Any]) -> None:
        self.tools = tools

    def get_mcp_tool_definitions(self) -> list[Wire]:
        """As every agent."""
        return [{"name": name, "description": "", "inputSchema": {"type": "object"}} for name in self.tools]

    def execute_mcp_tool(self, name: str, arguments: Wire) -> Any:
        """As every agent."""
        return self.tools[name](current_call())

    def get_mcp_prompts(self) -> list[Wire]:
        """As every agent."""
        return [{"name": "who"}, {"name": "known"}]

    def get_mcp_prompt(self, name: str, arguments: Wire) -> str:
        """A prompt that asks."""
        answer = current_call().elicit("Who?", NAME)
        return f"I am {answer if name == 'who' else answer.value['name']}"


class Person:
    """A client of an era, or of a revision of the handshake era. It answers questions by their message or method, and
    keeps what it was asked.
    """

    def __init__(self, era: str, agent: Tools, capabilities: Wire = CAPABILITIES, **answers: Any) -> None:
        self.era = era
        self.answers = {"Who?": ADA, "roots/list": ROOTS, "sampling/createMessage": THOUGHT, **answers}
        self.asked: list[str] = []
        self.logged: list[Any] = []
        self.requests = 0
        self.agent = agent
        self._capabilities = capabilities
        self._responses: dict[int, Wire] = {}
        self._answered = threading.Event()
        self.provider = provider = AgentProvider(agent)
        # The calls whose streams were to be closed.
        self.closed: list[RunningCall] = []
        connection = ServerConnection(provider.describe())
        self.calls = Calls(connection, provider, self._take, close_stream=self.closed.append)
        if era != "stateless":
            version = "2025-11-25" if era == "handshake" else era
            params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "t"}}
            self.give(plain("i", "initialize", params))
            self.give({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def give(self, message: Wire) -> list[Job]:
        """Hand in a message; the jobs that it makes."""
        return self.calls.receive(json.dumps(message).encode())

    def call(self, tool: str, **more: Any) -> Wire:
        """Call a tool to the end, and answer what is asked on the way; its response."""
        return self.ask("tools/call", {"name": tool, "arguments": {}, **more})

    def ask(self, method: str, params: Wire) -> Wire:
        """As `call`, for any method."""
        while True:
            response = self.send(method, params)
            result = response.get("result", {})
            if result.get("resultType") != "input_required":
                return response
            answers = {key: self._answer(asked) for key, asked in result["inputRequests"].items()}
            params = {**params, "inputResponses": answers, "requestState": result["requestState"]}

    def send(self, method: str, params: Wire) -> Wire:
        """One request; its response."""
        (job,) = self.start(method, params)
        self.calls.run(job)
        return self._responses[self.requests]

    def start(self, method: str, params: Wire) -> list[Job]:
        """One request; its jobs."""
        self.requests += 1
        if self.era == "stateless":
            meta = {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": self._capabilities,
                "io.modelcontextprotocol/clientInfo": {"name": "t"},
                "io.modelcontextprotocol/logLevel": "info",
                "progressToken": self.requests,
            }
            params = {**params, "_meta": {**params.get("_meta", {}), **meta}}
        return self.give(plain(self.requests, method, params))

    def _take(self, outgoing: Outgoing) -> None:
        message: Any = outgoing.message
        if "method" not in message:
            self._responses[message["id"]] = message
        elif "id" in message:
            answer = self._answer(message)
            if answer is not None:
                reply = {"jsonrpc": "2.0", "id": message["id"], "result": answer}
                if isinstance(answer, Exception):
                    reply = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -1, "message": str(answer)}}
                # As a client does: in a thread of its own, while the tool waits.
                threading.Thread(target=self.give, args=(reply,)).start()
        else:
            self.logged.append(message["params"].get("data", message["params"].get("progress", message["method"])))

    def _answer(self, asked: Wire) -> Any:
        what = asked.get("params", {}).get("message", asked["method"])
        self.asked.append(what)
        answer = self.answers[what]
        return answer.pop(0) if isinstance(answer, list) else answer


def text_of(response: Wire) -> str:
    """The text of a tool's result."""
    text: str = response["result"]["content"][0]["text"]
    return text
