"""The threads that run calls."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from gaia_mcp.protocol.questions import QuestionError
from gaia_mcp.server.http.workers import Workers
from tests.server.http.asgi import Gate
from tests.waiting import PATIENCE_SECONDS, wait_until

NO_CALL: Any = None


def run_all(workers: Workers, count: int) -> None:
    """Run so many things, and wait for their end."""
    done = threading.Semaphore(0)
    for _ in range(count):
        assert workers.submit(done.release)
    for _ in range(count):
        assert done.acquire(timeout=PATIENCE_SECONDS)


def test_a_thread_that_is_idle_runs_the_next_thing() -> None:
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


def test_what_exceeds_the_limit_waits_and_more_than_that_is_refused() -> None:
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


def test_something_that_waits_takes_the_place_of_a_call_that_begins_to_ask() -> None:
    """Ours."""
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


def test_no_more_calls_than_allowed_wait_for_their_clients() -> None:
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
