"""The threads that run calls."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.protocol.input_required import QuestionError
from gaia_mcp.server.http import workers as module
from gaia_mcp.server.http.workers import Share, Workers
from tests.interleavings import explore
from tests.server.http.asgi import Gate
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.interleavings import Run, Threads

NO_CALL: Any = None


def run_all(workers: Workers, count: int) -> None:
    """Run so many jobs, and wait for their end."""
    done = threading.Semaphore(0)
    for _ in range(count):
        assert workers.submit(done.release)
    for _ in range(count):
        assert done.acquire(timeout=PATIENCE_SECONDS)


def test_an_idle_thread_runs_the_next_job() -> None:
    """Ours: a thread costs more than most calls."""
    workers = Workers(4, 0, 0)
    seen: list[str] = []
    for _ in range(3):
        done = threading.Event()
        workers.submit(lambda done=done: (seen.append(threading.current_thread().name), done.set()))  # type: ignore[misc]
        assert done.wait(PATIENCE_SECONDS)
        wait_until(lambda: workers.running == 0)

    assert len(set(seen)) == 1
    workers.close()


def test_jobs_beyond_the_limit_wait_and_jobs_beyond_the_queue_are_refused() -> None:
    """Ours: a client that asks without end must not take the machine."""
    workers, gate, done = Workers(2, 1, 0), Gate(), threading.Event()
    assert workers.submit(gate)
    assert workers.submit(gate)
    gate.await_entered()
    gate.await_entered()

    assert workers.has_room
    assert workers.submit(done.set)
    assert workers.waiting == 1
    assert not workers.has_room
    assert not workers.submit(done.set)
    assert workers.running == 2
    gate.open()
    assert done.wait(PATIENCE_SECONDS)
    wait_until(lambda: workers.running == 0)
    workers.close()


def test_a_call_that_waits_for_its_client_gives_its_place_to_another() -> None:
    """Ours: people may take their time, and others are served meanwhile."""
    workers, gate, done = Workers(1, 5, 1), Gate(), threading.Event()

    def asks() -> None:
        with workers.asking(NO_CALL):
            gate()

    workers.submit(asks)
    gate.await_entered()
    assert workers.submit(done.set)
    assert done.wait(PATIENCE_SECONDS)
    wait_until(lambda: workers.running == 0)
    assert workers.unfinished == 1
    gate.open()
    wait_until(lambda: workers.unfinished == 0)
    # Of two threads one is too many, and ends.
    run_all(workers, 3)
    workers.close()


def test_a_waiting_job_takes_the_place_of_a_call_that_waits_for_its_client() -> None:
    """Ours: otherwise it would wait for a person who answers another call."""
    workers, gate, asking, done = Workers(1, 5, 1), Gate(), Gate(), threading.Event()

    def asks() -> None:
        gate()
        with workers.asking(NO_CALL):
            asking()

    workers.submit(asks)
    gate.await_entered()
    workers.submit(done.set)
    gate.open()
    asking.await_entered()

    assert done.wait(PATIENCE_SECONDS)
    asking.open()
    wait_until(lambda: workers.running == 0)
    workers.close()


def test_the_number_of_calls_that_wait_for_their_clients_is_limited() -> None:
    """Ours: each keeps a thread while it waits. One more keeps no place either, which would stop all others."""
    workers, gate, refused = Workers(1, 5, 1), Gate(), threading.Event()

    def asks() -> None:
        with workers.asking(NO_CALL):
            gate()

    def is_refused() -> None:
        with pytest.raises(QuestionError, match="too many calls wait"), workers.asking(NO_CALL):
            pass
        refused.set()

    workers.submit(asks)
    gate.await_entered()
    workers.submit(is_refused)
    assert refused.wait(PATIENCE_SECONDS)
    run_all(workers, 2)
    gate.open()
    wait_until(lambda: workers.unfinished == 0)
    workers.submit(asks)
    gate.await_entered()
    workers.close()


@pytest.fixture
def busy() -> Iterator[tuple[Workers, Gate]]:
    """A pool whose only thread runs a job until the gate opens."""
    workers, gate = Workers(1, 8, 8, 1000), Gate()
    workers.submit(gate)
    gate.await_entered()
    yield workers, gate
    gate.open()
    wait_until(lambda: workers.unfinished == 0)
    workers.close()


def test_a_session_and_a_caller_have_parts_of_the_queue(busy: tuple[Workers, Gate]) -> None:
    """Ours: what one client sends must not keep all others out."""
    workers, _ = busy
    one, other = (workers.share("ada", is_session=True) for _ in range(2))
    single = workers.share("ada")

    accepted = [workers.submit(bool, share) for share in (one, one, one, other, other, other, single)]
    assert accepted == [True, True, False, True, True, False, False]
    assert [workers.submit(bool, workers.share(name)) for name in ("bob", None, None, None, None)] == [True] * 4 + [
        False
    ]
    assert workers.share("ada") is single


def test_waiting_requests_are_limited_by_their_memory(busy: tuple[Workers, Gate]) -> None:
    """Ours: 1,000 requests of 4 MiB would take all memory. One may wait, of any size."""
    workers, _ = busy
    session = workers.share(None, is_session=True)

    assert [workers.submit(bool, session, size) for size in (251, 1)] == [True, False]
    assert [workers.submit(bool, None, size) for size in (700, 50, 49)] == [True, False, True]
    assert workers.has_room
    assert workers.waiting == 3
    assert Workers(1, 0, 0, 0).submit(bool, None, 10**9)


def test_the_jobs_of_clients_take_turns() -> None:
    """Ours: a client that sends many requests waits for its own, the others do not."""
    workers, gate = Workers(1, 8, 0), Gate()
    workers.submit(gate)
    gate.await_entered()
    ran: list[str] = []
    many, few = workers.share(None), workers.share(None)
    for share, names in ((many, "abc"), (few, "xy")):
        for name in names:
            assert workers.submit(partial(ran.append, name), share)
    gate.open()
    wait_until(lambda: len(ran) == 5)

    assert "".join(ran) == "axbyc"
    workers.close()


def test_a_withdrawn_job_does_not_run(busy: tuple[Workers, Gate]) -> None:
    """Ours: its request no longer takes memory, nor a place."""
    workers, gate = busy
    ran: list[int] = []
    share = workers.share(None, is_session=True)
    first, second = partial(ran.append, 1), partial(ran.append, 2)
    for job in (first, second):
        assert workers.submit(job, share, 100)

    workers.withdraw(first, share)
    workers.withdraw(first, share)
    assert (workers.waiting, share.waiting, share.waiting_bytes) == (1, 1, 100)
    assert workers.submit(first, share, 150)
    workers.withdraw(first, share)
    workers.withdraw(second, share)
    gate.open()
    wait_until(lambda: workers.unfinished == 0)

    run_all(workers, 1)
    assert ran == []


def test_a_session_and_a_caller_have_parts_of_the_places_to_ask(busy: tuple[Workers, Gate]) -> None:
    """Ours: calls whose clients never answer must not keep others from asking theirs."""
    workers, _ = busy
    one, other, single = workers.share("ada", is_session=True), workers.share("ada"), workers.share(None)

    def asked(share: Share) -> list[bool]:
        """Whether the calls of a share may ask, until one may not."""
        accepted: list[bool] = []
        while len(accepted) < 10 and False not in accepted:
            try:
                asking.enter_context(workers.asking(NO_CALL, share))
            except QuestionError:
                accepted.append(False)
            else:
                accepted.append(True)
        return accepted

    with ExitStack() as asking:
        assert [len(asked(share)) for share in (one, other, single)] == [3, 3, 5]
        assert not workers.has_room_to_ask
    assert workers.has_room_to_ask


class Left:
    """A call whose client has disconnected."""

    def __init__(self) -> None:
        self.lost = 0

    def lose_client(self) -> None:
        self.lost += 1


def test_the_oldest_call_whose_client_is_gone_makes_room(busy: tuple[Workers, Gate]) -> None:
    """Ours: in the share that is full, which may be that of its session."""
    workers, _ = busy
    one, other = (workers.share(None, is_session=True) for _ in range(2))
    calls: list[Any] = [Left() for _ in range(6)]
    with ExitStack() as asking:

        def ask(number: int, share: Share, *gone: int) -> None:
            left = [calls[each] for each in gone]
            asking.enter_context(workers.asking(calls[number], share, lambda call: call in left))

        ask(0, other, 0)
        ask(1, one)
        ask(2, one, 2)
        ask(3, one, 3)
        ask(4, one)
        assert [each.lost for each in calls] == [0, 0, 1, 1, 0, 0]
        assert (one.asking, other.asking) == (2, 1)
        with pytest.raises(QuestionError, match="too many calls wait"), workers.asking(calls[5], one):
            pass
    assert workers.unfinished == 1


def test_a_client_leaves_some_threads_to_the_others() -> None:
    """Ours: it may have many calls that take long, and another client's call runs all the same."""
    workers, gate, done = Workers(16, 100, 0), Gate(), threading.Event()
    one, other = (workers.share(None, is_session=True) for _ in range(2))
    for _ in range(20):
        assert workers.submit(gate, one)
    for _ in range(14):
        gate.await_entered()

    assert workers.submit(done.set, other)
    assert done.wait(PATIENCE_SECONDS)
    assert one.running == 14
    gate.open()
    wait_until(lambda: workers.unfinished == 0)
    assert (one.running, other.running) == (0, 0)
    workers.close()


