"""Who reads a pipe: a caller that waits alone, else the thread."""

from __future__ import annotations

import _thread
import os
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.client.transports.stdio import leader_follower as module
from gaia_mcp.client.transports.stdio.leader_follower import ANSWERS_WITHOUT_LOOK, LeaderFollower
from gaia_mcp.deadline import Deadline
from tests.waiting import Clock, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Read:
    """A pipe with a reader in turns: what was read, in which thread, and how it ended."""

    def __init__(self) -> None:
        self.source, self.sink = os.pipe()
        self.taken: list[tuple[bytes, str]] = []
        self.ended_in: list[str] = []
        self.fails: BaseException | None = None
        self.is_taking, self.may_take = threading.Event(), threading.Event()
        self.may_take.set()
        self.turns = LeaderFollower(self.source, self._read, self._take, self._end)
        self.thread = threading.Thread(target=self._run, name="own")
        self.raised: list[BaseException] = []

    def _read(self) -> bytes:
        return os.read(self.source, 4096)

    def _take(self, data: bytes) -> None:
        if self.fails is not None:
            raise self.fails
        self.is_taking.set()
        self.may_take.wait(5)
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

    def answers(self, data: bytes) -> Callable[[], bool]:
        """As `has`, of what is said when this is first asked: the caller that asks has its turn then."""
        asked: list[bool] = []

        def is_done() -> bool:
            asked.append(True)
            if len(asked) == 1:
                self.say(data)
            return self.has(data)()

        return is_done

    def reads(self, is_done: Callable[[], object], deadline: Deadline) -> None:
        """Read in this thread, as soon as the other one has made way."""
        wait_until(lambda: self.turns.read_here(is_done, deadline))

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


def test_its_own_thread_reads_when_no_caller_does(pipe: Read) -> None:
    """Ours: what a server says unasked arrives all the same."""
    pipe.say(b"hello")

    wait_until(pipe.has(b"hello"))
    assert pipe.taken == [(b"hello", "own")]


