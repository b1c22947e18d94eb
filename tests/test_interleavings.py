"""The scheduler of threads that tests of ours rely on."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tests import interleavings
from tests.interleavings import LostThreadError, Run, explore
from tests.waiting import ENOUGH_SECONDS

if TYPE_CHECKING:
    from tests.interleavings import Threads


def test_a_thread_of_an_earlier_test_takes_no_turn() -> None:
    """Ours: it looks up `time` and `threading` in the module under test, and finds what it was given for this one."""
    problems: list[BaseException] = []
    orders: list[str] = []

    def scenario(run: Run, threads: Threads) -> None:
        def sleep() -> None:
            try:
                threads.sleep(1)
            except BaseException as problem:
                problems.append(problem)

        def work() -> None:
            run.step()
            stranger = threading.Thread(target=sleep)
            stranger.start()
            stranger.join(5)
            assert not stranger.is_alive(), "it waits for a turn"
            orders.append(threading.current_thread().name)

        run.spawn(work, "a")
        run.spawn(work, "b")

    assert explore(scenario, detours=1) == 3

    assert not problems
    assert sorted(orders) == ["a"] * 3 + ["b"] * 3


@pytest.mark.parametrize("losses", [1, 100])
def test_an_order_that_loses_a_thread_is_repeated(monkeypatch: pytest.MonkeyPatch, losses: int) -> None:
    """Ours: a thread may end before it begins, and the others would wait for it for ever."""
    work, left = Run._work, [losses]

    def lose(run: Run, task: interleavings.Task) -> None:
        left[0] -= 1
        if left[0] < 0:
            work(run, task)

    monkeypatch.setattr(Run, "_work", lose)

    def scenario(run: Run, _: Threads) -> None:
        # Only a run that loses its thread is not waited for.
        monkeypatch.setattr(interleavings, "RUN_SECONDS", 0.2 if left[0] > 0 else ENOUGH_SECONDS)
        run.spawn(run.step)

    if losses == 1:
        assert explore(scenario) == 1
    else:
        with pytest.raises(LostThreadError, match="no thread goes on"):
            explore(scenario)