def test_closing_ends_the_threads() -> None:
    """Ours: nothing is left running."""
    workers, gate = Workers(3, 0, 0), Gate()
    before = threading.active_count()
    run_all(workers, 1)
    wait_until(lambda: workers.running == 0)
    workers.submit(gate)
    workers.submit(gate)
    gate.await_entered()
    gate.await_entered()

    workers.close()
    gate.open()

    wait_until(lambda: threading.active_count() <= before)
    assert not workers.submit(gate)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], None]]:
    """The threads that were started, none of which runs: only the operating system could hold them back otherwise."""
    started: list[Callable[[], None]] = []
    monkeypatch.setattr(threading.Thread, "start", lambda thread: started.append(thread.run))
    return started


def test_one_thread_at_a_time_is_started_and_takes_the_jobs_that_wait(started: list[Callable[[], None]]) -> None:
    """Ours: waking a thread for each call would cost more than most calls."""
    workers, ran = Workers(20, 0, 0), []

    def job() -> None:
        # The first job has made the second thread start. It is still coming.
        assert len(started) == 2
        ran.append(job)
        if len(ran) <= 5:
            assert workers.submit(job)
        if len(ran) == 20:
            workers.close()

    for _ in range(15):
        assert workers.submit(job)
    assert len(started) == 1
    started[0]()

    assert len(ran) == 20


