"""What is written piece by piece goes out at once."""

from __future__ import annotations

import socket
import struct
import threading
from typing import TYPE_CHECKING

import httpcore2
import pytest

from gaia_mcp.client.transports.http.network import MAX_HELD_BYTES, InterruptedExchangeError, Network, Stream
from gaia_mcp.deadline import WAIT_SLICE_SECONDS, Deadline
from tests.client.transports.http.certificates import Authority, server_context
from tests.client.transports.http.web import line_to, result, serving
from tests.waiting import ENOUGH_SECONDS, Clock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Ends = tuple[Stream, socket.socket]


@pytest.fixture
def ends() -> Iterator[Ends]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        stream = Network().connect_tcp("127.0.0.1", listener.getsockname()[1], 5)
        assert isinstance(stream, Stream)
        server, _ = listener.accept()
        server.settimeout(5)
        with server:
            yield stream, server
        stream.close()


def test_the_parts_of_a_request_are_sent_at_once(ends: Ends) -> None:
    """Ours: a server that receives the head alone is woken twice."""
    stream, server = ends
    stream.write(b"head ")
    stream.write(b"body")
    server.setblocking(False)
    with pytest.raises(BlockingIOError):
        server.recv(100)
    server.settimeout(5)
    server.sendall(b"response")

    assert stream.read(100, 5) == b"response"
    assert server.recv(100) == b"head body"


def test_a_long_body_is_not_buffered(ends: Ends) -> None:
    """Ours: it would be in memory twice."""
    stream, server = ends
    stream.write(b"x" * (MAX_HELD_BYTES + 1))

    assert server.recv(100) == b"x" * 100


@pytest.mark.parametrize("is_limited", [False, True])
def test_an_early_response_is_read_although_nothing_can_be_written(ends: Ends, is_limited: bool) -> None:
    """HTTP: a server may refuse a request before all of it has arrived, and close."""
    stream, server = ends
    stream.deadline = Deadline(ENOUGH_SECONDS) if is_limited else None
    server.sendall(b"refused")
    own = stream.get_extra_info("socket")
    own.shutdown(socket.SHUT_WR)
    stream.write(b"body")

    assert stream.read(100, 5) == b"refused"


def test_a_read_ends_at_its_deadline(ends: Ends) -> None:
    """Ours: a caller that reads by itself has a time limit; one that has passed before lets nothing be read."""
    stream, server = ends
    stream.deadline = Deadline(0.02)
    stream.write(b"request")

    with pytest.raises(InterruptedExchangeError):
        stream.read(100)
    assert server.recv(100) == b"request"
    with pytest.raises(InterruptedExchangeError):
        stream.read(100)


def test_a_read_ends_at_its_deadline_while_data_is_waiting(ends: Ends) -> None:
    """Ours: a server that never pauses would keep its caller for ever."""
    stream, server = ends
    clock = Clock()
    stream.deadline = Deadline(1, clock=clock)
    server.sendall(b": keep-alive\n\n" * 10)
    assert stream.read(4) == b": ke"
    clock.now += 1

    with pytest.raises(InterruptedExchangeError):
        stream.read(4)


def test_a_read_continues_while_its_deadline_is_held(ends: Ends) -> None:
    """Ours: a person may be answering a question."""
    stream, server = ends
    clock = Clock()
    stream.deadline = deadline = Deadline(1, clock=clock)
    deadline.hold()
    clock.now += 10
    threading.Timer(WAIT_SLICE_SECONDS * 1.5, server.sendall, [b"response"]).start()

    assert stream.read(100) == b"response"


def test_a_blocked_write_ends_at_the_deadline(ends: Ends) -> None:
    """Ours: a caller that sends by itself must not wait longer than its time limit for room in the connection."""
    stream, server = ends
    server.sendall(b"response")
    stream.deadline = Deadline(0.02)
    # More than the systems hold between two sockets. It is written only by the read, which ends.
    stream.write(b"x" * (64 << 20))

    with pytest.raises(InterruptedExchangeError):
        stream.read(100)
    assert server.recv(1) == b"x"


def test_a_connection_reset_is_a_read_error(ends: Ends) -> None:
    """Ours: as without a deadline."""
    stream, server = ends
    stream.deadline = Deadline(ENOUGH_SECONDS)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    server.close()

    with pytest.raises(httpcore2.ReadError):
        stream.read(100)


def test_a_request_is_sent_on_an_encrypted_connection(tmp_path: Path) -> None:
    """Ours: TLS wraps the stream, so that a request must go out through both."""
    authority = Authority(tmp_path)
    with serving(result, server_context(authority.signed("web"))) as web, line_to(web, ca=authority.file) as line:
        assert "result" in line.ask("tools/list").message()