def test_a_caller_that_waits_reads_in_its_own_thread(pipe: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: no other thread has to be woken for an answer."""
    monkeypatch.setattr(module, "QUIET_SECONDS", 60)
    name = threading.current_thread().name
    answered = pipe.answers(b"answer")

    pipe.reads(answered, Deadline(5))

    assert pipe.taken == [(b"answer", name)]
    # The thread is out of the way for the next one, which need not wake it.
    pipe.say(b"next")
    pipe.reads(pipe.has(b"next"), Deadline(5))
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


def reading(pipe: Read) -> tuple[threading.Thread, threading.Event]:
    """A thread that has its turn, and what to set when it is to be done."""
    has_turn, done = threading.Event(), threading.Event()

    def is_done() -> bool:
        has_turn.set()
        return done.is_set()

    def read() -> None:
        while not has_turn.is_set():
            pipe.turns.read_here(is_done, Deadline(5))

    thread = threading.Thread(target=read)
    thread.start()
    assert has_turn.wait(5)
    return thread, done


def test_only_one_reads_at_a_time(pipe: Read) -> None:
    """Ours: the second caller is told that another is reading."""
    first, done = reading(pipe)

    assert not pipe.turns.read_here(lambda: False, Deadline(5))

    done.set()
    pipe.say(b"x")
    first.join(5)


def test_a_deadline_ends_the_reading(pipe: Read) -> None:
    """Ours: every wait has a deadline."""
    clock = Clock()
    deadline = Deadline(10, clock=clock)

    def is_done() -> bool:
        clock.now += 6
        return False

    pipe.reads(is_done, deadline)

    assert deadline.expired


@pytest.mark.parametrize("here", [True, False])
def test_the_end_is_reported_once_by_the_thread_that_meets_it(pipe: Read, here: bool) -> None:
    """Ours: and then both stop reading."""
    if here:
        pipe.reads(pipe.close, Deadline(5))
    else:
        pipe.close()

    pipe.thread.join(5)
    assert pipe.ended_in == [threading.current_thread().name if here else "own"]
    pipe.reads(lambda: False, Deadline(5))
    assert len(pipe.ended_in) == 1


def test_a_reading_that_is_interrupted_is_the_end(pipe: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a Ctrl-C between reading and taking loses a part, and what follows could not be understood."""
    monkeypatch.setattr(module, "QUIET_SECONDS", 60)
    pipe.fails = KeyboardInterrupt()
    pipe.reads(lambda: True, Deadline(5))
    pipe.say(b"lost")

    with pytest.raises(KeyboardInterrupt):
        pipe.turns.read_here(lambda: False, Deadline(5))

    pipe.thread.join(5)
    assert len(pipe.ended_in) == 1
    assert pipe.raised == []


def test_a_turn_that_came_together_with_an_interruption_is_given_back(pipe: Read) -> None:
    """Ours: after a Ctrl-C the next answer has to be read all the same."""

    class Watched(Deadline):
        """A deadline that tells when a thread is about to wait for it."""

        def remaining(self) -> float:
            is_waiting.set()
            return super().remaining()

    def press() -> None:
        is_waiting.wait(5)
        _thread.interrupt_main()
        pipe.may_take.set()

    is_waiting = threading.Event()
    pipe.may_take.clear()
    pipe.say(b"first")
    assert pipe.is_taking.wait(5)
    presser = threading.Thread(target=press)
    presser.start()

    with pytest.raises(KeyboardInterrupt):
        pipe.turns.read_here(lambda: False, Watched(5))

    presser.join(5)
    pipe.say(b"second")
    wait_until(pipe.has(b"second"))


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
    """Ours: whichever thread reads, every byte is taken once, in order."""
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
    pipe.reads(pipe.has(b"there"), Deadline(5))
    later = pipe.answers(b"later")
    pipe.reads(later, Deadline(5))

    pipe.close()
    pipe.turns.call_back()
    pipe.thread.join(5)
    os.close(pipe.source)


def test_after_a_look_in_vain_answers_are_waited_for_without_one_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a slow server costs no processor, and one that shares ours gets it."""
    yields: list[None] = []
    clock = Clock()

    def sched_yield() -> None:
        yields.append(None)
        clock.now += 1

    class Asking(Deadline):
        """A deadline that has the answer said when it is about to be waited for."""

        def remaining(self) -> float:
            pipe.say(answer)
            return super().remaining()

    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr("os.sched_yield", sched_yield)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=clock))
    pipe = Read()
    looked = []

    for number in range(ANSWERS_WITHOUT_LOOK + 2):
        answer = b"%d;" % number
        yields.clear()
        pipe.reads(pipe.has(answer), Asking(5))
        looked.append(bool(yields))

    assert looked == [True, *[False] * ANSWERS_WITHOUT_LOOK, True]
    pipe.close()
    pipe.turns.run()
    os.close(pipe.source)


@pytest.mark.parametrize("is_reading", [False, True])
def test_stopping_ends_it_though_the_pipe_is_open(pipe: Read, is_reading: bool) -> None:
    """Ours: a process that has left the group of its server keeps the pipe for as long as it likes."""
    if is_reading:
        wait_until(lambda: pipe.turns._is_polling)
    else:
        pipe.say(b"answer")
        pipe.turns.read_here(pipe.has(b"answer"), Deadline(5))
    pipe.turns.stop()
    pipe.turns.stop()
    pipe.thread.join(5)

    assert not pipe.thread.is_alive()
    assert pipe.ended_in == ["own"]
    pipe.reads(lambda: False, Deadline(5))


def test_stopping_lets_the_thread_that_reads_finish_first(pipe: Read) -> None:
    """Ours: never two at once, also at the end."""
    first, done = reading(pipe)

    pipe.turns.stop()
    pipe.say(b"late")
    wait_until(pipe.has(b"late"))
    assert pipe.ended_in == []
    done.set()
    first.join(5)
    pipe.thread.join(5)

    assert pipe.ended_in == ["own"]


def test_stopped_before_it_began_it_reads_nothing() -> None:
    """Ours: a thread may stop a child before anything has been read from it."""
    pipe = Read()
    pipe.say(b"never")

    pipe.turns.stop()
    pipe.turns.run()

    assert pipe.taken == []
    assert len(pipe.ended_in) == 1
    pipe.close()
    os.close(pipe.source)


def test_a_caller_that_reads_can_be_woken(pipe: Read) -> None:
    """Ours: it looks again whether it is done, and at its deadline, without anything to read."""
    deadline = Deadline(10, clock=lambda: 0.0)
    looks: list[bool] = []

    def is_done() -> bool:
        looks.append(True)
        if len(looks) == 1:
            deadline.on_cancel(pipe.turns.wake)
            threading.Timer(0.05, deadline.cancel).start()
        return False

    pipe.reads(is_done, deadline)
    assert pipe.taken == []


def test_what_arrives_together_with_a_wake_is_read(pipe: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: the wake itself is none of it."""
    monkeypatch.setattr(module, "QUIET_SECONDS", 60)
    pipe.say(b"first")
    pipe.reads(pipe.has(b"first"), Deadline(5))
    for _ in range(100_000):
        pipe.turns.wake()  # More than its pipe holds; the thread stands aside.
    pipe.say(b"second")

    pipe.reads(pipe.has(b"second"), Deadline(5))
    assert pipe.taken[-1][0] == b"second"


def test_waking_after_the_end_does_nothing(pipe: Read) -> None:
    """Ours: a deadline may be cancelled late."""
    pipe.close()
    pipe.thread.join(5)

    pipe.turns.wake()

    assert len(pipe.ended_in) == 1
