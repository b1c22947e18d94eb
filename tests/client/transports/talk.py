"""A conversation with a function, over a channel in memory."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.conversation.engine import ChannelTransport
from gaia_mcp.client.host import Host
from gaia_mcp.client.transports.in_process import MemoryChannel
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.text.redaction.masker import Masker
from tests.waiting import Clock

if TYPE_CHECKING:
    from gaia_mcp.client.conversation import Conversation
    from gaia_mcp.core.errors import MCPError
    from gaia_mcp.protocol.events import Peer
    from gaia_mcp.protocol.jsonrpc import RequestId

Message = dict[str, Any]
# What a server says to a message: any number of messages.
Script = Callable[[Message], list[Message]]


class Heard:
    """Keeps what a channel hands over."""

    def __init__(self) -> None:
        self.records: list[bytes] = []
        # Those that were handed over as values.
        self.messages: list[Any] = []
        self.ends: list[MCPError] = []
        self.on_record: Callable[[], None] = lambda: None

    def receive(self, record: bytes, about: RequestId | None = None) -> None:
        self.records.append(record)
        self.on_record()

    def receive_message(self, value: Any, about: RequestId | None = None) -> None:
        self.messages.append(value)

    def request_failed(self, about: RequestId, error: MCPError) -> None:
        raise NotImplementedError

    def channel_ended(self, error: MCPError) -> None:
        self.ends.append(error)


def opened_by(transport: ChannelTransport, *, probe: bool, deadline: Deadline) -> Peer:
    """Connects and negotiates, with `initialize` first unless `probe`, whatever the cache knows."""
    engine = transport.engine
    disconnects = engine._disconnects
    with engine.alone(deadline):
        return engine._connect(deadline, disconnects, probe=probe)


class Impatient(Deadline):
    """A deadline that has no time for its steps; keeps how much was wanted for each."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds, clock=Clock())
        self.steps: list[float] = []

    def sooner(self, seconds: float) -> Deadline:
        self.steps.append(seconds)
        return super().sooner(0)


class Reading(MemoryChannel):
    """A channel whose other end is known to have read everything."""

    def is_drained(self) -> bool:
        return True


class OneStream(MemoryChannel):
    """A channel that says that all responses arrive in one place, as they do."""

    has_one_stream = True


class Talk(ChannelTransport):
    """A client's end: what it sends reaches `script` at once, and the messages that returns arrive at once."""

    def __init__(self, script: Script, host: Host | None = None, channel: type[MemoryChannel] = MemoryChannel) -> None:
        super().__init__(self.make_channel, timeout=2)
        self.engine.host = host or Host()
        self.channel = channel
        self.script = script
        self.sent: list[Message] = []
        self.fails: BaseException | None = None
        self.given = ["hunter22"]
        self.channels: list[MemoryChannel] = []

    def make_channel(self) -> MemoryChannel:
        channel = self.channel(self.name, lambda record: self.deliver(channel, record), Masker(self.given))
        self.channels.append(channel)
        return channel

    def deliver(self, channel: MemoryChannel, record: bytes) -> None:
        if self.fails is not None:
            raise self.fails
        message = json.loads(record)
        self.sent.append(message)
        for answer in self.script(message):
            channel.arrive(json.dumps(answer).encode())

    def arrives(self, message: Any) -> None:
        """The server sends a message, or a line that is none."""
        self.channels[-1].arrive(message if isinstance(message, bytes) else json.dumps(message).encode())

    def fails_request(self, request_id: RequestId, error: MCPError) -> None:
        """The channel reports that a request gets no response."""
        self.channels[-1].fail(request_id, error)

    def ends(self, error: MCPError) -> None:
        self.channels[-1].end(lambda _: error)

    def open(self, *, probe: bool, deadline: Deadline) -> Peer:
        return opened_by(self, probe=probe, deadline=deadline)

    @property
    def peer(self) -> Peer | None:
        return self.engine.peer

    @property
    def conversation(self) -> Conversation:
        return self.engine.conversation

    @property
    def is_open(self) -> bool:
        return (current := self.engine.current) is not None and current.is_open

    def request(self, method: str, params: dict[str, Any] | None, deadline: Deadline, **how: Any) -> dict[str, Any]:
        return self.conversation.request(method, params, deadline, **how)

    def check_alive(self, deadline: Deadline) -> None:
        self.conversation.check_alive(deadline)

    def want_logs(self, level: str, deadline: Deadline) -> None:
        self.conversation.want_logs(level, deadline)

    def methods(self) -> list[str]:
        return [message.get("method", "(answer)") for message in self.sent]


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


def opened(script: Script = handshake, host: Host | None = None) -> Talk:
    talk = Talk(script, host)
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


def progress_of(asked: Message, *steps: float) -> list[Message]:
    token = asked["params"]["_meta"]["progressToken"]
    return [
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": step}}
        for step in steps
    ]
