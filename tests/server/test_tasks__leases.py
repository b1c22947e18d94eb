"""The tasks of workers that have ended, and of those that live."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from gaia_mcp.server.tasks import HAS_ENDED, Tasks
from gaia_mcp.store import MemoryStore, StoreError
from tests.server.stores import FailingStore
from tests.server.task_client import Jobs, TaskClient
from tests.waiting import PATIENCE_SECONDS, Clock, wait_until

if TYPE_CHECKING:
    from gaia_mcp.asking import Call


def threads() -> int:
    return sum(thread.name == "leases" for thread in threading.enumerate())


class Worker:
    """A process with tasks, and a client of it."""

    def __init__(self, store: MemoryStore) -> None:
        self.cancelled = threading.Event()
        self.go_on = threading.Event()
        self.tasks = Tasks(store, beat_seconds=0.02)
        self.client = TaskClient(Jobs(work=self._work), tasks=self.tasks)

    @property
    def name(self) -> str:
        """That of its entry."""
        return f"worker/{self.tasks._leases.worker}"

    def die(self) -> None:
        """Renew the lease no more."""
        self.tasks._leases.close()

    def _work(self, call: Call) -> str:
        call.on_cancel(self.cancelled.set)
        call.on_cancel(self.go_on.set)
        assert self.go_on.wait(PATIENCE_SECONDS)
        return "done"


def test_the_task_of_a_worker_that_has_ended_fails() -> None:
    """Ours: within a bounded time, and with the reason; should the worker live after all, its tool is cancelled."""
    store = FailingStore()
    here, there = Worker(store), Worker(store)
    task = here.client.task("work")
    here.die()

    failed = there.client.until(task, "failed")

    assert failed["error"] == {"code": -32603, "message": HAS_ENDED}
    assert here.cancelled.wait(PATIENCE_SECONDS)
    wait_until(lambda: threads() == 0)
    there.tasks.close()


def test_a_subscriber_is_notified_when_the_worker_has_ended() -> None:
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


def test_the_task_of_a_live_worker_continues() -> None:
    """Ours: although the store has lost its lease, or was unreachable for a while."""
    store = FailingStore(clock=Clock())
    here, there = Worker(store), Worker(store)
    task = here.client.task("work")
    put, get, failed = store.put, store.get, threading.Semaphore(0)

    def get_and_fail(*given: Any) -> Any:
        # Unreachable as soon as the lease is missed: a moment later, the other worker would end the task.
        try:
            found = get(*given)
        except StoreError:
            failed.release()
            raise
        if given[0] == here.name and found is None:
            store.failing.add("get")
        return found

    store.put = lambda *_: None  # type: ignore[method-assign]
    store.get = get_and_fail  # type: ignore[method-assign]
    store.remove(here.name)
    assert there.client.state(task)["status"] == "working"
    for _ in range(10):  # More beats than a suspected task has where the store can be read.
        assert failed.acquire(timeout=PATIENCE_SECONDS)
    assert there.tasks._leases.suspected
    store.put = put  # type: ignore[method-assign]
    wait_until(lambda: here.name in store._entries)
    store.failing.clear()

    wait_until(lambda: not there.tasks._leases.suspected)

    here.go_on.set()
    there.client.until(task, "completed")
    wait_until(lambda: threads() == 0)


def test_a_store_in_memory_needs_no_leases() -> None:
    """Ours: a store in memory ends with its worker."""
    store = MemoryStore()
    worker = Worker(store)
    task = worker.client.task("work")
    worker.client.start("subscriptions/listen", {"notifications": {"taskIds": [task]}})
    wait_until(lambda: worker.client.notified("notifications/tasks"))

    assert (len(store), threads()) == (1, 0)
    worker.tasks.close()


def test_a_deleted_task_is_not_suspected() -> None:
    """Ours: there is nothing left to end, and the thread that checks the leases can end."""
    store = FailingStore()
    here, there = Worker(store), Worker(store)
    task = here.client.task("work")
    here.die()
    wait_until(lambda: store.get(here.name) is None)
    there.client.state(task)
    store.remove(f"task/{task}")

    wait_until(lambda: not there.tasks._leases.suspected)

    here.go_on.set()
