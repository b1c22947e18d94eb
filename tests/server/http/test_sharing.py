"""The store and the keys that workers share."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from queue import SimpleQueue
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.protocol.jsonrpc import Request
from gaia_mcp.protocol.subscriptions import Subscriptions
from gaia_mcp.server.http.sharing import (
    MAX_AT_ONCE,
    Everything,
    FanOut,
    Lookups,
    StoreThreads,
    shared_keys,
    state_keys,
    store_of,
)
from gaia_mcp.server.provider import LISTS, Change
from gaia_mcp.store import MemoryStore, StoreError
from gaia_mcp.store.redis import RedisStore
from tests.server.http.asgi import Gate
from tests.server.stores import FailingStore
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from gaia_mcp.store import Listener


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


Make = Callable[..., FanOut]


class Listened(FailingStore):
    """A store whose listeners a test can tell that messages were lost."""

    def __init__(self) -> None:
        super().__init__()
        self.listeners: list[Listener] = []

    def subscribe(self, *given: Listener) -> Callable[[], None]:
        self.listeners.append(given[1])
        ended: Callable[[], None] = super().subscribe(*given)
        return ended


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[FanOut] = []

    def start(store: FailingStore, arrived: Listener = lambda _: None, path: str = "/mcp") -> FanOut:
        made.append(FanOut(store, path, arrived))
        made[-1].open()
        return made[-1]

    yield start
    for each in made:
        each.close()


def test_a_change_reaches_the_other_workers_of_a_path(make: Make) -> None:
    """Ours: those of its resources that are wanted there; the worker itself knows of it already."""
    store = FailingStore()
    heard: dict[str, list[Change]] = {"here": [], "there": [], "elsewhere": [], "arrived": []}
    here, there = make(store), make(store, heard["arrived"].append)
    here.add(heard["here"].append, Everything())
    end = there.add(heard["there"].append, {"a:b"})
    make(store, path="/other/mcp").add(heard["elsewhere"].append, Everything())

    here.send(Change(("tools",), ("a:b", "c:d"), description=True))

    wait_until(lambda: heard["there"])
    assert heard["there"] == heard["arrived"] == [Change(("tools",), ("a:b",), description=True)]
    assert heard["here"] == heard["elsewhere"] == []
    end()
    here.send(Change(("prompts",)))
    wait_until(lambda: len(heard["arrived"]) == 2)
    assert len(heard["there"]) == 1


def test_a_change_that_cannot_be_published_is_published_later(make: Make) -> None:
    """Ours: once, with the next change, or when the store is reached again."""
    store = Listened()
    heard: list[Change] = []
    here, there = make(store), make(store)
    there.add(heard.append, Everything())
    store.failing.add("publish")
    here.send(Change(("tools",), ("a:b",)))
    here.send(Change(("tools", "prompts"), ("c:d",)))
    store.failing.clear()

    store.listeners[0](None)
    wait_until(lambda: heard)
    store.listeners[0](None)
    here.send(Change(("resources",)))
    wait_until(lambda: len(heard) == 2)

    assert heard == [Change(("tools", "prompts"), ("a:b", "c:d")), Change(("resources",))]


def test_lost_messages_are_announced_as_a_change_of_everything(make: Make) -> None:
    """Ours: clients read again what they have subscribed to."""
    store = Listened()
    heard: list[Change] = []
    there = make(store)
    wanted = Subscriptions()
    wanted.begin(Request(1, "resources/subscribe", {"uri": "a:b"}), {})
    there.add(heard.append, wanted)

    store.listeners[0](None)

    wait_until(lambda: heard)
    assert heard == [Change(LISTS, ("a:b",))]


@pytest.mark.parametrize("damaged", [b"", b"12345678", b"12345678[1, 2, 3]", b"12345678{}"])
def test_a_damaged_message_is_ignored(make: Make, damaged: bytes) -> None:
    """Ours: one thread receives the messages of all channels, and must not end."""
    store = FailingStore()
    heard: list[Change] = []
    here, _ = make(store), make(store, heard.append)

    store.publish("http:changes:/mcp", damaged)
    here.send(Change(("tools",)))

    wait_until(lambda: any("tools" in change.lists for change in heard))
