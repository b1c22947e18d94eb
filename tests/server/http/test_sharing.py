"""The store and the keys that workers share."""

from __future__ import annotations

import asyncio
import threading

import pytest

from gaia_mcp.server.http.sharing import StoreThreads, shared_keys, state_keys, store_of
from gaia_mcp.store import MemoryStore, StoreError
from gaia_mcp.store.redis import RedisStore
from tests.server.stores import FailingStore
from tests.waiting import PATIENCE_SECONDS


def test_keys_are_separated_by_commas() -> None:
    """Ours: a key can be replaced by putting the new one before it."""
    assert state_keys({"GAIA_MCP_STATE_KEYS": " a ,b,, "}) == ["a", "b"]
    assert state_keys({}) == []


def test_workers_with_one_store_have_one_key() -> None:
    """Ours: the first of them makes it. One that shares nothing has a key of its own."""
    store = FailingStore()

    (key,) = shared_keys(store)

    assert len(key) == 64
    assert shared_keys(store) == [key]
    assert shared_keys(FailingStore()) != [key]
    assert shared_keys(MemoryStore()) == []
    store.failing.add("replace")
    with pytest.raises(StoreError):
        shared_keys(store)


def test_the_store_is_named_by_the_environment() -> None:
    """Ours: nothing is connected for that."""
    shared = store_of({"GAIA_MCP_STORE": "redis://:s3cret@127.0.0.1:1/0"})

    assert isinstance(shared, RedisStore)
    assert shared.shown == "redis://127.0.0.1:1/0"
    assert isinstance(store_of({"GAIA_MCP_STORE": ""}), MemoryStore)
    with pytest.raises(ValueError, match="redis://"):
        store_of({"GAIA_MCP_STORE": "x"})


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
