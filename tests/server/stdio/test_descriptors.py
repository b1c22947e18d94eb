"""The pipes of this very process, put back after each test."""

from __future__ import annotations

import io
import os
import socket
import sys
import tempfile
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import pytest

from gaia_mcp.server.stdio.descriptors import READ_BYTES, GuardedPipes
from tests.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

MUCH = 3_000_000


class Guarded(NamedTuple):
    """Guarded pipes, the client's end of them, and what has been written to stderr meanwhile."""

    pipes: GuardedPipes
    client: socket.socket
    log: int

    def stderr(self) -> list[bytes]:
        """The lines of the log."""
        return os.pread(self.log, 65536, 0).splitlines()


@contextmanager
def guarded(*, blocking: bool = True) -> Iterator[Guarded]:
    """Put a socket in the place of stdin and stdout and a file in that of stderr, and guard them. Used within a test,
    for pytest puts its own files there between its phases.
    """
    kept = [os.dup(number) for number in range(3)]
    stdout = sys.stdout
    client, server = socket.socketpair()
    client.settimeout(PATIENCE_SECONDS)
    server.setblocking(blocking)
    with client, tempfile.TemporaryFile() as log:
        try:
            for number, new in enumerate((server.fileno(), server.fileno(), log.fileno())):
                os.dup2(new, number)
            server.close()
            sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False))
            pipes = GuardedPipes()
            yield Guarded(pipes, client, log.fileno())
            os.close(pipes._input)
            os.close(pipes._output)
        finally:
            sys.stdout = stdout
            for number, old in enumerate(kept):
                os.dup2(old, number)
                os.close(old)


def test_the_pipes_can_be_read_and_written() -> None:
    """Ours: under other numbers, as they came."""
    with guarded() as (pipes, client, _):
        client.sendall(b"question\n")
        assert pipes.read() == b"question\n"

        pipes.write(b"answer\n")
        assert client.recv(100) == b"answer\n"


def test_other_output_to_stdout_goes_to_stderr() -> None:
    """Spec, IO-2: only messages on stdout. A print is out after each line, for the process may be killed."""
    with guarded() as one:
        print("printed")
        os.write(1, b"written\n")
        one.pipes.write(b"message\n")
        logged, received = one.stderr(), one.client.recv(100)

    assert logged == [b"printed", b"written"]
    assert received == b"message\n"


def test_other_readers_of_stdin_get_end_of_file() -> None:
    """Ours: what the client sends is not for the agent."""
    with guarded() as (pipes, client, _):
        client.sendall(b"question\n")
        others, ours = os.read(0, 100), pipes.read()

    assert others == b""
    assert ours == b"question\n"


def test_the_private_descriptors_are_not_inheritable() -> None:
    """Ours: a child that outlives the server must not hold the client's pipes open."""
    with guarded() as (pipes, _, _):
        inherited = [os.get_inheritable(number) for number in (pipes._input, pipes._output)]

    assert inherited == [False, False]


def test_a_stdout_that_is_not_a_text_stream_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: an object that another program put there has no lines to flush."""
    with guarded() as (_, client, _):
        monkeypatch.setattr(sys, "stdout", io.StringIO())
        os.dup2(client.fileno(), 1)
        pipes = GuardedPipes()
        os.close(pipes._input)
        os.close(pipes._output)
        print("printed")
        monkeypatch.undo()


def test_the_end_of_input_is_read_as_empty_bytes() -> None:
    """Ours: as of a file."""
    with guarded() as (pipes, client, _):
        client.shutdown(socket.SHUT_WR)
        assert pipes.read() == b""


def test_a_non_blocking_socket_is_waited_for() -> None:
    """Ours: node hands sockets to its children, and other parents leave them without blocking."""
    received = bytearray()
    with guarded(blocking=False) as (pipes, client, _):

        def receive() -> None:
            while len(received) < MUCH:
                received.extend(client.recv(READ_BYTES))

        sender = threading.Timer(0.02, client.sendall, [b"question\n"])
        sender.start()
        assert pipes.read() == b"question\n"
        receiver = threading.Timer(0.02, receive)
        receiver.start()
        pipes.write(b"x" * MUCH)
        receiver.join(PATIENCE_SECONDS)
        sender.join(PATIENCE_SECONDS)

    assert len(received) == MUCH


def test_a_connection_reset_is_the_end_of_input() -> None:
    """Ours: a socket that is closed with something unread on the way is reset."""
    with guarded() as (pipes, client, _):
        pipes.write(b"unread\n")
        client.close()

        assert pipes.read() == b""
        with pytest.raises(BrokenPipeError):
            pipes.write(b"message\n")


@contextmanager
def piped() -> Iterator[tuple[GuardedPipes, int, int]]:
    """Guarded pipes, and the client's ends: the one it writes to, and the one it reads from."""
    kept = [os.dup(number) for number in range(2)]
    (reading, to_server), (from_server, writing) = os.pipe(), os.pipe()
    try:
        for number, new in enumerate((reading, writing)):
            os.dup2(new, number)
            os.close(new)
        pipes = GuardedPipes()
    finally:
        for number, old in enumerate(kept):
            os.dup2(old, number)
            os.close(old)
    yield pipes, to_server, from_server
    os.close(pipes._input)
    os.close(pipes._output)


def test_a_client_that_closes_stdin_and_does_not_read_is_noticed() -> None:
    """Ours: of a pipe, and of a socket, of which one half is closed. Until then it is waited for."""
    with piped() as (pipes, to_server, from_server):
        found: list[bool] = []
        watching = threading.Thread(target=lambda: found.append(pipes.await_abandonment(0.01)))
        writing = threading.Thread(target=pipes.write, args=(b"x" * MUCH,))
        for thread in (watching, writing):
            thread.start()
        watching.join(0.05)
        assert watching.is_alive()

        os.close(to_server)
        watching.join(PATIENCE_SECONDS)
        assert found == [True]

        with os.fdopen(from_server, "rb", buffering=0) as client:
            left = MUCH
            while left:
                left -= len(client.read(left))
        writing.join(PATIENCE_SECONDS)
        assert not writing.is_alive()


def test_a_client_without_pending_output_is_not_abandoned() -> None:
    """Ours: a call may last. It has closed half of a socket."""
    with guarded() as (pipes, client, _):
        client.shutdown(socket.SHUT_WR)
        watching = threading.Thread(target=pipes.await_abandonment, args=(0.01,), daemon=True)
        watching.start()
        watching.join(0.05)
        assert watching.is_alive()

        writing = threading.Thread(target=pipes.write, args=(b"x" * MUCH,))
        writing.start()
        watching.join(PATIENCE_SECONDS)
        assert not watching.is_alive()
        left = MUCH
        while left:
            left -= len(client.recv(left))
        writing.join(PATIENCE_SECONDS)


def test_abandonment_is_not_detected_without_poll_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: nor anything on a system that cannot poll."""
    import select

    with guarded() as (pipes, _, _):
        monkeypatch.delattr(select, "POLLHUP")
        monkeypatch.delattr(select, "POLLRDHUP")
        assert not pipes.await_abandonment(0.01)


def test_has_input_reports_unread_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: also the end; not where the system has no way to tell."""
    with guarded() as (pipes, client, _):
        found = [pipes.has_input()]
        client.sendall(b"more")
        found.append(pipes.has_input())
        pipes.read()
        found.append(pipes.has_input())
        client.shutdown(socket.SHUT_WR)
        found.append(pipes.has_input())
        monkeypatch.delattr("select.poll")
        found.append(pipes.has_input())

    assert found == [False, True, False, True, False]
