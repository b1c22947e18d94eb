"""Who reads a pipe: a caller that waits, for all others too, else the thread."""

from __future__ import annotations

import os
import threading
from collections import deque
from contextlib import contextmanager
from queue import SimpleQueue
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client.transports.stdio import leader_follower as module
from gaia_mcp.client.transports.stdio.leader_follower import ANSWERS_WITHOUT_LOOK, QUIET_SECONDS, LeaderFollower
from gaia_mcp.client.transports.stdio.reader_states import Readers, after
from gaia_mcp.core.deadline import Deadline
from tests.client.transports.stdio.test_child import ctrl_c
from tests.client.transports.talk import in_thread
from tests.interleavings import explore
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, Clock, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.interleavings import Run, Threads

LOST = b"lost"


class Read:
    """A pipe that is read: what was taken, in which thread, and how it ended. A word answers who asked for it."""

    def __init__(self, *, busy_polls: bool = True, quiet_seconds: float = 3600.0) -> None:
        self.source, self.sink = os.pipe()
        self.taken: list[tuple[bytes, str]] = []
        self.ended_in: list[str] = []
        self.is_cut = False
        self.fails: BaseException | None = None
        self.queues: dict[bytes, SimpleQueue[bytes | None]] = {}
        self.readers = LeaderFollower(
            self.source, self._read, self._take, self._end, busy_polls=busy_polls, quiet_seconds=quiet_seconds
        )
        self.thread = threading.Thread(target=self._run, name="own", daemon=True)
        self.raised: list[BaseException] = []

    def _read(self) -> bytes:
        return os.read(self.source, 4096)

    def _take(self, data: bytes) -> None:
        if self.fails is not None:
            raise self.fails
        self.taken.append((data, threading.current_thread().name))
        for word in data.split():
            if word in self.queues:
                self.queues[word].put(word)

    def _end(self, is_cut: bool) -> None:
        self.ended_in.append(threading.current_thread().name)
        self.is_cut = is_cut
        for queue in self.queues.values():
            queue.put(LOST)

    def _run(self) -> None:
        try:
            self.readers.run()
        except BaseException as problem:
            self.raised.append(problem)

    def send(self, word: bytes) -> None:
        os.write(self.sink, word + b" ")

    def queue(self, word: bytes) -> SimpleQueue[bytes | None]:
        return self.queues.setdefault(word, SimpleQueue())

    def wait(self, word: bytes, deadline: Deadline | None = None) -> bytes | None:
        return self.readers.wait(self.queue(word), deadline or Deadline(ENOUGH_SECONDS))

    def lead(self, word: bytes) -> bytes | None:
        """Wait for a word that is sent once this thread leads, or is about to."""

        class Sending(SimpleQueue[bytes | None]):
            def qsize(queue) -> int:  # noqa: N805
                if not queue.is_sent:
                    queue.is_sent = True
                    self.send(word)
                return super().qsize()

            is_sent = False

        self.queues[word] = Sending()
        return self.wait(word)

    def has(self, word: bytes) -> Callable[[], bool]:
        return lambda: any(word in taken for taken, _ in self.taken)

    def is_led(self) -> bool:
        return self.readers._readers.state == "led"

    def reader_of(self, word: bytes) -> str:
        return next(name for taken, name in self.taken if word in taken)

    def close(self) -> None:
        if self.sink >= 0:
            os.close(self.sink)
            self.sink = -1


@contextmanager
def reading(**options: Any) -> Iterator[Read]:
    made = Read(**options)
    made.thread.start()
    yield made
    made.close()
    made.readers.keep_reading()
    made.thread.join(PATIENCE_SECONDS)
    assert not made.thread.is_alive()
    assert made.ended_in == ["own"], "the end is reported once, by the thread"
    os.close(made.source)


@pytest.fixture
def pipe() -> Iterator[Read]:
    with reading() as made:
        yield made


