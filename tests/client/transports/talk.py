"""A conversation over a pipe that is a function, for the tests of both its halves."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.conversation.wire import WireConversation
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import ConnectError, MCPError

if TYPE_CHECKING:
    from gaia_mcp.client.conversation.exchange import Exchange
    from gaia_mcp.client.host import Host
    from gaia_mcp.protocol.events import Peer

Message = dict[str, Any]
# What a server says to a message: any number of messages.
Script = Callable[[Message], list[Message]]


class Here(WireConversation):
    """A conversation with a function: what is written reaches it at once, and its answers arrive at once."""

    def __init__(self, script: Script, host: Host | None = None) -> None:
        super().__init__()
        self.host = host
        self.script = script
        self.sent: list[Message] = []
        self.fails: BaseException | None = None
        self.given = ["hunter22"]

    @property
    def is_closing(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def write(self, data: bytes, deadline: Deadline) -> None:
        if self.fails is not None:
            raise self.fails
        message = json.loads(data)
        self.sent.append(message)
        for answer in self.script(message):
            self.arrives(answer)

    def arrives(self, message: Any) -> None:
        assert self._exchange is not None
        self._received(self._exchange, json.dumps(message).encode())

    def ends(self, error: MCPError) -> None:
        assert self._exchange is not None
        self._pipe_ended(self._exchange, error)

    def methods(self) -> list[str]:
        return [message.get("method", "(answer)") for message in self.sent]

    def open(self, *, probe: bool, deadline: Deadline) -> Peer:
        return self._negotiate(self._begin(self, probe=probe), deadline)

    def connect(self) -> bool:
        raise NotImplementedError

    def disconnect(self) -> None:
        self._exchange = None

    def _why_lost(self, exchange: Exchange, stage: str) -> MCPError:
        return exchange.lost or ConnectError(f"ended {stage}")

    def secrets(self) -> list[str]:
        return self.given


def result(asked: Message, value: Message) -> Message:
    return {"jsonrpc": "2.0", "id": asked["id"], "result": value}


def error(asked: Message, code: int, text: str, **more: Any) -> Message:
    return {"jsonrpc": "2.0", "id": asked["id"], "error": {"code": code, "message": text, **more}}


def handshake(message: Message) -> list[Message]:
    """A server that answers `initialize` and `ping`, and nothing else."""
    method = message.get("method")
    if method == "server/discover":
        return [error(message, -32601, "unknown")]
    if method == "initialize":
        capabilities = {"tools": {}, "logging": {}}
        return [result(message, {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": {}})]
    if method == "ping":
        return [result(message, {})]
    return []


def with_answers(answers: Script) -> Script:
    return lambda message: handshake(message) or ([] if "id" not in message else answers(message))


def opened(script: Script = handshake, host: Host | None = None) -> Here:
    talk = Here(script, host)
    talk.open(probe=True, deadline=Deadline(5))
    talk.sent.clear()
    return talk


def in_thread(work: Callable[[], Any]) -> tuple[threading.Thread, list[Any]]:
    """Runs `work` beside us; the list receives its result or its exception."""
    outcomes: list[Any] = []

    def run() -> None:
        try:
            outcomes.append(work())
        except BaseException as problem:
            outcomes.append(problem)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, outcomes


def asks(method: str, number: Any = 1) -> Message:
    """A server's own question."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {}}
