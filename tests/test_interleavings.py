"""The scheduler of threads that tests of ours rely on."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from tests.interleavings import explore

if TYPE_CHECKING:
    from tests.interleavings import Run, Threads


def test_a_thread_that_an_earlier_test_has_left_takes_no_turn() -> None:
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