def test_the_thread_reads_while_no_caller_waits(pipe: Read) -> None:
    """Ours: a notification arrives also while no call is open."""
    pipe.send(b"hello")

    wait_until(pipe.has(b"hello"))
    assert pipe.taken == [(b"hello ", "own")]


def test_a_waiting_caller_reads_in_its_own_thread(pipe: Read) -> None:
    """Ours: no other thread has to be woken for an answer."""
    name = threading.current_thread().name

    caller, outcomes = in_thread(lambda: pipe.wait(b"first"))
    wait_until(pipe.is_led)
    pipe.send(b"first")
    caller.join(PATIENCE_SECONDS)

    assert (outcomes, pipe.reader_of(b"first")) == ([b"first"], caller.name)
    # The thread is out of the way for the next one, which need not wake it.
    pipe.send(b"next")
    assert pipe.wait(b"next") == b"next"
    assert pipe.reader_of(b"next") == name


def test_the_thread_reads_again_after_the_last_caller_has_left() -> None:
    """Ours: otherwise a notification would stay in the pipe until the next call."""
    with reading(quiet_seconds=QUIET_SECONDS) as pipe:
        pipe.lead(b"a")
        pipe.send(b"unasked")

        wait_until(pipe.has(b"unasked"))
        assert pipe.reader_of(b"unasked") == "own"


def test_the_thread_reads_at_once_when_it_is_needed(pipe: Read) -> None:
    """Ours: a server that is being ended has to be drained."""
    pipe.lead(b"a")

    pipe.readers.keep_reading()
    pipe.send(b"unasked")

    wait_until(pipe.has(b"unasked"))


def test_the_leader_reads_for_all_and_is_followed_by_the_next(pipe: Read) -> None:
    """Ours: the leader/follower pattern."""
    leader, led = in_thread(lambda: pipe.wait(b"a"))
    wait_until(pipe.is_led)
    callers = [in_thread(lambda word=word: pipe.wait(word)) for word in (b"b", b"c")]  # type: ignore[misc]
    wait_until(lambda: len(pipe.readers._readers.followers) == 2)

    pipe.send(b"a")
    leader.join(PATIENCE_SECONDS)
    for word in (b"b", b"c"):
        pipe.send(word)
    for caller, _ in callers:
        caller.join(PATIENCE_SECONDS)

    assert [led, *(outcomes for _, outcomes in callers)] == [[b"a"], [b"b"], [b"c"]]
    assert pipe.reader_of(b"a") == leader.name
    assert pipe.reader_of(b"b") in {caller.name for caller, _ in callers}


def test_a_deadline_ends_the_wait_of_a_leader_and_of_a_follower(pipe: Read) -> None:
    """Ours: every wait has a deadline; also where much arrives that no caller waits for."""
    clock = Clock()

    class Passing(SimpleQueue[bytes | None]):
        def qsize(self) -> int:
            clock.now += 6
            pipe.send(b"noise")
            return super().qsize()

    leader, outcomes = in_thread(lambda: pipe.wait(b"a"))
    wait_until(pipe.is_led)

    assert pipe.wait(b"b", Deadline(0)) is None
    pipe.send(b"a")
    leader.join(PATIENCE_SECONDS)
    assert outcomes == [b"a"]
    assert pipe.readers.wait(Passing(), Deadline(10, clock=clock)) is None


@pytest.mark.parametrize("leads", [True, False])
def test_the_end_reaches_every_caller(pipe: Read, leads: bool) -> None:
    """Ours: any thread may notice it, but the thread of the pipe reports it, which no Ctrl-C interrupts."""
    callers = []
    if leads:
        callers = [in_thread(lambda word=word: pipe.wait(word)) for word in (b"a", b"b")]  # type: ignore[misc]
        wait_until(lambda: len(pipe.readers._readers.followers) == 1 and pipe.is_led())
    pipe.close()
    pipe.thread.join(PATIENCE_SECONDS)
    for caller, _ in callers:
        caller.join(PATIENCE_SECONDS)

    assert [outcomes for _, outcomes in callers] == [[LOST]] * len(callers)
    assert pipe.wait(b"late", Deadline(0)) is None
    assert not pipe.is_cut


