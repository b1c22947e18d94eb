"""The store in memory: what every store does, its limits, and what it holds."""

from __future__ import annotations

from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.store import Event, MemoryStore, Store, StoreError, StoreFullError
from tests.store.contract import StoreContract
from tests.waiting import Clock

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> MemoryStore:
    return MemoryStore(clock=clock)


@pytest.fixture
def advance(clock: Clock) -> Callable[[float], None]:
    def pass_by(seconds: float) -> None:
        clock.now += seconds

    return pass_by


class TestContract(StoreContract):
    """In memory."""


def test_the_memory_store_implements_the_protocol() -> None:
    """Ours: mypy compares it with the protocol."""
    store: Store = MemoryStore()

    store.put("a", b"1", 10)

    assert store.get("a") == b"1"
    assert not store.is_shared


# Room.


def test_removed_and_expired_entries_use_no_memory(store: MemoryStore, clock: Clock) -> None:
    """Ours: the limit is for what can still be read."""
    store.put("a", b"1", 10)
    store.put("b", b"1", 20)
    store.append("log", b"1", 20)
    clock.now += 10
    store.remove("b")
    store.remove("log")

    assert (len(store), store.size) == (0, 0)


def test_dropped_events_of_a_log_use_no_memory(store: MemoryStore) -> None:
    """Ours: a long stream must not fill the store with events that cannot be read any more."""
    for number in range(5):
        store.append("log", str(number).encode(), 10, keep=2)
    size = store.size

    store.append("log", b"5", 10, keep=2)
    assert store.size == size
    store.append("log", b"6", 10, keep=1)
    assert store.size < size


def test_a_full_store_rejects_new_entries_and_preserves_the_old(clock: Clock) -> None:
    """Ours: what was acknowledged is not lost to make room."""
    store = MemoryStore(max_bytes=4000, clock=clock)
    store.put("a", bytes(1000), 10)
    store.append("log", bytes(100), 20)

    for refused, limit in (
        (lambda: store.put("b", bytes(2000), 10), 4000),
        (lambda: store.put("a", bytes(4000), 10), 4000),
        (lambda: store.replace("a", bytes(1000), bytes(4000), 10), 4000),
        (lambda: store.append("log", bytes(1000), 10), 3000),
        (lambda: store.append("other", bytes(300), 10), 3000),
    ):
        with pytest.raises(StoreFullError, match=f"may hold {limit}"):
            refused()

    assert issubclass(StoreFullError, StoreError)
    assert store.get("a") == bytes(1000)
    assert store.read("log") == [Event(1, bytes(100))]
    assert len(store) == 2
    store.put("a", bytes(900), 10)
    clock.now += 10
    store.put("b", bytes(2000), 10)


def test_every_entry_counts_towards_the_limit() -> None:
    """Ours: a million empty ones do not fit into a thousand bytes."""
    store = MemoryStore(max_bytes=10_000)
    numbers = count(1)

    def fill(add: Callable[[], object]) -> int:
        for number in range(10_000):
            try:
                add()
            except StoreFullError:
                return number
        raise AssertionError("it took them all")

    assert fill(lambda: store.put(str(next(numbers)), b"", 10)) < 100
    store.remove("1")
    store.remove("2")
    assert fill(lambda: store.append("log", b"", 10)) < 100


def test_replaced_entries_leave_no_scheduled_expiry(store: MemoryStore, clock: Clock) -> None:
    """Ours: also where each change expires sooner than the one before, or is removed at once."""
    for number in range(10_000):
        store.put("a", b"1", 1_000_000 - number)
        store.put(f"b{number}", b"1", 10)
        store.remove(f"b{number}")

    assert len(store) == 1
    assert store.scheduled < 1000
    clock.now += 990_001
    assert store.get("a") is None
    assert store.scheduled == 0


def test_a_closed_store_is_empty(store: MemoryStore) -> None:
    """Ours: a server that stops must leave neither values nor listeners to the next one."""
    heard: list[bytes] = []
    store.subscribe("channel", heard.append)
    store.put("a", b"1", 10)

    store.close()

    store.publish("channel", b"1")
    assert (len(store), store.size, heard) == (0, 0, [])


def test_logs_leave_room_for_values() -> None:
    """Ours: however many events are kept, sessions begin and tasks end."""
    store = MemoryStore(max_bytes=100_000)
    with suppress(StoreFullError):
        for number in count(1):
            store.append(f"log {number}", bytes(1000), 60)

    assert 70_000 < store.size <= 75_000
    store.put("a", bytes(20_000), 60)
