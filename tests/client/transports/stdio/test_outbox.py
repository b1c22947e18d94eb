from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.client.transports.stdio.outbox import MAX_WAITING_BYTES, TRIED_BYTES, Outbox
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from gaia_mcp.deadline import Deadline


class Pipe:
    """Has room or not; notes what was written and by whom."""

    def __init__(self, *, has_room: bool) -> None:
        self.room = threading.Event()
        if has_room:
            self.room.set()
        self.fails: OSError | None = None
        self.tries = 0
        self.written: list[bytes] = []
        self.writers: list[threading.Thread] = []

    def write(self, data: bytes, deadline: Deadline) -> None:
        self.tries += 1
        if self.fails is not None:
            raise self.fails
        if not self.room.is_set() and (deadline.expired or not self.room.wait(PATIENCE_SECONDS)):
            raise TimeoutError
        self.written.append(data)
        self.writers.append(threading.current_thread())


def test_a_message_is_sent_at_once_if_there_is_room() -> None:
    """Spec, ping: promptly; and no thread is made for it."""
    pipe = Pipe(has_room=True)

    Outbox(pipe.write).put(b"pong")

    assert pipe.written == [b"pong"]
    assert pipe.writers == [threading.current_thread()]


def test_messages_without_room_are_sent_later_by_another_thread() -> None:
    """Ours: the sender never waits, and what a busy server asked for is not lost."""
    pipe = Pipe(has_room=False)
    outbox = Outbox(pipe.write)

    for data in (b"one", b"two", b"three"):
        outbox.put(data)
    assert pipe.written == []
    pipe.room.set()

    wait_until(lambda: len(pipe.written) == 3)
    assert pipe.written == [b"one", b"two", b"three"]
    assert threading.current_thread() not in pipe.writers
    assert len(set(pipe.writers)) == 1, "one thread for all that waits"


def test_a_message_longer_than_an_atomic_write_is_sent_by_another_thread() -> None:
    """Ours: after a part of it nothing else could be understood."""
    pipe = Pipe(has_room=True)
    outbox = Outbox(pipe.write)

    outbox.put(b"x" * (TRIED_BYTES + 1))

    wait_until(lambda: pipe.written)
    assert pipe.writers[0] is not threading.current_thread()


def test_a_message_that_is_not_read_in_time_is_dropped() -> None:
    """Ours: a server that does not read has to do without."""
    pipe = Pipe(has_room=False)
    outbox = Outbox(pipe.write)
    pipe.fails = TimeoutError()
    outbox.put(b"lost")
    wait_until(lambda: not outbox._has_thread)
    tries = pipe.tries

    pipe.fails = None
    pipe.room.set()
    outbox.put(b"read")

    assert (tries, pipe.written) == (2, [b"read"])


@pytest.mark.parametrize("gone", [BrokenPipeError(), OSError(9, "closed")])
def test_a_closed_pipe_does_not_raise(gone: OSError) -> None:
    """Ours: the thread that reads, or the next request, meets its end."""
    pipe = Pipe(has_room=True)
    pipe.fails = gone

    Outbox(pipe.write).put(b"pong")

    assert pipe.tries == 1


def test_the_size_of_waiting_messages_is_limited() -> None:
    """Ours: a server that asks without reading must not fill our memory."""
    pipe = Pipe(has_room=False)
    outbox = Outbox(pipe.write)
    large = b"x" * (MAX_WAITING_BYTES // 4)

    for _ in range(100):
        outbox.put(large)
    pipe.room.set()
    wait_until(lambda: not outbox._has_thread)

    # One is being written, and no longer waits.
    assert 4 <= len(pipe.written) <= 5
    outbox.put(b"more")
    assert pipe.written[-1] == b"more"


def test_a_single_message_may_be_larger_than_the_limit() -> None:
    """Ours: what a person has answered is not thrown away."""
    pipe = Pipe(has_room=True)

    Outbox(pipe.write).put(b"x" * (MAX_WAITING_BYTES + 1))

    wait_until(lambda: pipe.written)
