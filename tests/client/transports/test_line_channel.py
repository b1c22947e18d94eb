"""What the channels of one message per line have in common, over a pair of sockets."""

from __future__ import annotations

import socket
import threading
from queue import SimpleQueue
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.client.transports.line_channel import LONG_BYTES, in_words
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import (
    ConnectionLostError,
    DeadlineError,
    MCPError,
    RemoteProtocolError,
    ServerExitedError,
)
from gaia_mcp.protocol.connection import Outgoing
from gaia_mcp.text.redaction.masker import Masker
from tests.client.transports.sockets import new_channel
from tests.client.transports.talk import Heard, in_thread
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from gaia_mcp.client.transports.unix_socket import SocketChannel
    from gaia_mcp.protocol.jsonrpc import RequestId
    from tests.client.transports.sockets import OpenChannel

PING = Outgoing({"jsonrpc": "2.0", "method": "ping"})
# More than a socket holds.
LONG = Outgoing({"jsonrpc": "2.0", "method": "x" * 4_000_000})


def is_led(channel: SocketChannel) -> bool:
    """Whether a caller reads."""
    return channel._reading is not None and channel._reading._readers.state == "led"


def test_a_caller_reads_in_its_own_thread(socket_channel: OpenChannel) -> None:
    """Ours: it spares waking two threads for every response."""
    channel, heard, theirs = socket_channel()
    queue: SimpleQueue[str] = SimpleQueue()
    heard.on_record = lambda: queue.put(threading.current_thread().name)

    caller, outcomes = in_thread(lambda: channel.wait(queue, 1, Deadline(ENOUGH_SECONDS)))
    wait_until(lambda: is_led(channel))
    theirs.sendall(b"{}\n")
    caller.join(PATIENCE_SECONDS)

    assert outcomes == [caller.name]


def test_a_caller_of_many_requests_takes_no_processor_time_to_wait(socket_channel: OpenChannel) -> None:
    """Ours: what is measured needs it."""
    channel, _, _ = socket_channel()
    assert channel.has_one_stream
    assert channel._reading is not None

    channel.expect_many(1)

    assert not channel._reading._may_look


def test_a_reading_caller_can_be_cancelled(socket_channel: OpenChannel) -> None:
    """Ours: the clock stands still here, so only the cancellation can end the wait."""
    channel, _, _ = socket_channel()
    deadline, queue = Deadline(10, clock=lambda: 0.0), SimpleQueue[str]()
    deadline.on_cancel(channel.wake)
    thread, outcomes = in_thread(lambda: channel.wait(queue, 1, deadline))
    wait_until(lambda: is_led(channel))

    deadline.cancel()
    thread.join(PATIENCE_SECONDS)

    assert outcomes == [None]


def test_a_peer_that_hangs_does_not_end_the_channel(socket_channel: OpenChannel) -> None:
    """Ours: it may only be slow. The error of the caller quotes the log of its server."""
    channel, heard, _ = socket_channel()

    assert channel.wait(SimpleQueue[str](), 1, Deadline(0.01)) is None
    assert (heard.ends, channel.is_running()) == ([], True)
    assert channel.noise() == "the last line of its stderr: loading"


def test_a_channel_that_was_never_started_may_be_used_by_another_thread() -> None:
    """Ours: it has begun to wait, or wakes those that do."""
    fresh = new_channel(lambda _: pytest.fail("connected"))

    fresh.wake()
    assert fresh.wait(SimpleQueue(), 1, Deadline(0)) is None
    fresh.close(None)


def test_the_secrets_of_the_server_are_masked(socket_channel: OpenChannel) -> None:
    """Ours: a server without any has a masker too."""
    channel, _, _ = socket_channel()

    assert channel.masker().text("hunter22") == "****"
    channel._new_masker = None
    assert channel.masker().text("hunter22") == Masker().text("hunter22") == "hunter22"


def test_a_blocked_write_is_reported_as_a_server_that_does_not_read(socket_channel: OpenChannel) -> None:
    """Ours: after a part of a message nothing can be understood, and the channel has ended."""
    channel, heard, _ = socket_channel()

    with pytest.raises(DeadlineError, match="does not read its input"):
        channel.send(LONG, Deadline(0), "tools/list")

    (ended,) = heard.ends
    assert isinstance(ended, DeadlineError)
    assert ended.stage == "tools/list (it does not read its input)"
    assert not channel.is_running()


def test_an_unwritten_message_does_not_end_the_channel(socket_channel: OpenChannel) -> None:
    """Ours: a message of which nothing is out can be sent again; the server may yet read on."""
    channel, heard, _ = socket_channel()

    def fill() -> None:
        while True:
            channel.send(PING, Deadline(0), "ping")  # So short that a socket takes all of it or nothing.

    with pytest.raises(DeadlineError, match="ping"):
        fill()

    assert (heard.ends, channel.is_running()) == ([], True)


class Interrupting(Deadline):
    """Ctrl-C is pressed while a message is being written."""

    def remaining(self) -> float:
        raise KeyboardInterrupt


def test_a_write_interrupted_by_ctrl_c_ends_the_channel(socket_channel: OpenChannel) -> None:
    """Ours: what followed half a message could not be understood."""
    channel, heard, _ = socket_channel()

    with pytest.raises(KeyboardInterrupt):
        channel.send(LONG, Interrupting(ENOUGH_SECONDS), "tools/list")

    (ended,) = heard.ends
    assert isinstance(ended, ConnectionLostError)
    assert "because writing to it was interrupted" in ended.message


