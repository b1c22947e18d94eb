"""The store and the keys that workers share."""

from __future__ import annotations

import pytest

from gaia_mcp.server.http.sharing import shared_keys, state_keys, store_of
from gaia_mcp.store import MemoryStore, StoreError
from gaia_mcp.store.redis import RedisStore
from tests.server.stores import FailingStore


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
