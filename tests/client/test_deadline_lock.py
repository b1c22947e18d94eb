"""The lock whose acquisition ends with a deadline. The clocks stand still, so that no wait ends by itself."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.client import deadline_lock as module
from gaia_mcp.client.deadline_lock import DeadlineLock
from gaia_mcp.deadline import Deadline
from tests.client.transports.talk import in_thread
from tests.interleavings import explore
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.interleavings import Run, Threads


def endless() -> Deadline:
    return Deadline(10, clock=lambda: 0.0)


def try_it(lock: DeadlineLock, deadline: Deadline, then: threading.Event | None = None) -> bool:
    with lock.held(deadline) as is_held:
        if then is not None:
            then.wait(PATIENCE_SECONDS)
        return is_held


def test_the_lock_is_reentrant() -> None:
    """Ours: a method of the client calls another."""
    lock = DeadlineLock()

    with lock.held(endless()) as outer, lock.held(endless()) as inner:
        assert (outer, inner) == (True, True)
        thread, outcomes = in_thread(lambda: try_it(lock, Deadline(0)))
        thread.join(PATIENCE_SECONDS)

    assert outcomes == [False]
    assert try_it(lock, Deadline(0))


def test_a_waiting_thread_acquires_the_lock_once_it_is_released() -> None:
    """Ours: the thread that releases it wakes the others, which would wait for a whole slice otherwise."""
    lock, release = DeadlineLock(), threading.Event()
    first, got_first = in_thread(lambda: try_it(lock, endless(), release))
    wait_until(lambda: not try_it(lock, Deadline(0)))
    second, got_second = in_thread(lambda: try_it(lock, endless()))

    release.set()
    for thread in (first, second):
        thread.join(PATIENCE_SECONDS)

    assert (got_first, got_second) == ([True], [True])


def test_a_cancelled_deadline_ends_the_wait_at_once() -> None:
    """Ours: also that of a thread which has not sent its request yet."""
    lock, release, deadline = DeadlineLock(), threading.Event(), endless()
    holder, _ = in_thread(lambda: try_it(lock, endless(), release))
    wait_until(lambda: not try_it(lock, Deadline(0)))
    waiting, outcomes = in_thread(lambda: try_it(lock, deadline))

    deadline.cancel()
    waiting.join(PATIENCE_SECONDS)

    assert outcomes == [False]
    release.set()
    holder.join(PATIENCE_SECONDS)


class Pressed:
    """The condition of a lock, with a Ctrl-C when it is left for the first time, or entered for the second."""

    def __init__(self, real: threading.Condition, when: str) -> None:
        self._real = real
        self._when = when
        self._entered = self._left = 0

    def __enter__(self) -> None:
        self._entered += 1
        if (self._when, self._entered) == ("before the release", 2):
            raise KeyboardInterrupt
        self._real.__enter__()

    def __exit__(self, *_: object) -> None:
        self._real.__exit__(None, None, None)
        self._left += 1
        if (self._when, self._left) == ("after the acquisition", 1):
            raise KeyboardInterrupt

    def notify_all(self) -> None:
        self._real.notify_all()


@pytest.mark.parametrize("when", ["after the acquisition", "before the release"])
def test_a_keyboard_interrupt_leaves_the_lock_free(when: str) -> None:
    """Ours: other threads could not use the client again."""
    lock = DeadlineLock()
    lock._free = Pressed(lock._free, when)  # type: ignore[assignment]

    with pytest.raises(KeyboardInterrupt):
        try_it(lock, endless())

    thread, outcomes = in_thread(lambda: try_it(lock, Deadline(0)))
    thread.join(PATIENCE_SECONDS)
    assert outcomes == [True]


def test_in_every_interleaving_one_thread_at_a_time_holds_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: every thread acquires it or is cancelled, without a timeout of its own."""

    def scenario(run: Run, threads: Threads) -> Callable[[], None]:
        monkeypatch.setattr(module, "threading", threads)
        lock, cancelled = DeadlineLock(), Deadline(3600)
        inside: list[str] = []
        outcomes: dict[str, bool] = {}

        def use(name: str, deadline: Deadline) -> None:
            with lock.held(deadline) as is_held, lock.held(deadline) as is_held_again:
                assert is_held == is_held_again
                outcomes[name] = is_held
                if is_held:
                    inside.append(name)
                    assert inside == [name]
                    run.step()
                    inside.clear()

        for name, deadline in (("a", Deadline(3600)), ("b", Deadline(3600)), ("c", cancelled)):
            run.spawn(lambda name=name, deadline=deadline: use(name, deadline), name)  # type: ignore[misc]
        run.spawn(cancelled.cancel, "cancel")

        def check() -> None:
            assert (outcomes["a"], outcomes["b"]) == (True, True)
            assert len(outcomes) == 3

        return check

    assert explore(scenario, detours=2) > 500
