"""Values that are looked up for many requests at once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from queue import SimpleQueue

from gaia_mcp.server.http.lookups import MAX_AT_ONCE, Lookups
from tests.server.http.asgi import Gate
from tests.server.stores import FailingStore
from tests.waiting import PATIENCE_SECONDS, wait_until


class Slow(FailingStore):
    """Notes what is asked for at once. `gate` holds those who ask."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate()
        self.sizes: list[int] = []

    def get_all(self, names: Sequence[str], seconds: float) -> list[bytes | None]:
        self.sizes.append(len(names))
        self.gate()
        return super().get_all(names, seconds)


def found(lookups: Lookups, *names: str) -> list[bytes | None]:
    """The values of these names, in the order in which they come."""
    values: SimpleQueue[bytes | None] = SimpleQueue()
    for name in names:
        assert lookups.ask(name, values.put)
    return [values.get(timeout=PATIENCE_SECONDS) for _ in names]


def test_each_request_gets_its_own_value() -> None:
    """Ours: by a thread of its own, which is the same one for all."""
    store = FailingStore()
    store.put("a", b"1", 10)
    store.put("b", b"2", 10)
    lookups = Lookups(store, 10)
    threads: SimpleQueue[int] = SimpleQueue()

    assert found(lookups, "a", "b", "c", "a") == [b"1", b"2", None, b"1"]
    for _ in range(2):
        lookups.ask("a", lambda _: threads.put(threading.get_ident()))
    assert threads.get(timeout=PATIENCE_SECONDS) == threads.get(timeout=PATIENCE_SECONDS) != threading.get_ident()
    lookups.close()


def test_lookups_that_arrive_during_a_read_are_batched() -> None:
    """Ours: up to a limit, for the store answers to others meanwhile."""
    store, values = Slow(), SimpleQueue[bytes | None]()
    lookups = Lookups(store, 10)
    lookups.ask("a", values.put)
    store.gate.await_entered()
    for _ in range(MAX_AT_ONCE + 2):
        lookups.ask("a", values.put)
    store.gate.open()

    assert [values.get(timeout=PATIENCE_SECONDS) for _ in range(MAX_AT_ONCE + 3)] == [None] * (MAX_AT_ONCE + 3)
    assert store.sizes == [1, MAX_AT_ONCE, 2]
    lookups.close()


def test_a_failing_store_returns_no_value() -> None:
    """Ours: the caller reads the store itself, and gets the error. Later lookups work as before."""
    store = FailingStore()
    store.put("a", b"1", 10)
    store.append("log", b"1", 10)
    lookups = Lookups(store, 10)
    store.failing = {"get"}
    assert found(lookups, "a") == [None]
    store.failing = set()
    assert found(lookups, "log") == [None]

    assert found(lookups, "a") == [b"1"]
    lookups.close()


def test_closing_completes_earlier_lookups() -> None:
    """Ours: no request waits for ever, and no thread is left."""
    before = set(threading.enumerate())
    store, values = Slow(), SimpleQueue[bytes | None]()
    lookups = Lookups(store, 10)
    lookups.ask("a", values.put)
    store.gate.await_entered()
    lookups.ask("a", values.put)
    lookups.close()
    lookups.close()

    assert not lookups.ask("a", values.put)
    store.gate.open()

    assert [values.get(timeout=PATIENCE_SECONDS) for _ in range(2)] == [None, None]
    wait_until(lambda: set(threading.enumerate()) <= before)
    assert values.empty()
    Lookups(store, 10).close()
