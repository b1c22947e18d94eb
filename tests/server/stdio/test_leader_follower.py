"""The leading thread, and how it is deposed while calls run."""

from __future__ import annotations

import threading

from gaia_mcp.server.stdio.leader_follower import Leadership
from tests.waiting import PATIENCE_SECONDS, wait_until


class Deposed:
    """Counts how often a leader was deposed."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self) -> None:
        self.times += 1


def acquired_by_another(leadership: Leadership) -> threading.Event:
    """Set when another thread leads."""
    acquired = threading.Event()

    def wait_for_it() -> None:
        leadership.acquire()
        acquired.set()

    threading.Thread(target=wait_for_it, daemon=True).start()
    return acquired


def test_one_thread_leads_until_it_releases() -> None:
    """Ours: two threads that read one pipe would each have half of it."""
    leadership = Leadership(Deposed())
    leadership.acquire()
    acquired = acquired_by_another(leadership)
    assert not acquired.wait(0.02)

    leadership.release()
    assert acquired.wait(PATIENCE_SECONDS)


def test_a_leader_still_leads_after_a_quick_call() -> None:
    """Ours: waking a follower each time would cost more than the call."""
    deposed = Deposed()
    leadership = Leadership(deposed, tick_seconds=60)
    leadership.acquire()
    for _ in range(100):
        call = object()
        leadership.keep(call)
        assert leadership.is_kept(call)
    assert deposed.times == 0


def test_a_leader_is_deposed_while_its_call_lasts() -> None:
    """Ours: a ping must be answered and a cancellation received while a tool runs."""
    deposed = Deposed()
    leadership = Leadership(deposed)
    leadership.acquire()
    call = object()
    leadership.keep(call)

    assert acquired_by_another(leadership).wait(PATIENCE_SECONDS)
    assert deposed.times == 1
    assert not leadership.is_kept(call)


def test_leaders_are_deposed_again_and_again() -> None:
    """Ours: also after the watch has slept."""
    deposed = Deposed()
    leadership = Leadership(deposed)
    leadership.acquire()
    for number in (1, 2, 3):
        leadership.keep(object())
        leadership.acquire()
        assert deposed.times == number
        wait_until(lambda: not leadership._is_watched)


def test_a_deposed_leader_does_not_take_the_lead_of_another_call() -> None:
    """Ours: a slow call may end while a later one is kept."""

    def on_depose() -> None:
        leadership._tick_seconds = 60  # The next leader is not deposed while we look.

    leadership = Leadership(on_depose)
    leadership.acquire()
    slow, quick = object(), object()
    leadership.keep(slow)
    leadership.acquire()  # By another thread, after the first was deposed.
    leadership.keep(quick)

    assert not leadership.is_kept(slow)
    assert leadership.is_kept(quick)


def test_the_watch_sleeps_when_there_are_no_calls() -> None:
    """Ours: an idle server must not wake its machine."""
    leadership = Leadership(Deposed())
    leadership.acquire()
    call = object()
    leadership.keep(call)
    leadership.is_kept(call)  # Ends the call; on a busy machine the watch may have been quicker.

    wait_until(lambda: not leadership._is_watched)
    assert not leadership._wake.is_set()


def test_a_leader_whose_call_waits_steps_down_at_once() -> None:
    """Ours: the answer that it waits for is read by another thread; the watch would take a moment."""
    deposed = Deposed()
    leadership = Leadership(deposed, tick_seconds=60)
    leadership.acquire()
    call = object()
    leadership.keep(call)
    acquired = acquired_by_another(leadership)

    leadership.step_down(object())
    assert deposed.times == 0
    leadership.step_down(call)

    assert acquired.wait(PATIENCE_SECONDS)
    assert deposed.times == 1
    assert not leadership.is_kept(call)
    leadership.step_down(call)
    assert deposed.times == 1
