"""A lock that is waited for until a deadline. The clocks stand still, so that nothing ends by itself."""

from __future__ import annotations

import threading

from gaia_mcp.client.deadline_lock import DeadlineLock
from gaia_mcp.deadline import Deadline
from tests.client.transports.talk import in_thread
from tests.waiting import wait_until


def endless() -> Deadline:
    return Deadline(10, clock=lambda: 0.0)


def try_it(lock: DeadlineLock, deadline: Deadline, then: threading.Event | None = None) -> bool:
    with lock.held(deadline) as is_held:
        if then is not None:
            then.wait(5)
        return is_held


def test_the_thread_that_holds_it_may_take_it_again() -> None:
    """Ours: a method of the client calls another."""
    lock = DeadlineLock()

    with lock.held(endless()) as outer, lock.held(endless()) as inner:
        assert (outer, inner) == (True, True)
        thread, outcomes = in_thread(lambda: try_it(lock, Deadline(0)))
        thread.join(5)

    assert outcomes == [False]
    assert try_it(lock, Deadline(0))


def test_a_thread_that_waits_gets_it_when_it_is_free() -> None:
    """Ours."""
    lock, release = DeadlineLock(), threading.Event()
    first, got_first = in_thread(lambda: try_it(lock, endless(), release))
    wait_until(lambda: not try_it(lock, Deadline(0)))
    second, got_second = in_thread(lambda: try_it(lock, endless()))

    release.set()
    for thread in (first, second):
        thread.join(5)

    assert (got_first, got_second) == ([True], [True])


def test_a_cancelled_deadline_ends_the_wait_at_once() -> None:
    """Ours: also for a thread that has not sent anything."""
    lock, release, deadline = DeadlineLock(), threading.Event(), endless()
    holder, _ = in_thread(lambda: try_it(lock, endless(), release))
    wait_until(lambda: not try_it(lock, Deadline(0)))
    waiting, outcomes = in_thread(lambda: try_it(lock, deadline))

    deadline.cancel()
    waiting.join(5)

    assert outcomes == [False]
    release.set()
    holder.join(5)
