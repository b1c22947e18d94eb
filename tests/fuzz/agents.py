"""A real agent behind the calls of a server, against mutated messages of a client."""

from __future__ import annotations

import contextlib
import os
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.agents.base.mcp_agent import MCPAgent
from gaia_mcp.agents.base.tools import tool
from gaia_mcp.asking import current_call
from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR
from gaia_mcp.protocol.server import ServerConnection
from gaia_mcp.protocol.subscriptions import MAX_SUBSCRIPTIONS
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.calls import Calls
from gaia_mcp.server.outcomes import encode_outgoing
from tests.fuzz.oracles import Fault, read_strictly
from tests.fuzz.servers import ClientsMessages, ServerSession

if TYPE_CHECKING:
    from random import Random

    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.server.outcomes import Job

Wire = dict[str, Any]
PROMPT = {"type": "ref/prompt", "name": "greet"}
ASKED: dict[str, list[Wire | None]] = {
    "tools/list": [None, {"cursor": "p2"}],
    "tools/call": [
        {"name": "echo", "arguments": {"value": {"a": [1, "x", None]}}},
        {"name": "add", "arguments": {"a": 1, "b": 2.5, "more": [1, 2]}},
        {"name": "fail", "arguments": {"message": "no"}},
        {"name": "report", "arguments": {"steps": 2}},
    ],
    "prompts/list": [None],
    "prompts/get": [{"name": "greet", "arguments": {"name": "Ada"}}],
    "resources/list": [None],
    "resources/templates/list": [None],
    "resources/read": [{"uri": "odd://a"}],
    "completion/complete": [{"ref": PROMPT, "argument": {"name": "name", "value": "A"}}],
}


class OddAgent(MCPAgent):
    """Gives back what it gets, in every way that there is."""

    @tool
    def echo(self, value: Any) -> Any:
        """Return the value."""
        return value

    @tool
    def add(self, a: int, b: float, more: list[float] | None = None) -> float:
        """Add numbers."""
        return a + b + sum(more or ())

    @tool
    def fail(self, message: str) -> None:
        """Fail."""
        raise RuntimeError(message)

    @tool
    def report(self, steps: int = 1) -> str:
        """Report progress and write to the log."""
        call = current_call()
        for step in range(min(steps, 3)):
            call.progress(step, steps, f"step {step}")
            call.log("warning", {"steps": steps})
        return str(steps)

    def get_mcp_prompts(self) -> list[dict[str, Any]]:
        return [{"name": "greet", "arguments": [{"name": "name", "required": True}]}]

    def get_mcp_prompt(self, name: str, arguments: dict[str, str]) -> str:
        """A text with the arguments in it."""
        return f"Greet {arguments.get('name')} for {name}"

    def get_mcp_resources(self) -> list[dict[str, Any]]:
        return [{"uri": "odd://a", "name": "a"}]

    def read_mcp_resource(self, uri: str) -> str:
        """The URI as text."""
        return f"this is {uri}"


class AgentSession(ServerSession):
    """As `ServerSession`, where `OddAgent` answers, each call when its turn comes. What it raises is a fault."""

    def __init__(self, random: Random) -> None:
        self.provider = AgentProvider(OddAgent())
        super().__init__(random)
        self.client = ClientsMessages(random, ASKED)
        self._sent: deque[Outgoing] = deque()
        self._jobs: list[Job] = []
        self._calls = Calls(self.server, self.provider, self._sent.append)

    def run(self, count: int) -> int:
        # The tracebacks of tools that fail.
        with Path(os.devnull).open("w", errors="backslashreplace") as nowhere, contextlib.redirect_stderr(nowhere):
            return super().run(count)

    def new_connection(self) -> ServerConnection:
        return ServerConnection(self.provider.describe())

    def act(self) -> None:
        if self._jobs and self.random.random() < 0.7:
            self._calls.run(self._jobs.pop(self.random.randrange(len(self._jobs))))
            self._look_at_sent()

    def receive(self, line: bytes) -> None:
        self._jobs += self._calls.receive(line)
        self._look_at_sent()

    def finish(self) -> None:
        while self._jobs:
            self._calls.run(self._jobs.pop())
            self._look_at_sent()
        if len(self._calls):
            raise Fault(f"{len(self._calls)} calls run that have no job")
        self._calls.close()
        self._look_at_sent()
        self.check_paid()

    def written(self, message: Wire | list[Wire]) -> Any:
        return read_strictly(encode_outgoing(message))

    def take(self, read: Any) -> None:
        for message in read if isinstance(read, list) else [read]:
            error = message.get("error", {})
            # The failures of the agent are results, so this is a failure of ours. What is nested so deeply that it can
            # just be read may be too deep for a result that repeats it.
            expected = (str(MAX_SUBSCRIPTIONS), "nested too deeply")
            if error.get("code") == INTERNAL_ERROR and not any(text in error["message"] for text in expected):
                raise Fault(f"an internal error: {error['message']}")
        super().take(read)

    def _look_at_sent(self) -> None:
        sent = list(self._sent)
        self._sent.clear()
        self.check(sent)
