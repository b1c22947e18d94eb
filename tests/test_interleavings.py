"""The scheduler of threads that tests of ours rely on."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from tests.interleavings import LostThreadError, Run, explore

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


def test_an_order_that_loses_a_thread_is_an_error() -> None:
    """Ours: the others would wait for it for ever, and an order that is passed over has not been tried."""

    def scenario(run: Run, _: Threads) -> None:
        # As if the system did not let it go on for a while.
        run.spawn(lambda: run.step(lambda: threading.Event().wait(1) or True))

    with pytest.raises(LostThreadError, match="no thread goes on"):
        explore(scenario, seconds=0.1)
