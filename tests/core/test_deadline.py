"""Deadlines, on a clock that the test turns."""

from __future__ import annotations

import math
import threading

import pytest

from gaia_mcp.core.deadline import LONGEST_SECONDS, WAIT_SLICE_SECONDS, Deadline
from tests.waiting import PATIENCE_SECONDS, Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_deadline_expires_when_its_time_is_over(clock: Clock) -> None:
    """Ours: every wait has a deadline, shared by all the steps of one request."""
    deadline = Deadline(10, clock=clock)
    assert (deadline.seconds, deadline.remaining(), deadline.expired) == (10, 10, False)

    clock.now += 9.5
    assert (deadline.remaining(), deadline.expired) == (0.5, False)
    clock.now += 0.5
    assert (deadline.remaining(), deadline.expired) == (0, True)
    clock.now += 100
    assert (deadline.remaining(), deadline.expired) == (0, True)


def test_the_usual_clock_is_monotonic_and_running() -> None:
    """Ours: changing the computer's date changes no deadline."""
    deadline = Deadline(1000)
    assert 0 < deadline.remaining() <= 1000
    assert Deadline(0).expired
    assert Deadline(-5).remaining() == 0


def test_no_wait_is_longer_than_a_week() -> None:
    """Ours: no lock of any system can wait for ever by a number."""
    wrong = []
    for seconds in (math.inf, math.nan, 1e300, LONGEST_SECONDS + 1):
        deadline = Deadline(seconds, ceiling=seconds, clock=Clock())
        deadline.extend()
        if not deadline.seconds == deadline.remaining() == LONGEST_SECONDS:
            wrong.append((seconds, deadline))
        assert threading.Lock().acquire(timeout=deadline.remaining())

    assert not wrong


def test_extensions_and_holds_count_as_allowed_time(clock: Clock) -> None:
    """Ours: an error says how long was really waited."""
    deadline = Deadline(0.3, ceiling=100, clock=clock)
    assert deadline.allowed == 0.3

    clock.now += 0.5
    deadline.extend()
    assert deadline.allowed == 0.8
    deadline.hold()
    clock.now += 20
    deadline.release()
    assert deadline.allowed == 20.8


def test_the_repr_of_a_deadline_shows_the_remaining_time(clock: Clock) -> None:
    """Ours: it turns up in debuggers."""
    deadline = Deadline(2.5, clock=clock)
    clock.now += 1
    assert repr(deadline) == "<Deadline in 1.500 of 2.5 s>"


def test_a_step_may_have_less_time_but_never_more(clock: Clock) -> None:
    """Ours: a step's own limit lies within the request's."""
    deadline = Deadline(10, clock=clock)
    assert deadline.sooner(3).remaining() == 3
    assert deadline.sooner(30).remaining() == 10

    step = deadline.sooner(3)
    clock.now += 3
    assert step.expired
    assert not deadline.expired


def test_progress_gives_the_full_length_again_up_to_the_ceiling(clock: Clock) -> None:
    """Ours: a tool that says how far it is may go on, but not for ever."""
    deadline = Deadline(10, ceiling=25, clock=clock)

    clock.now += 8
    deadline.extend()
    assert deadline.remaining() == 10
    clock.now += 9
    deadline.extend()
    assert deadline.remaining() == 8
    clock.now += 7
    deadline.extend()
    assert deadline.remaining() == 1


@pytest.mark.parametrize("ceiling", [None, 0.0, 5.0])
def test_a_deadline_without_a_higher_ceiling_is_not_extended(clock: Clock, ceiling: float | None) -> None:
    """Ours: --timeout means what it says."""
    deadline = Deadline(10, ceiling=ceiling, clock=clock)
    clock.now += 4
    deadline.extend()
    assert deadline.remaining() == 6


def test_extending_never_shortens(clock: Clock) -> None:
    """Ours: progress never shortens it."""
    deadline = Deadline(10, ceiling=11, clock=clock)
    clock.now += 5
    deadline.extend()
    left = deadline.remaining()
    deadline.extend()
    assert deadline.remaining() == left == 6


