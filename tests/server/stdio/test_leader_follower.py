"""The right to read, and what becomes of it while calls run."""

from __future__ import annotations

import threading

import pytest

from gaia_mcp.server.stdio.leader_follower import Leadership
from tests.waiting import wait_until


class Relief:
    """Counts how often a turn was taken away."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


def taken_by_another(turn: Leadership) -> threading.Event:
    """Set when another thread has got the turn."""
    taken = threading.Event()

    def wait_for_it() -> None:
        turn.acquire()
        taken.set()

    threading.Thread(target=wait_for_it, daemon=True).start()
    return taken


def test_a_turn_is_one_threads_until_it_is_passed_on() -> None:
    """Ours: two that read one pipe would each have half of it."""
    turn = Leadership(Relief())
    turn.acquire()
    taken = taken_by_another(turn)
    assert not taken.wait(0.02)

    turn.release()
    assert taken.wait(5)


def test_a_turn_is_still_there_after_a_quick_call() -> None:
    """Ours: that is what it is kept for."""
    relief = Relief()
    turn = Leadership(relief, tick_seconds=60)
    turn.acquire()
    for _ in range(100):
        call = object()
        turn.keep(call)
        assert turn.is_kept(call)
    assert relief.times == 0


def test_a_turn_is_taken_away_from_a_call_that_lasts() -> None:
    """Ours: a ping must be answered and a cancellation heard while a tool works."""
    relief = Relief()
    turn = Leadership(relief)
    turn.acquire()
    call = object()
    turn.keep(call)

    assert taken_by_another(turn).wait(5)
    assert relief.times == 1
    assert not turn.is_kept(call)


@pytest.mark.parametrize("times", [2, 3])
def test_a_turn_is_taken_away_again_and_again(times: int) -> None:
    """Ours: also after nobody has looked for a while."""
    relief = Relief()
    turn = Leadership(relief)
    turn.acquire()
    for number in range(1, times + 1):
        turn.keep(object())
        turn.acquire()
        assert relief.times == number
        wait_until(lambda: not turn._is_watched)


def test_whoever_has_lost_the_turn_does_not_get_that_of_another_call() -> None:
    """Ours: a call that was given up may end while a later one keeps the turn."""
    turn = Leadership(Relief(), tick_seconds=0.5)
    turn.acquire()
    slow, quick = object(), object()
    turn.keep(slow)
    turn.acquire()  # By another thread, after it was taken away.
    turn.keep(quick)

    assert not turn.is_kept(slow)
    assert turn.is_kept(quick)


def test_nobody_looks_when_there_are_no_calls() -> None:
    """Ours: a server that waits shall not wake its machine."""
    turn = Leadership(Relief())
    turn.acquire()
    call = object()
    turn.keep(call)
    assert turn.is_kept(call)

    wait_until(lambda: not turn._is_watched)
    assert not turn._wake.is_set()