def test_a_job_accepted_before_closing_runs(started: list[Callable[[], None]]) -> None:
    """Ours: it answers its client."""
    workers, ran = Workers(1, 0, 0), []
    assert workers.submit(lambda: ran.append(1))
    workers.close()
    started[0]()

    assert ran == [1]
    assert workers.unfinished == 0


def test_a_job_waits_for_another_thread_when_none_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: the limit of a system is no reason to lose a call, or a place for one."""
    workers, gate, done = Workers(3, 0, 0), Gate(), threading.Event()

    def start(_: threading.Thread) -> None:
        # What Python raises at a limit of the system, which a test cannot reach safely.
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        assert not workers.submit(done.set)
    assert workers.unfinished == 0
    workers.submit(gate)
    gate.await_entered()
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", start)
        assert workers.submit(done.set)
    gate.open()

    assert done.wait(PATIENCE_SECONDS)
    wait_until(lambda: workers.unfinished == 0)
    workers.close()


def test_in_every_order_jobs_run_concurrently_and_the_threads_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a job that waits for another one does not keep it from its thread."""

    def scenario(run: Run, threads: Threads) -> Callable[[], None]:
        monkeypatch.setattr(module, "threading", threads)
        monkeypatch.setattr(module, "SimpleQueue", threads.SimpleQueue)
        workers, ran = Workers(2, 0, 0), []
        one, other = threads.Event(), threads.Event()

        def job(mine: Any, awaited: Any) -> None:
            mine.set()
            awaited.wait()
            ran.append(mine)

        def close() -> None:
            run.step(lambda: len(ran) == 2)
            workers.close()
            run.step(lambda: all(task.is_done for task in run.tasks if task.name == "call"))

        run.spawn(lambda: workers.submit(lambda: job(one, other)), "one")
        run.spawn(lambda: workers.submit(lambda: job(other, one)), "other")
        run.spawn(close, "closer")

        def check() -> None:
            assert workers.unfinished == 0

        return check

    assert explore(scenario, detours=2) > 300


def test_in_every_order_each_accepted_job_runs_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: also while a call asks, and when its answer brings the threads above the limit."""

    def scenario(run: Run, threads: Threads) -> Callable[[], None]:
        monkeypatch.setattr(module, "threading", threads)
        monkeypatch.setattr(module, "SimpleQueue", threads.SimpleQueue)
        workers, ran = Workers(1, 3, 1), []
        answered = threads.Event()

        def asks() -> None:
            with workers.asking(NO_CALL):
                answered.wait()
            ran.append("asks")

        def answers() -> None:
            answered.set()
            ran.append("answers")

        def submit_two() -> None:
            assert workers.submit(asks)
            assert workers.submit(answers)

        run.spawn(submit_two, "one")
        run.spawn(lambda: workers.submit(lambda: ran.append("last")), "other")
        run.spawn(lambda: run.step(lambda: len(ran) == 3 and not workers.unfinished), "end")

        def check() -> None:
            assert sorted(ran) == ["answers", "asks", "last"]

        return check

    assert explore(scenario, detours=2) > 300