def test_a_held_deadline_does_not_expire(clock: Clock) -> None:
    """Ours: a person who is typing must not lose the call."""
    deadline = Deadline(10, ceiling=20, clock=clock)
    clock.now += 4

    deadline.hold()
    clock.now += 1000
    assert not deadline.expired
    assert deadline.remaining() == WAIT_SLICE_SECONDS
    deadline.release()

    assert deadline.remaining() == 6
    deadline.extend()
    assert deadline.remaining() == 10
    clock.now += 10
    assert deadline.expired


def test_a_released_deadline_is_at_no_moment_expired(clock: Clock) -> None:
    """Ours: another thread may look at that very moment."""
    seen: list[bool] = []

    def looking() -> float:
        if deadlines and deadlines[0]._holds:
            seen.append(deadlines[0].expired)
        return clock()

    deadlines: list[Deadline] = []
    deadlines.append(Deadline(1, clock=looking))
    deadlines[0].hold()
    clock.now += 60
    deadlines[0].release()

    assert seen == [False]
    assert deadlines[0].remaining() == 1


def test_the_ceiling_moves_with_the_time_held(clock: Clock) -> None:
    """Ours: the time held does not count, for the ceiling neither."""
    deadline = Deadline(10, ceiling=15, clock=clock)
    deadline.hold()
    clock.now += 100
    deadline.release()
    clock.now += 8
    deadline.extend()
    assert deadline.remaining() == 7


def test_holds_nest(clock: Clock) -> None:
    """Ours: two questions at once hold once."""
    deadline = Deadline(10, clock=clock)
    deadline.hold()
    clock.now += 5
    deadline.hold()
    clock.now += 5
    deadline.release()
    clock.now += 5
    assert not deadline.expired
    deadline.release()
    assert deadline.remaining() == 10


def test_progress_during_a_hold_gives_the_full_length_and_no_more(clock: Clock) -> None:
    """Ours: the clock stands still during a hold, for an extension too."""
    deadline = Deadline(10, ceiling=100, clock=clock)
    clock.now += 4
    deadline.hold()
    clock.now += 50
    deadline.extend()
    clock.now += 50
    deadline.release()
    assert deadline.remaining() == 10


def test_many_threads_may_hold_the_same_deadline() -> None:
    """Ours: each question of a server is answered in a thread of its own."""
    deadline = Deadline(1000)

    def ask() -> None:
        for _ in range(500):
            deadline.hold()
            deadline.release()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Not held any more, and no more was given back than was taken.
    assert deadline.remaining() > WAIT_SLICE_SECONDS
    assert deadline.remaining() <= 1000


def test_cancelling_a_deadline_cancels_those_derived_from_it() -> None:
    """Ours: a step of a request ends with the request."""
    whole = Deadline(60)
    before = whole.sooner(30)
    deeper = before.sooner(10)

    whole.cancel()

    assert all(part.is_cancelled and part.expired and part.remaining() == 0 for part in (whole, before, deeper))
    assert whole.sooner(5).is_cancelled
    assert not Deadline(60).is_cancelled


def test_a_sleep_ends_when_its_deadline_is_cancelled() -> None:
    """Ours: whoever cancels does not wait for the end of a pause."""
    deadline = Deadline(LONGEST_SECONDS)
    sleeping = threading.Thread(target=deadline.sleep, args=(LONGEST_SECONDS,))
    sleeping.start()

    deadline.cancel()

    sleeping.join(PATIENCE_SECONDS)
    assert not sleeping.is_alive()


def test_a_listener_that_was_removed_is_not_called() -> None:
    """Ours: what it would stop has ended; it may be removed by whoever comes first."""
    deadline, called = Deadline(10), []

    def listener() -> None:
        called.append(listener)

    deadline.on_cancel(listener)
    deadline.forget(listener)
    deadline.forget(listener)
    deadline.cancel()

    assert called == []
