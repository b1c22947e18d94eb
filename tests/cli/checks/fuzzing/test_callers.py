"""Threads that make calls at once."""

from __future__ import annotations

import threading

import pytest

from gaia_mcp.cli.checks.fuzzing.callers import Callers
from tests.waiting import ENOUGH_SECONDS, wait_until


def alive() -> int:
    return sum(thread.name.startswith("fuzz ") for thread in threading.enumerate())


def test_outcomes_are_in_the_order_of_the_items() -> None:
    """Ours: whichever thread is first."""
    callers = Callers(lambda number: number * 2, 3)

    assert callers.outcomes(range(100)) == [number * 2 for number in range(100)]
    assert callers.outcomes([]) == []
    callers.close()

    wait_until(lambda: not alive())


def test_items_are_in_work_at_once() -> None:
    """Ours: the server is kept busy."""
    meeting = threading.Barrier(3)
    callers = Callers(lambda _: meeting.wait(ENOUGH_SECONDS), 3)

    assert sorted(callers.outcomes(range(3))) == [0, 1, 2]
    callers.close()


def test_a_single_one_works_in_the_thread_that_asks() -> None:
    """Ours: one call after the other, and none after one that raises."""
    done: list[int] = []

    def work(number: int) -> int:
        done.append(number)
        if number == 2:
            raise ValueError(number)
        return threading.get_ident()

    callers = Callers(work, 1)

    assert callers.outcomes([0, 1]) == [threading.get_ident()] * 2
    with pytest.raises(ValueError, match="2"):
        callers.outcomes([2, 3])
    assert done == [0, 1, 2]
    callers.close()


def test_an_exception_ends_the_work_and_is_raised_here() -> None:
    """Ours: it is of the thread that waits, and the threads go on with what comes next."""

    def work(number: int) -> int:
        if number == 5:
            raise KeyError(number)
        return number

    callers = Callers(work, 2)

    with pytest.raises(KeyError):
        callers.outcomes(range(1000))
    assert callers.outcomes([7, 8, 9]) == [7, 8, 9]
    callers.close()
