"""What the workers of one agent share: the store, how it is called without blocking the event loop, values looked up
for many requests at once, the changes published to all, and the keys that seal request state.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import threading
from collections.abc import Callable, Container, Mapping
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import ParamSpec, TypeAlias, TypeVar

from gaia_mcp.server.provider import LISTS, Announcer, Change, Listener, Listeners
from gaia_mcp.store import MemoryStore, Store, StoreError

STATE_KEYS_VARIABLE = "GAIA_MCP_STATE_KEYS"
STORE_VARIABLE = "GAIA_MCP_STORE"
# A key that was not used for this long has sealed no state that a client still holds.
_KEY_SECONDS = 30 * 24 * 3600.0
P = ParamSpec("P")
T = TypeVar("T")
# The most requests that wait for the store at once. A slow store fails within seconds, then is not used for a while.
MAX_THREADS = 16
# Called with a value, in the thread of the lookups: None if it does not exist, or the store failed.
Found: TypeAlias = Callable[[bytes | None], object]
# The most values in one query: a larger one takes no less time per value.
MAX_AT_ONCE = 64
_NAME_BYTES = 8


def state_keys(environ: Mapping[str, str]) -> list[str]:
    """The keys of GAIA_MCP_STATE_KEYS: the first one seals, and each one opens."""
    return [key for part in environ.get(STATE_KEYS_VARIABLE, "").split(",") if (key := part.strip())]


def shared_keys(store: Store) -> list[str]:
    """The key of all workers with this store, which the first of them generates; empty if the store is not shared.

    Raises `StoreError`.
    """
    if not store.is_shared:
        return []
    store.replace("state-key", None, secrets.token_hex(32).encode(), _KEY_SECONDS)
    return [(store.get("state-key", _KEY_SECONDS) or b"").decode()]


def store_of(environ: Mapping[str, str]) -> Store:
    """The store of GAIA_MCP_STORE; in memory without it. Raises `ValueError` for an invalid URL."""
    if url := environ.get(STORE_VARIABLE):
        from gaia_mcp.store.redis import RedisStore

        return RedisStore(url)
    return MemoryStore()


class StoreThreads:
    """Runs functions that use `store`, for coroutines."""

    def __init__(self, store: Store) -> None:
        # Threads are created on demand.
        self._executor = ThreadPoolExecutor(MAX_THREADS, "store") if store.is_shared else None

    async def run(self, function: Callable[P, T], *args: P.args, **given: P.kwargs) -> T:
        """Run a function that uses the store; returns and raises what it does. It must not use the event loop."""
        if self._executor is None:
            return function(*args, **given)
        return await asyncio.get_running_loop().run_in_executor(self._executor, lambda: function(*args, **given))

    def start(self, function: Callable[[], object]) -> bool:
        """Run a function in a thread. It uses a shared store, and must not raise. Returns False after `close`."""
        assert self._executor is not None  # noqa: S101 (a store in memory needs no threads)
        try:
            self._executor.submit(function)
        except RuntimeError:
            return False
        return True

    def close(self) -> None:
        """End the threads after their current work."""
        if self._executor is not None:
            self._executor.shutdown(wait=False)


class Lookups:
    """Looks up values of `store`, and renews each for `seconds`. Safe to use from several threads."""

    def __init__(self, store: Store, seconds: float) -> None:
        self._store = store
        self._seconds = seconds
        # Guards the fields below.
        self._lock = threading.Lock()
        self._has_begun = False
        self._is_closed = False
        # None ends the thread.
        self._asked: SimpleQueue[tuple[str, Found] | None] = SimpleQueue()

    def ask(self, name: str, found: Found) -> bool:
        """Call `found`, which must not raise, with the value of this name. Returns False, and never calls it, if the
        lookups are closed.
        """
        with self._lock:
            if self._is_closed:
                return False
            if not self._has_begun:
                threading.Thread(target=self._run, name="lookups", daemon=True).start()
                self._has_begun = True
            self._asked.put((name, found))
        return True

    def close(self) -> None:
        """End the thread after the pending lookups."""
        with self._lock:
            self._is_closed = True
        self._asked.put(None)

    def _run(self) -> None:
        while (first := self._asked.get()) is not None:
            asked = [first]
            while len(asked) < MAX_AT_ONCE and not self._asked.empty():
                if (another := self._asked.get()) is None:
                    self._asked.put(None)
                    break
                asked.append(another)
            self._look_up(asked)

    def _look_up(self, asked: list[tuple[str, Found]]) -> None:
        values: list[bytes | None]
        try:
            values = self._store.get_all([name for name, _ in asked], self._seconds)
        except (StoreError, ValueError):
            values = [None] * len(asked)
        for (_, found), value in zip(asked, values, strict=True):
            found(value)


class Everything:
    """A container of every URI: another worker may have subscribers to any of them."""

    def __contains__(self, _: object) -> bool:
        return True


class FanOut:
    """The changes that other workers publish for `path`. Safe to use from several threads.

    `arrived` is called with each change before the listeners are.
    """

    def __init__(self, store: Store, path: str, arrived: Listener) -> None:
        self._store = store
        self._channel = f"http:changes:{path}"
        # The prefix of this worker's messages, which it ignores when it receives them.
        self._worker = secrets.token_bytes(_NAME_BYTES)
        self._arrived = arrived
        self._listeners = Listeners()
        # Calls the listeners in its own thread: there may be many, and they query the store.
        self._announcer = Announcer(self._deliver, self._listeners)
        # Changes that could not be published. They go out with the next change, or after the store has reconnected.
        self._unsent = Change()
        self._unsubscribe: Callable[[], None] = lambda: None

    def open(self) -> None:
        """Subscribe to the changes of other workers. Raises `StoreError`."""
        self._unsubscribe = self._store.subscribe(self._channel, self._hear)

    def add(self, listener: Listener, wanted: Container[str]) -> Callable[[], None]:
        """As `Provider.on_change`, for the changes in other workers."""
        return self._listeners.add(listener, wanted)

    def send(self, change: Change) -> None:
        """Publish a change in this worker. If the store fails, the change is published later."""
        change = _merged(self._unsent, change)
        try:
            self._store.publish(self._channel, self._worker + json.dumps(change).encode("ascii"))
            self._unsent = Change()
        except StoreError:
            self._unsent = change

    def close(self) -> None:
        """Unsubscribe, and stop calling listeners."""
        self._unsubscribe()
        self._announcer.close()

    def _hear(self, message: bytes | None) -> None:
        if message is None:
            # Messages may have been lost: clients reload everything that may have changed.
            if self._unsent != Change():
                self.send(Change())
            self._announcer.announce(Change(LISTS, tuple(self._listeners.uris())))
        elif not message.startswith(self._worker):
            try:
                lists, uris, description = json.loads(message[_NAME_BYTES:])
                change = Change(tuple(lists), tuple(uris), description)
            except (ValueError, TypeError):
                change = Change()  # Something else has written to the store.
            self._announcer.announce(change)

    def _deliver(self, change: Change) -> None:
        self._arrived(change)
        self._listeners.announce(change)


def _merged(one: Change, other: Change) -> Change:
    return Change(
        tuple(dict.fromkeys((*one.lists, *other.lists))),
        tuple(dict.fromkeys((*one.uris, *other.uris))),
        one.description or other.description,
    )