def test_a_read_interrupted_by_ctrl_c_ends_the_channel(socket_channel: OpenChannel) -> None:
    """Ours: at once, and with the reason, although the server runs on; a tool that another thread has called may have
    run.
    """

    def interrupt() -> None:
        raise KeyboardInterrupt

    channel, heard, theirs = socket_channel()
    heard.on_record = interrupt
    caller, outcomes = in_thread(lambda: channel.wait(SimpleQueue(), 1, Deadline(ENOUGH_SECONDS)))
    wait_until(lambda: is_led(channel))

    theirs.sendall(b"{}\n")
    caller.join(PATIENCE_SECONDS)
    wait_until(lambda: heard.ends)

    assert isinstance(outcomes[0], KeyboardInterrupt)
    assert isinstance(heard.ends[0], ConnectionLostError)
    assert "because reading from it was interrupted" in heard.ends[0].message


@pytest.mark.parametrize(
    ("output", "records"),
    [
        (b"Connecting ...\nno [configuration]", [b"Connecting ...", b"no [configuration]"]),
        (b'{"a": 1}\n{"b": 2}', [b'{"a": 1}', b'{"b": 2}']),
        (b'{"a": 1}\n{"b', [b'{"a": 1}']),
    ],
)
def test_lines_are_delivered_up_to_the_end(socket_channel: OpenChannel, output: bytes, records: list[bytes]) -> None:
    """Ours: the conversation quotes those that are not JSON. Some servers do not end the last line, and an end may cut
    it.
    """
    _, heard, theirs = socket_channel()

    theirs.sendall(output)
    theirs.close()
    wait_until(lambda: heard.ends)

    assert heard.records == records
    assert isinstance(heard.ends[0], ServerExitedError)


@pytest.mark.parametrize(
    ("output", "problem"),
    [(b"Content-Length: 10\r\n", "frames its messages with Content-Length"), (b"x" * 2000, "more than 1000 bytes")],
)
def test_output_that_cannot_be_read_ends_the_channel(socket_channel: OpenChannel, output: bytes, problem: str) -> None:
    """Ours: language servers frame their messages otherwise, and a line that never ends would fill the memory. What
    follows is read, so that the other end is not blocked, and ignored.
    """
    _, heard, theirs = socket_channel(max_record_bytes=1000)

    theirs.sendall(output)
    wait_until(lambda: heard.ends)
    theirs.sendall(b"\n{}\n" + b" " * 1_000_000)
    theirs.close()
    wait_until(lambda: len(heard.ends) == 2)

    assert heard.records == []
    for error in heard.ends:
        assert isinstance(error, RemoteProtocolError)
        assert problem in error.message


@pytest.mark.parametrize(
    ("line", "is_message"), [(b'{"a": "%s"}', True), (b'{"a": "%s"', False), (b'{"a": "\xff%s"}', False)]
)
def test_a_long_record_is_delivered_as_a_message_if_it_is_valid(
    socket_channel: OpenChannel, line: bytes, is_message: bool
) -> None:
    """Ours: it is parsed at once, so that it is not in memory twice; an invalid one is reported by the conversation."""
    text = b"x" * LONG_BYTES
    _, heard, theirs = socket_channel()

    theirs.sendall(line % text + b"\n")
    theirs.close()
    wait_until(lambda: heard.ends)

    assert heard.messages == ([{"a": text.decode()}] if is_message else [])
    assert heard.records == ([] if is_message else [line % text])


def test_a_message_that_no_caller_waits_for_is_sent(socket_channel: OpenChannel) -> None:
    """Ours: cancellations, and responses to the server's requests."""
    channel, _, theirs = socket_channel()

    channel.send_soon(PING)

    assert theirs.recv(1000) == b'{"jsonrpc":"2.0","method":"ping"}\n'


def test_what_a_peer_has_sent_before_it_closed_is_read(socket_channel: OpenChannel) -> None:
    """Ours: also if a message can no longer be sent."""
    channel, heard, theirs = socket_channel()
    theirs.sendall(b'{"a": 1}\n')
    theirs.close()

    with pytest.raises(ServerExitedError, match="while answering tools/list"):
        channel.send(PING, Deadline(ENOUGH_SECONDS), "tools/list")

    assert heard.records == [b'{"a": 1}']


class Responding(Heard):
    """Sends a message for each that arrives, on the thread that reads."""

    def __init__(self) -> None:
        super().__init__()
        self.channel: SocketChannel | None = None
        self.raised: list[MCPError] = []

    def receive(self, record: bytes, about: RequestId | None = None) -> None:
        super().receive(record, about)
        assert self.channel is not None
        try:
            self.channel.send(PING, Deadline(ENOUGH_SECONDS), "ping")
        except MCPError as error:
            self.raised.append(error)


def test_a_failed_write_on_the_reading_thread_is_reported(socket_channel: OpenChannel) -> None:
    """Ours: it cannot wait for itself to read what is left."""
    channel, _, theirs = socket_channel()
    heard = channel._receiver = Responding()
    heard.channel = channel
    theirs.shutdown(socket.SHUT_RD)

    theirs.sendall(b"{}\n")
    wait_until(lambda: heard.raised)

    assert heard.records == [b"{}"]
    assert isinstance(heard.raised[0], ServerExitedError)


def test_a_stage_is_worded_for_an_error() -> None:
    """Ours: a request is being answered; the other stages are words already."""
    assert [in_words(stage) for stage in ("tools/list", "at its start", "before it was asked to")] == [
        "while answering tools/list",
        "at its start",
        "before it was asked to",
    ]
