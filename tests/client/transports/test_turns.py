from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.client.transports.turns import TurnReader
from gaia_mcp.deadline import Deadline
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Read:
    """A pipe with a reader in turns: what was read, in which thread, and how it ended."""

    def __init__(self) -> None:
        self.source, self.sink = os.pipe()
        self.taken: list[tuple[bytes, str]] = []
        self.ended_in: list[str] = []
        self.fails: BaseException | None = None
        self.turns = TurnReader(self.source, self._read, self._take, self._end)
        self.thread = threading.Thread(target=self._run, name="own")
        self.raised: list[BaseException] = []

    def _read(self) -> bytes:
        return os.read(self.source, 4096)

    def _take(self, data: bytes) -> None:
        if self.fails is not None:
            raise self.fails
        self.taken.append((data, threading.current_thread().name))

    def _end(self) -> None:
        self.ended_in.append(threading.current_thread().name)

    def _run(self) -> None:
        try:
            self.turns.run()
        except BaseException as problem:
            self.raised.append(problem)

    def say(self, data: bytes) -> None:
        os.write(self.sink, data)

    def has(self, data: bytes) -> Callable[[], bool]:
        return lambda: any(taken == data for taken, _ in self.taken)

    def close(self) -> None:
        if self.sink >= 0:
            os.close(self.sink)
            self.sink = -1


@pytest.fixture
def pipe() -> Iterator[Read]:
    made = Read()
    made.thread.start()
    yield made
    made.close()
    made.turns.call_back()
    made.thread.join(5)
    assert not made.thread.is_alive()
    os.close(made.source)


def test_its_own_thread_reads_when_nobody_else_does(pipe: Read) -> None:
    """Ours: what a server says unasked arrives all the same."""
    pipe.say(b"hello")

    wait_until(pipe.has(b"hello"))
    assert pipe.taken == [(b"hello", "own")]


def test_whoever_waits_reads_in_its_own_thread(pipe: Read) -> None:
    """Ours: no other thread has to be woken for an answer."""
    name = threading.current_thread().name
    timer = threading.Timer(0.05, pipe.say, [b"answer"])
    timer.start()

    assert pipe.turns.read_here(pipe.has(b"answer"), Deadline(5))

    assert pipe.taken == [(b"answer", name)]
    timer.join()
    # The thread is out of the way for the next one, which need not wake it.
    pipe.say(b"next")
    assert pipe.turns.read_here(pipe.has(b"next"), Deadline(5))
    assert pipe.taken[1] == (b"next", name)


def test_the_thread_takes_over_when_the_callers_have_gone(pipe: Read) -> None:
    """Ours: after a while by itself, at once when it is called back."""
    for word in (b"a", b"b"):
        pipe.say(word)
        pipe.turns.read_here(pipe.has(word), Deadline(5))
    pipe.say(b"unasked")

    wait_until(pipe.has(b"unasked"))
    assert pipe.taken[-1] == (b"unasked", "own")
    pipe.say(b"c")
    pipe.turns.read_here(pipe.has(b"c"), Deadline(5))
    pipe.turns.call_back()
    pipe.say(b"d")
    wait_until(pipe.has(b"d"))


def test_only_one_reads_at_a_time(pipe: Read) -> None:
    """Ours: the second caller hears that somebody else is reading."""
    done = threading.Event()
    first = threading.Thread(target=pipe.turns.read_here, args=(done.is_set, Deadline(5)))
    first.start()
    wait_until(lambda: not pipe.turns._is_polling)

    assert not pipe.turns.read_here(lambda: False, Deadline(5))

    done.set()
    pipe.say(b"x")
    first.join(5)


def test_a_deadline_ends_the_reading(pipe: Read) -> None:
    """Ours: every wait has a deadline."""
    deadline = Deadline(0.1)

    assert pipe.turns.read_here(lambda: False, deadline)

    assert deadline.expired


@pytest.mark.parametrize("here", [True, False])
def test_the_end_is_told_once_by_whoever_meets_it(pipe: Read, here: bool) -> None:
    """Ours: and then both stop reading."""
    if here:
        timer = threading.Timer(0.05, pipe.close)
        timer.start()
        assert pipe.turns.read_here(lambda: False, Deadline(5))
        timer.join()
    else:
        pipe.close()

    pipe.thread.join(5)
    assert pipe.ended_in == [threading.current_thread().name if here else "own"]
    assert pipe.turns.read_here(lambda: False, Deadline(5))
    assert len(pipe.ended_in) == 1


def test_a_reading_that_is_interrupted_is_the_end(pipe: Read) -> None:
    """Ours: a Ctrl-C between reading and taking loses a part, and what follows could not be understood."""
    pipe.fails = KeyboardInterrupt()
    pipe.turns.read_here(lambda: True, Deadline(5))
    pipe.say(b"lost")

    with pytest.raises(KeyboardInterrupt):
        pipe.turns.read_here(lambda: False, Deadline(5))

    pipe.thread.join(5)
    assert len(pipe.ended_in) == 1
    assert pipe.raised == []


def test_where_pipes_cannot_be_polled_the_thread_reads_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: Windows."""
    monkeypatch.delattr("select.poll")
    pipe = Read()
    pipe.thread.start()

    pipe.say(b"hello")

    wait_until(pipe.has(b"hello"))
    assert not pipe.turns.read_here(lambda: False, Deadline(5))
    pipe.close()
    pipe.thread.join(5)
    assert pipe.ended_in == ["own"]
    os.close(pipe.source)


def test_many_callers_in_turn_lose_nothing(pipe: Read) -> None:
    """Ours: whoever reads, every byte is taken once, in order."""
    words = [str(number).encode() + b"\n" for number in range(500)]

    for number, word in enumerate(words):
        pipe.say(word)
        if number % 7 == 0:
            pipe.turns.call_back()
        if number % 3 == 0:
            pipe.turns.read_here(lambda: True, Deadline(1))

    wait_until(lambda: sum(len(data) for data, _ in pipe.taken) == sum(map(len, words)))
    assert b"".join(data for data, _ in pipe.taken) == b"".join(words)


@pytest.mark.parametrize("processors", [{0}, {0, 1}])
def test_an_answer_is_read_with_one_processor_and_with_several(
    monkeypatch: pytest.MonkeyPatch, processors: set[int]
) -> None:
    """Ours: looking before sleeping changes nothing but the time."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: processors)
    pipe = Read()
    pipe.thread.start()
    wait_until(lambda: pipe.turns._is_polling)

    pipe.say(b"there")
    assert pipe.turns.read_here(pipe.has(b"there"), Deadline(5))
    timer = threading.Timer(0.05, pipe.say, [b"later"])
    timer.start()
    assert pipe.turns.read_here(pipe.has(b"later"), Deadline(5))

    timer.join()
    pipe.close()
    pipe.turns.call_back()
    pipe.thread.join(5)
    os.close(pipe.source)