def test_an_interrupted_read_ends_the_reading(pipe: Read) -> None:
    """Ours: a Ctrl-C between reading and taking loses a part, and what follows could not be understood."""
    pipe.fails = KeyboardInterrupt()
    other, outcomes = in_thread(lambda: pipe.wait(b"b"))
    wait_until(pipe.is_led)
    pipe.queue(b"a")

    pipe.send(b"a")
    other.join(PATIENCE_SECONDS)
    pipe.thread.join(PATIENCE_SECONDS)

    assert isinstance(outcomes[0], KeyboardInterrupt)
    assert pipe.queue(b"a").get_nowait() == LOST
    assert (pipe.raised, pipe.is_cut) == ([], True)


def test_an_interrupted_leader_promotes_a_follower(pipe: Read) -> None:
    """Ours: after a Ctrl-C in one thread the answers of the others have to be read all the same."""
    outcomes: list[Any] = []

    def follow() -> None:
        wait_until(pipe.is_led)
        outcomes.append(pipe.wait(b"b"))

    following = threading.Thread(target=follow)
    following.start()
    # At first the main thread may be the one that follows.
    with ctrl_c(lambda: pipe.is_led() and pipe.readers._readers.followers):
        pipe.wait(b"a", Deadline(3 * ENOUGH_SECONDS))

    pipe.send(b"b")
    following.join(PATIENCE_SECONDS)
    assert outcomes == [b"b"]


class Interrupted(SimpleQueue[bytes | None]):
    """One whose first `put` is interrupted before anything has been put."""

    is_interrupted = False

    def put(self, item: bytes | None, block: bool = True, timeout: float | None = None) -> None:
        if not self.is_interrupted:
            self.is_interrupted = True
            raise KeyboardInterrupt
        super().put(item)


def test_an_interruption_during_a_promotion_does_not_lose_it(pipe: Read) -> None:
    """Ours: what has been decided is made known, however often Ctrl-C is pressed."""
    pipe.lead(b"first")
    follower = Interrupted()
    pipe.readers._readers = Readers("led", pipe.queue(b"a"), (follower,))
    pipe.queue(b"a").put(b"a")

    with pytest.raises(KeyboardInterrupt):
        pipe.readers.wait(pipe.queue(b"a"), Deadline(ENOUGH_SECONDS))

    assert pipe.readers._readers == Readers("led", follower)
    assert follower.get_nowait() is None
    pipe.readers._apply(module.left, follower)


def test_an_interruption_before_a_leader_leaves_still_makes_it_leave(pipe: Read) -> None:
    """Ours: one that is gone must not stay the leader."""

    class Gate:
        """The lock, with a Ctrl-C in the moment when a caller that has led is about to leave."""

        presses = 0

        def __enter__(self) -> None:
            if pipe.is_led() and pipe.taken:
                self.presses += 1
                if self.presses == 1:
                    raise KeyboardInterrupt
            real.acquire()

        def __exit__(self, *_: object) -> None:
            real.release()

    real = pipe.readers._gate
    pipe.readers._gate = Gate()  # type: ignore[assignment]

    with pytest.raises(KeyboardInterrupt):
        pipe.lead(b"a")

    assert pipe.readers._readers.leader is None


def test_a_signal_handler_may_enter_between_two_steps(pipe: Read) -> None:
    """Ours: one that disconnects, while its thread is about to begin or end a wait."""
    wait_until(lambda: pipe.readers._readers.state == "thread")
    entered: list[bool] = []

    def interrupted(readers: Readers, event: Any) -> Any:
        if not entered:
            entered.append(True)
            pipe.readers.stop()
        return after(readers, event)

    assert pipe.readers._apply(interrupted, "needed").state == "over"


