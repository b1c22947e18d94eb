"""The tasks of workers that have ended, and of those that live."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.server import leases as module
from gaia_mcp.server.tasks import HAS_ENDED, Tasks
from gaia_mcp.store.memory import MemoryStore
from tests.server.stores import FailingStore
from tests.server.task_client import Jobs, TaskClient
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from gaia_mcp.toolcall import Call


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BEAT_SECONDS", 0.02)


def threads() -> int:
    return sum(thread.name == "leases" for thread in threading.enumerate())


class Worker:
    """A process with tasks, and a client of it."""

    def __init__(self, store: MemoryStore) -> None:
        self.cancelled = threading.Event()
        self.go_on = threading.Event()
        self.tasks = Tasks(store)
        self.client = TaskClient(Jobs(work=self._work), tasks=self.tasks)

    @property
    def name(self) -> str:
        """That of its entry."""
        return f"worker/{self.tasks._leases.worker}"

    def die(self) -> None:
        """Give no sign of life any more."""
        self.tasks._leases.close()

    def _work(self, call: Call) -> str:
        call.on_cancel(self.cancelled.set)
        call.on_cancel(self.go_on.set)
        assert self.go_on.wait(PATIENCE_SECONDS)
        return "done"


def test_the_task_of_a_worker_that_has_ended_fails() -> None:
    """Ours: within a bounded time, and in words; should the worker live after all, its tool is cancelled."""
    store = FailingStore()
    here, there = Worker(store), Worker(store)
    task = here.client.task("work")
    here.die()

    failed = there.client.until(task, "failed")

    assert failed["error"] == {"code": -32603, "message": HAS_ENDED}
    assert here.cancelled.wait(PATIENCE_SECONDS)
    wait_until(lambda: threads() == 0)
    there.tasks.close()


def test_a_subscriber_learns_that_the_worker_has_ended() -> None:
    """Ours: also if no client asks for the task."""
    store = FailingStore()
    here, there = Worker(store), Worker(store)
    task = here.client.task("work")
    there.client.start("subscriptions/listen", {"notifications": {"taskIds": [task, task]}})
    wait_until(lambda: there.client.notified("notifications/tasks"))
    here.die()

    wait_until(lambda: there.client.notified("notifications/tasks")[-1]["status"] == "failed")

    wait_until(lambda: threads() == 0)
    there.tasks.close()


def test_the_task_of_a_worker_that_lives_goes_on() -> None:
    """Ours: though the store has lost its sign of life, or was not reached for a while."""
    store = FailingStore()
    here, there = Worker(store), Worker(store)
    task = here.client.task("work")
    sent = store.put
    store.put = lambda *_: None  # type: ignore[method-assign]
    store.remove(here.name)
    assert there.client.state(task)["status"] == "working"
    wait_until(lambda: there.tasks._leases.suspected)
    store.failing.add("get")
    threading.Event().wait(0.1)
    assert there.tasks._leases.suspected
    store.put = sent  # type: ignore[method-assign]
    wait_until(lambda: here.name in store._entries)
    store.failing.clear()

    wait_until(lambda: not there.tasks._leases.suspected)

    here.go_on.set()
    there.client.until(task, "completed")
    wait_until(lambda: threads() == 0)


def test_without_other_workers_there_are_no_signs_of_life() -> None:
    """Ours: a store in memory ends with its worker."""
    store = MemoryStore()
    worker = Worker(store)
    task = worker.client.task("work")
    worker.client.start("subscriptions/listen", {"notifications": {"taskIds": [task]}})
    wait_until(lambda: worker.client.notified("notifications/tasks"))

    assert (len(store), threads()) == (1, 0)
    worker.tasks.close()


def test_a_task_that_is_gone_is_not_suspected() -> None:
    """Ours."""
    store = FailingStore()
    here, there = Worker(store), Worker(store)
    task = here.client.task("work")
    here.die()
    wait_until(lambda: store.get(here.name) is None)
    there.client.state(task)
    store.remove(f"task/{task}")

    wait_until(lambda: not there.tasks._leases.suspected)

    here.go_on.set()
