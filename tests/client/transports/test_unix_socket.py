"""A server over a Unix socket: a real one at the other end, and peers that hang, close, or send what they must not."""

from __future__ import annotations

import os
import resource
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.client.transports.unix_socket import Connected
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import (
    CallLostError,
    ConnectError,
    ConnectionLostError,
    DeadlineError,
    MCPError,
    NotConnectedError,
    ServerExitedError,
)
from gaia_mcp.protocol.connection import Outgoing
from tests.client.eras import ERAS
from tests.client.transports.sockets import Listening, new_channel, transport_of
from tests.client.transports.talk import Heard, in_thread
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from gaia_mcp.client.transports.unix_socket import SocketChannel
    from tests.client.transports.sockets import OpenChannel

PING = Outgoing({"jsonrpc": "2.0", "method": "ping"})
# More than a socket holds.
LONG = Outgoing({"jsonrpc": "2.0", "method": "x" * 4_000_000})


class Agent:
    """Tools that echo, and that wait for the test."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.is_called = threading.Event()

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        return [{"name": "echo"}, {"name": "slow"}]

    def execute_mcp_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        if name == "slow":
            self.is_called.set()
            assert self.go.wait(PATIENCE_SECONDS)
        return arguments


@pytest.fixture
def agent() -> Iterator[Agent]:
    """An agent whose tools all return at the end."""
    agent = Agent()
    yield agent
    agent.go.set()


@pytest.fixture
def listening(tmp_path: Path, agent: Agent) -> Iterator[Listening]:
    """A server of the agent on a socket; at the end no client may be connected, and no thread be left."""
    before = set(threading.enumerate())
    server = Listening(tmp_path, agent)
    yield server
    agent.go.set()
    server.close()
    wait_until(lambda: not [one for one in set(threading.enumerate()) - before if one.name.endswith("socket")])


@pytest.mark.parametrize("revision", ERAS)
@pytest.mark.parametrize("busy_polls", [True, False])
def test_a_client_uses_a_server_over_a_socket(listening: Listening, revision: str, busy_polls: bool) -> None:
    """Spec, both eras: the messages are those of stdio."""
    client = MCPClient(
        "calc", transport_of(listening.open, busy_polls=busy_polls), timeout=ENOUGH_SECONDS, revision=revision
    )
    with client:
        client.open()
        assert [tool.name for tool in client.list_tools()] == ["echo", "slow"]
        results = [client.call("echo", {"text": "x" * length}) for length in (1, 3_000_000)]

        assert [len(result["structuredContent"]["text"]) for result in results] == [1, 3_000_000]
        assert client.protocol_version == revision


def test_several_threads_share_a_connection(listening: Listening, agent: Agent) -> None:
    """Ours: a slow call does not delay the others."""
    with MCPClient("calc", transport_of(listening.open), timeout=ENOUGH_SECONDS) as client:
        client.open()
        slow, outcomes = in_thread(lambda: client.call("slow", {"a": 1}))
        assert agent.is_called.wait(PATIENCE_SECONDS)

        assert client.call("echo", {"b": 2})["structuredContent"] == {"b": 2}
        agent.go.set()
        slow.join(PATIENCE_SECONDS)

        assert [outcome["structuredContent"] for outcome in outcomes] == [{"a": 1}]


def test_a_call_whose_connection_is_closed_may_have_run(listening: Listening, agent: Agent) -> None:
    """Ours, as over stdio: it is not sent again, and the error has what the opener of the socket knows."""
    with MCPClient("calc", transport_of(listening.open), timeout=ENOUGH_SECONDS) as client:
        client.open()
        slow, outcomes = in_thread(lambda: client.call("slow", {}))
        assert agent.is_called.wait(PATIENCE_SECONDS)
        listening.hang_up()
        slow.join(PATIENCE_SECONDS)

        (error,) = outcomes
        assert isinstance(error, CallLostError)
        assert (error.tool, error.returncode, error.stage) == ("slow", 3, "while answering tools/call 'slow'")
        # The next request connects again.
        assert client.call("echo", {"a": 1})["structuredContent"] == {"a": 1}


def test_an_idle_connection_that_was_closed_is_replaced(listening: Listening) -> None:
    """Ours: nothing of the request was sent, so that a tool can be called on the new connection."""
    with MCPClient("calc", transport_of(listening.open), timeout=ENOUGH_SECONDS) as client:
        client.open()
        listening.hang_up()

        assert not client.is_connected()
        assert client.call("echo", {"a": 1})["structuredContent"] == {"a": 1}
        assert len(listening.ends) == 2


def test_a_transport_tells_what_its_opener_knows(listening: Listening) -> None:
    """Ours: without the secrets of the server."""
    transport = transport_of(listening.open)

    assert repr(transport) == "<SocketTransport 'calc', not connected>"
    assert transport.connect()
    assert repr(transport) == "<SocketTransport 'calc', connected>"
    assert transport.stderr_tail() == "no ****"
    assert transport.masker().text("hunter22") == "****"
    transport.disconnect()
    transport.disconnect()


def test_records_pass_in_both_directions(socket_channel: OpenChannel) -> None:
    """Ours: one message per line; what the opener has already received comes first."""
    talk, heard, theirs = socket_channel(b'{"a": 1}\n{"b"')
    assert heard.records == [b'{"a": 1}']

    talk.send(PING, Deadline(ENOUGH_SECONDS), "ping")
    talk.send_soon(PING)
    theirs.sendall(b": 2}\n")
    wait_until(lambda: len(heard.records) == 2)

    assert heard.records[1] == b'{"b": 2}'
    sent = b"".join(theirs.recv(34, socket.MSG_WAITALL) for _ in range(2))
    assert sent == b'{"jsonrpc":"2.0","method":"ping"}\n' * 2
    assert (talk.is_running(), heard.ends) == (True, [])
    assert talk.attributes() == {"network.transport": "unix"}
    assert talk.noise() == "the last line of its stderr: loading"


def test_a_channel_that_was_never_started_may_be_closed() -> None:
    """Ours: another thread may disconnect before its start."""
    fresh = new_channel(lambda _: pytest.fail("connected"))

    assert not fresh.is_running()
    fresh.close(None)
    fresh.close(None)


def raising(problem: BaseException) -> Callable[[Deadline], Connected]:
    def connect(_: Deadline) -> Connected:
        raise problem

    return connect


@pytest.mark.parametrize(
    ("problem", "kind", "words"),
    [
        (FileNotFoundError(2, "No such file or directory"), ConnectError, "could not be reached: No such file"),
        (MemoryError(), ConnectError, "could not be reached: out of memory"),
        (TimeoutError("timed out"), DeadlineError, "at its start"),
        (NotConnectedError("calc"), NotConnectedError, "Not connected"),
    ],
)
def test_a_socket_that_cannot_be_opened_is_an_error(problem: BaseException, kind: type[MCPError], words: str) -> None:
    """Ours: an error of the opener is passed on, one of the system is translated."""
    talk = new_channel(raising(problem))

    with pytest.raises(kind, match=words):
        talk.start(Heard(), Deadline(ENOUGH_SECONDS))
    talk.close(None)


def test_running_out_of_descriptors_at_the_start_is_an_error() -> None:
    """Ours: nothing of the connection is left then."""
    ours, theirs = socket.socketpair()
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with open(os.devnull, "rb") as lowest:  # noqa: PTH123
        free = lowest.fileno()
    talk = new_channel(lambda _: Connected(ours))
    resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
    try:
        with pytest.raises(ConnectError, match="Too many open files"):
            talk.start(Heard(), Deadline(ENOUGH_SECONDS))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    talk.close(None)

    assert theirs.recv(1) == b""
    theirs.close()


def test_a_channel_is_closed_while_it_starts() -> None:
    """Ours: another thread may disconnect at any moment; the socket is closed whichever comes first."""
    ours, theirs = socket.socketpair()

    def connect(_: Deadline) -> Connected:
        talk.close(None)
        return Connected(ours)

    talk = new_channel(connect)
    talk.start(Heard(), Deadline(ENOUGH_SECONDS))

    assert theirs.recv(1) == b""
    theirs.close()


class ClosesFirst(Heard):
    """Closes the channel with the first record."""

    def __init__(self) -> None:
        super().__init__()
        self.talk: SocketChannel | None = None

    def receive(self, record: bytes, about: Any = None) -> None:
        assert self.talk is not None
        self.talk.close(None)


def test_a_channel_may_be_closed_by_what_its_opener_has_received() -> None:
    """Ours: its thread does not run yet."""
    ours, theirs = socket.socketpair()
    heard = ClosesFirst()
    heard.talk = new_channel(lambda _: Connected(ours, b"{}\n"))
    heard.talk.start(heard, Deadline(ENOUGH_SECONDS))

    assert theirs.recv(1) == b""
    theirs.close()


def test_a_channel_may_be_closed_by_what_arrives() -> None:
    """Ours: its thread cannot wait for itself."""
    ours, theirs = socket.socketpair()
    heard = ClosesFirst()
    heard.talk = new_channel(lambda _: Connected(ours))
    heard.talk.start(heard, Deadline(ENOUGH_SECONDS))
    theirs.sendall(b"{}\n")

    assert theirs.recv(1) == b""
    theirs.close()


def test_a_peer_that_closes_is_reported_to_each_caller(socket_channel: OpenChannel) -> None:
    """Ours: each reads what it was waiting for."""
    talk, heard, theirs = socket_channel()
    theirs.close()
    wait_until(lambda: heard.ends)

    (ended,) = heard.ends
    assert isinstance(ended, ServerExitedError)
    assert ended.stage == "before it was asked to"
    lost = talk.why_lost("tools/list")
    assert isinstance(lost, ServerExitedError)
    assert (lost.stage, talk.is_running()) == ("while answering tools/list", False)


def test_a_peer_that_closes_without_reading_is_reported(socket_channel: OpenChannel) -> None:
    """Linux reports a reset then, in place of the end."""
    talk, heard, theirs = socket_channel()
    talk.send(PING, Deadline(ENOUGH_SECONDS), "ping")
    theirs.close()
    wait_until(lambda: heard.ends)

    assert isinstance(heard.ends[0], ServerExitedError)


def test_a_peer_that_no_longer_reads_is_reported(socket_channel: OpenChannel) -> None:
    """Ours: its output is still open, so that no end is noticed there."""
    talk, heard, theirs = socket_channel()
    theirs.shutdown(socket.SHUT_RD)

    with pytest.raises(ServerExitedError, match="while answering tools/list") as caught:
        talk.send(PING, Deadline(ENOUGH_SECONDS), "tools/list")

    assert heard.ends == [caught.value]


def test_sending_on_a_closed_channel_raises_not_connected(socket_channel: OpenChannel) -> None:
    """Ours: another thread has disconnected."""
    talk, heard, _ = socket_channel()
    talk.close(None)

    with pytest.raises(NotConnectedError):
        talk.send(PING, Deadline(ENOUGH_SECONDS), "tools/list")
    assert isinstance(talk.why_lost("x"), NotConnectedError)
    assert {type(end) for end in heard.ends} == {NotConnectedError}


class Interrupting(Deadline):
    """Ctrl-C is pressed while a message is being written."""

    def remaining(self) -> float:
        raise KeyboardInterrupt


def test_a_write_interrupted_by_ctrl_c_ends_the_channel(socket_channel: OpenChannel) -> None:
    """Ours: what followed half a message could not be understood; a tool that another thread called may have run."""
    talk, heard, _ = socket_channel()

    with pytest.raises(KeyboardInterrupt):
        talk.send(LONG, Interrupting(ENOUGH_SECONDS), "tools/list")

    for error in (*heard.ends, talk.why_lost("tools/call 't'")):
        assert type(error) is ConnectionLostError
        assert "because writing to it was interrupted" in error.message
    assert talk.why_lost("tools/call 't'").message.endswith("while answering tools/call 't'")