def test_the_thread_always_reads_a_pipe_that_cannot_be_polled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: on Windows a blocked read cannot be interrupted, so that no caller may begin one."""
    monkeypatch.delattr("select.poll")
    pipe = Read()
    pipe.thread.start()

    pipe.queue(b"hello")
    pipe.send(b"hello")
    assert pipe.wait(b"hello") == b"hello"

    assert pipe.reader_of(b"hello") == "own"
    pipe.close()
    pipe.thread.join(PATIENCE_SECONDS)
    assert pipe.ended_in == ["own"]
    os.close(pipe.source)


def test_many_callers_lose_nothing(pipe: Read) -> None:
    """Ours: whichever thread reads, every byte is taken once, in order."""
    words = [str(number).encode() for number in range(600)]
    answers: list[bytes | None] = []

    def ask(mine: list[bytes]) -> None:
        for number, word in enumerate(mine):
            pipe.queue(word)
            pipe.send(word)
            if number % 7 == 0:
                pipe.readers.keep_reading()
            answers.append(pipe.wait(word))

    callers = [in_thread(lambda first=first: ask(words[first::3])) for first in range(3)]  # type: ignore[misc]
    for caller, _ in callers:
        caller.join(PATIENCE_SECONDS)

    assert sorted(word for word in answers if word) == sorted(words)
    assert sorted(b"".join(data for data, _ in pipe.taken).split()) == sorted(words)


@pytest.mark.parametrize("processors", [{0}, {0, 1}])
def test_an_answer_is_read_with_one_processor_and_with_several(
    monkeypatch: pytest.MonkeyPatch, processors: set[int]
) -> None:
    """Ours: looking before sleeping changes nothing but the time."""
    # How many processors there are is up to the system.
    monkeypatch.setattr("os.sched_getaffinity", lambda _: processors)

    with reading() as pipe:
        assert [pipe.lead(word) for word in (b"there", b"later")] == [b"there", b"later"]


@pytest.mark.parametrize(("busy_polls", "sleeps"), [(True, False), (False, False), (True, True)])
def test_busy_polling_pauses_after_an_unsuccessful_poll(
    monkeypatch: pytest.MonkeyPatch, busy_polls: bool, sleeps: bool
) -> None:
    """Ours: a slow server costs no processor time, and one that shares ours gets it; without `busy_polls` no caller
    polls, and none does any more after `sleep_only`.
    """
    yields: list[None] = []
    clock = Clock()

    def sched_yield() -> None:
        yields.append(None)
        clock.now += 1

    class Asking(Deadline):
        """A deadline that has the answer said when it is about to be waited for."""

        def remaining(self) -> float:
            pipe.send(answer)
            return super().remaining()

    # The number of processors and the polling are up to the system; each poll takes a second of this clock.
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    monkeypatch.setattr("os.sched_yield", sched_yield)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=clock))
    pipe = Read(busy_polls=busy_polls)
    pipe.readers._readers = Readers("free")
    looked = []
    polls = busy_polls and not sleeps
    if sleeps:
        pipe.readers.sleep_only()

    for number in range(ANSWERS_WITHOUT_LOOK + 2):
        answer = b"%d;" % number
        yields.clear()
        pipe.wait(answer, Asking(5))
        looked.append(bool(yields))

    assert looked == [polls, *[False] * ANSWERS_WITHOUT_LOOK, polls]
    pipe.close()
    pipe.readers.keep_reading()
    pipe.readers.run()
    os.close(pipe.source)


@pytest.mark.parametrize("state", ["thread", "free", "led"])
def test_stopping_ends_the_reading_of_an_open_pipe(pipe: Read, state: str) -> None:
    """Ours: a process that has left the group of its server keeps the pipe for as long as it likes."""
    callers = []
    if state == "free":
        pipe.lead(b"a")
    elif state == "led":
        callers = [in_thread(lambda: pipe.wait(b"never"))]
    wait_until(lambda: pipe.readers._readers.state == state)

    pipe.readers.stop()
    pipe.readers.stop()
    pipe.thread.join(PATIENCE_SECONDS)
    for caller, _ in callers:
        caller.join(PATIENCE_SECONDS)

    assert not pipe.thread.is_alive()
    assert [outcomes for _, outcomes in callers] == [[LOST]] * len(callers)


def test_nothing_is_read_if_stopped_before_the_start() -> None:
    """Ours: a thread may stop a child before anything has been read from it."""
    pipe = Read()
    pipe.send(b"never")

    pipe.readers.stop()
    pipe.readers.run()

    assert pipe.taken == []
    assert len(pipe.ended_in) == 1
    pipe.close()
    os.close(pipe.source)


def test_a_reading_caller_can_be_woken(pipe: Read) -> None:
    """Ours: it looks again at its deadline, without anything to read."""
    deadline = Deadline(10, clock=lambda: 0.0)
    queue = pipe.queue(b"a")

    def wake() -> None:
        queue.put(None)
        pipe.readers.wake()

    deadline.on_cancel(wake)
    caller, outcomes = in_thread(lambda: pipe.wait(b"a", deadline))
    wait_until(pipe.is_led)
    deadline.cancel()
    caller.join(PATIENCE_SECONDS)

    assert (outcomes, pipe.taken) == ([None], [])


def test_data_that_arrives_with_a_wake_is_read(pipe: Read) -> None:
    """Ours: the wake itself is no data, however often it came."""
    pipe.lead(b"first")
    pipe.readers._readers = Readers("led", pipe.queue(b"second"))
    for _ in range(100_000):
        pipe.readers.wake()  # More than its pipe holds.
    pipe.send(b"second")

    pipe.readers._lead(pipe.queue(b"second"), Deadline(ENOUGH_SECONDS))

    assert pipe.queue(b"second").get_nowait() == b"second"
    pipe.readers._apply(module.left, pipe.queue(b"second"))


def test_waking_after_the_end_does_nothing(pipe: Read) -> None:
    """Ours: a deadline may be cancelled late."""
    pipe.close()
    pipe.thread.join(PATIENCE_SECONDS)

    pipe.readers.wake()
    pipe.readers._poke()

    assert len(pipe.ended_in) == 1


# In every order.


class Pipes:
    """What the module takes from `os` and `select`: pipes that are only in memory, each a list of what it holds."""

    POLLIN = 1

    def __init__(self, run: Run) -> None:
        self.run = run
        self.held: dict[int, deque[bytes]] = {}
        self.closed: set[int] = set()
        self.polls = 0

    def pipe(self) -> tuple[int, int]:
        self.held[len(self.held)] = deque()
        return len(self.held) - 1, len(self.held) - 1

    def write(self, descriptor: int, data: bytes) -> None:
        assert descriptor not in self.closed
        self.held[descriptor].append(data)
        self.run.step()

    def read(self, descriptor: int, _: int = 0) -> bytes:
        assert descriptor not in self.closed
        held = self.held[descriptor]
        if not held[0]:
            return b""
        data = b"".join(held) if all(held) else held[0]
        held.clear() if all(held) else held.popleft()
        self.run.step()
        return data

    def close(self, descriptor: int) -> None:
        assert self.polls == 0
        self.closed.add(descriptor)

    def set_blocking(self, _: int, __: bool) -> None: ...

    def poll(self) -> Poll:
        return Poll(self)


class Poll:
    def __init__(self, pipes: Pipes) -> None:
        self._pipes = pipes
        self._watched: list[int] = []

    def register(self, descriptor: int, _: int) -> None:
        self._watched.append(descriptor)

    def poll(self, milliseconds: float | None = None) -> list[tuple[int, int]]:
        pipes = self._pipes
        assert pipes.polls == 0, "two threads read at once"
        pipes.polls += 1
        # No time passes: only what has come ends the wait, or a deadline that is over already.
        pipes.run.step(lambda: milliseconds == 0 or any(pipes.held[watched] for watched in self._watched))
        pipes.polls -= 1
        return [(watched, 1) for watched in self._watched if pipes.held[watched]]


class Stage:
    """One pipe with its thread, and callers that ask a server; all of it under the scheduler."""

    def __init__(self, run: Run, threads: Threads, monkeypatch: pytest.MonkeyPatch) -> None:
        self.run, self.threads = run, threads
        self.pipes = pipes = Pipes(run)
        monkeypatch.setattr(module, "os", pipes)
        monkeypatch.setattr(module, "select", pipes)
        monkeypatch.setattr(module, "threading", threads)
        monkeypatch.setattr(module, "time", threads)
        self.source, _ = pipes.pipe()
        self.queues: dict[bytes, Any] = {}
        self.outcomes: dict[bytes, Any] = {}
        self.is_over = False
        self.takes = 0
        self.readers = LeaderFollower(self.source, lambda: pipes.read(self.source), self._take, self._end)
        run.spawn(self.readers.run, "own", is_daemon=True)

    def _take(self, data: bytes) -> None:
        self.takes += 1
        assert self.takes == 1, "two threads take at once"
        for word in data.split():
            if word in self.queues:
                self.queues[word].put(word)
        self.takes -= 1

    def _end(self, is_cut: bool) -> None:
        self._take(b"")
        assert not self.is_over, "the end is reported twice"
        self.is_over = True
        for queue in list(self.queues.values()):
            queue.put(LOST)

    def caller(self, word: bytes, deadline: Deadline | None = None, *, asks: bool = True) -> Callable[[], None]:
        """Asks for a word and waits for it."""

        def call() -> None:
            if self.is_over:
                self.outcomes[word] = LOST
                return
            queue = self.queues[word] = self.threads.SimpleQueue()
            if asks:
                self.pipes.write(self.source, word + b" ")
            self.outcomes[word] = self.readers.wait(queue, deadline or Deadline(3600))
            del self.queues[word]

        return call

    def cancel(self, word: bytes, deadline: Deadline) -> Callable[[], None]:
        def cancel() -> None:
            deadline.is_cancelled = True
            if word in self.queues:
                self.queues[word].put(None)
                self.readers.wake()

        return cancel


def test_each_caller_has_its_response_in_every_interleaving(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: no wait has to end by itself, whoever reads."""

    def scenario(run: Run, threads: Threads) -> Callable[[], None]:
        stage = Stage(run, threads, monkeypatch)
        for word in (b"a", b"b", b"c"):
            run.spawn(stage.caller(word), word.decode())

        def check() -> None:
            assert stage.outcomes == {b"a": b"a", b"b": b"b", b"c": b"c"}

        return check

    assert explore(scenario, detours=2) > 1000


@pytest.mark.parametrize("what", ["end", "stop", "cancel", "needed"])
def test_each_caller_notices_the_end_a_stop_and_a_cancellation_in_every_interleaving(
    what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: the end, a stop and a cancellation at every moment."""

    def scenario(run: Run, threads: Threads) -> Callable[[], None]:
        stage = Stage(run, threads, monkeypatch)
        deadline = Deadline(3600)
        happens = {
            "end": lambda: stage.pipes.write(stage.source, b""),
            "stop": stage.readers.stop,
            "cancel": stage.cancel(b"b", deadline),
            "needed": stage.readers.keep_reading,
        }
        run.spawn(stage.caller(b"a", asks=what != "stop"), "a")
        run.spawn(stage.caller(b"b", deadline, asks=what == "needed"), "b")
        run.spawn(happens[what], what)

        def check() -> None:
            expected = {
                "end": ({b"a", LOST}, {LOST}),
                "stop": ({LOST}, {LOST}),
                "cancel": ({b"a"}, {None}),
                "needed": ({b"a"}, {b"b"}),
            }
            assert stage.outcomes[b"a"] in expected[what][0]
            assert stage.outcomes[b"b"] in expected[what][1]

        return check

    assert explore(scenario, detours=2) > 300
