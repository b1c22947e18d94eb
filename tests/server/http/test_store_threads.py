"""Where a store is asked."""

from __future__ import annotations

import asyncio
import threading

import pytest

from gaia_mcp.server.http.store_threads import StoreThreads
from gaia_mcp.store import MemoryStore, StoreError
from tests.server.stores import FailingStore
from tests.waiting import PATIENCE_SECONDS


def test_a_store_in_memory_is_used_in_the_event_loop() -> None:
    """Ours: a thread would take longer than the store."""
    threads = StoreThreads(MemoryStore())

    assert asyncio.run(threads.run(threading.get_ident)) == threading.get_ident()
    threads.close()


def test_a_shared_store_is_used_in_a_thread() -> None:
    """Ours: other clients do not wait for it. What it raises is raised."""
    store = FailingStore()
    store.failing.add("get")
    threads = StoreThreads(store)

    async def test() -> None:
        entered, go_on = threading.Event(), threading.Event()

        def ask(seconds: float) -> bool:
            entered.set()
            return go_on.wait(seconds)

        asked = asyncio.create_task(threads.run(ask, seconds=5.0))
        while not entered.is_set():
            await asyncio.sleep(0)
        go_on.set()
        assert await asked
        with pytest.raises(StoreError):
            await threads.run(store.get, "a")

    asyncio.run(test())
    threads.close()


def test_start_does_not_wait_for_the_function() -> None:
    """Ours: it runs in a thread, unless they have ended."""
    threads = StoreThreads(FailingStore())
    has_run = threading.Event()

    assert threads.start(has_run.set)
    assert has_run.wait(PATIENCE_SECONDS)
    threads.close()
    assert not threads.start(has_run.set)
