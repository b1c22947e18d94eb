"""Storage for state that outlives a request: handshake sessions, events of resumable streams, tasks.

Each entry of a store has a name, and expires. It is either a value, which supports compare-and-replace, or a log, to
which events are appended and from which they are read after a position. A store also has channels: a message is
delivered to the current subscribers in every process that uses the same store, and is not stored. To follow an entry,
a worker first subscribes to a channel, then reads the entry, and reads it again whenever a message arrives or may have
been lost.

Values, events and messages are bytes, which only the module that wrote them interprets. Every operation is atomic, and
may be called from any thread. In memory it returns at once; a store that `is_shared` is reached over a network, so an
operation may take seconds, and may raise `StoreError`.

`MemoryStore` is the store in the memory of this process, for one worker.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple, Protocol, TypeAlias

# Called with each message of a channel; with None if messages may have been lost because the store was unreachable.
Listener: TypeAlias = Callable[[bytes | None], None]

# The default for the number of events that a log keeps.
MAX_EVENTS = 1000
# The most memory for all entries, by `_size_of`. A server must stay small compared with the agent that it serves.
MAX_BYTES = 256 * 2**20
# The part of it that logs may fill together with all else. Values are small, and without them no session begins and no
# task ends; an event that is not stored is only missing where a client resumes its stream.
LOG_PART = 0.75
# The approximate overhead of an entry or an event on CPython. Counting it also limits their number.
_OVERHEAD_BYTES = 400
# A heap with so few superfluous items need not be rebuilt.
_FEW = 64


class StoreError(Exception):
    """The operation failed. Whether it has changed the store may be unknown."""


class StoreFullError(StoreError):
    """There is no room for the value or event."""


class Event(NamedTuple):
    """One event of a log. Positions are consecutive from 1: a gap shows that events were dropped."""

    position: int
    data: bytes


class Store(Protocol):
    """A name belongs to a value or to a log. Each operation raises `StoreError` if it fails, and `ValueError` if the
    name belongs to the other kind.

    An entry expires `seconds`, more than 0, after the operation.
    """

    @property
    def is_shared(self) -> bool:
        """Whether other processes use it too. It must not be used in an event loop then, because it blocks."""

    def get(self, name: str, seconds: float | None = None) -> bytes | None:
        """The value, or None. With `seconds`, the entry is also renewed."""

    def get_all(self, names: Sequence[str], seconds: float) -> list[bytes | None]:
        """The values of several names, each as `get` with `seconds`, in one round trip."""

    def put(self, name: str, value: bytes, seconds: float) -> None:
        """Set a value. Raises `StoreFullError`; any earlier value then stays."""

    def replace(self, name: str, earlier: bytes | None, value: bytes, seconds: float) -> bool:
        """Set a value if the present one equals `earlier`; None means that there is no value. Returns whether it was
        set. Raises `StoreFullError`; the earlier value then stays.
        """

    def renew(self, name: str, seconds: float) -> bool:
        """Let the entry expire `seconds` from now, sooner or later than before. Returns whether it exists."""

    def remove(self, name: str) -> bool:
        """Remove the entry. Returns whether it existed."""

    def append(self, name: str, data: bytes, seconds: float, keep: int = MAX_EVENTS) -> int:
        """Add an event to a log, which is created by its first event. Returns the event's position. The whole log then
        expires `seconds` from now, and keeps at most its last `keep` events. Raises `StoreFullError`.
        """

    def read(self, name: str, after: int = 0) -> list[Event]:
        """The events of a log after this position, in order; empty if there are none, or the log does not exist."""

    def publish(self, channel: str, message: bytes) -> None:
        """Send a message to the current subscribers of a channel. It is not stored."""

    def subscribe(self, channel: str, listener: Listener) -> Callable[[], None]:
        """Call `listener` with every message that is published from now on. Returns a function that unsubscribes, after
        which a message in transit may still arrive; it neither blocks nor raises if the store fails.

        `listener` is called from any thread, possibly before `publish` returns, and with the messages of one publisher
        in order. It may use the store, except to subscribe; apart from that, it must not block or raise.
        """

    def close(self) -> None:
        """Release all resources. The store must not be used afterwards."""


class _Entry:
    """A value, or the events of a log; `last` is the position of the last event.

    `due` is when the store checks whether it has expired: never later than `expires`, but possibly sooner.
    """

    __slots__ = ("content", "due", "expires", "last", "size")

    def __init__(self, content: bytes | deque[bytes], size: int) -> None:
        self.content = content
        self.size = size
        self.last = 0
        self.expires = self.due = float("inf")


class MemoryStore:
    """A `Store` of at most `max_bytes`, whose entries are not persistent. `clock` returns seconds, and is monotonic."""

    def __init__(self, max_bytes: int = MAX_BYTES, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_bytes = max_bytes
        self._clock = clock
        # Guards the fields below.
        self._lock = threading.Lock()
        self._entries: dict[str, _Entry] = {}
        self._size = 0
        # A heap of the times at which to check entries. It may hold about as many superfluous items, of removed or
        # replaced entries.
        self._due: list[tuple[float, str]] = []
        self._listeners: dict[str, dict[object, Listener]] = {}

    @property
    def size(self) -> int:
        """The size of all entries in bytes."""
        with self._lock:
            self._remove_expired()
            return self._size

    def __len__(self) -> int:
        """The number of entries."""
        with self._lock:
            self._remove_expired()
            return len(self._entries)

    @property
    def scheduled(self) -> int:
        """The number of scheduled checks for expired entries."""
        return len(self._due)

    @property
    def is_shared(self) -> bool:
        """As in `Store`."""
        return False

    def get(self, name: str, seconds: float | None = None) -> bytes | None:
        """As in `Store`."""
        with self._lock:
            value = self._value(name)
            if value is not None and seconds is not None:
                self._expire(name, self._entries[name], seconds)
            return value

    def get_all(self, names: Sequence[str], seconds: float) -> list[bytes | None]:
        """As in `Store`."""
        return [self.get(name, seconds) for name in names]

    def put(self, name: str, value: bytes, seconds: float) -> None:
        """As in `Store`."""
        with self._lock:
            self._value(name)
            self._keep(name, value, seconds)

    def replace(self, name: str, earlier: bytes | None, value: bytes, seconds: float) -> bool:
        """As in `Store`."""
        with self._lock:
            if self._value(name) != earlier:
                return False
            self._keep(name, value, seconds)
            return True

    def renew(self, name: str, seconds: float) -> bool:
        """As in `Store`."""
        with self._lock:
            if (entry := self._entry(name)) is None:
                return False
            self._expire(name, entry, seconds)
            return True

    def remove(self, name: str) -> bool:
        """As in `Store`."""
        with self._lock:
            found = self._entry(name) is not None
            if found:
                self._drop(name)
            return found

    def append(self, name: str, data: bytes, seconds: float, keep: int = MAX_EVENTS) -> int:
        """As in `Store`."""
        with self._lock:
            entry, events = self._log(name)
            excess = max(0, len(events) + 1 - keep)
            size = _size_of(data) - sum(map(_size_of, islice(events, excess)))
            if entry is None:
                size += _size_of(name.encode())
            self._make_room(size, int(LOG_PART * self._max_bytes))
            if entry is None:
                entry = self._entries[name] = _Entry(events, 0)
            events.append(data)
            for _ in range(excess):
                events.popleft()
            entry.last += 1
            entry.size += size
            self._size += size
            self._expire(name, entry, seconds)
            return entry.last

    def read(self, name: str, after: int = 0) -> list[Event]:
        """As in `Store`."""
        with self._lock:
            entry, events = self._log(name)
            if entry is None:
                return []
            dropped = entry.last - len(events)
            later = islice(events, max(0, after - dropped), None)
            return [Event(position, data) for position, data in enumerate(later, max(after, dropped) + 1)]

    def publish(self, channel: str, message: bytes) -> None:
        """As in `Store`."""
        with self._lock:
            listeners = list(self._listeners.get(channel, {}).values())
        for listener in listeners:
            listener(message)

    def subscribe(self, channel: str, listener: Listener) -> Callable[[], None]:
        """As in `Store`."""
        key = object()
        with self._lock:
            self._listeners.setdefault(channel, {})[key] = listener

        def unsubscribe() -> None:
            with self._lock:
                listeners = self._listeners.get(channel, {})
                listeners.pop(key, None)
                if not listeners:
                    self._listeners.pop(channel, None)

        return unsubscribe

    def close(self) -> None:
        """As in `Store`."""
        with self._lock:
            self._entries.clear()
            self._due.clear()
            self._listeners.clear()
            self._size = 0

    # Called with the lock held.

    def _value(self, name: str) -> bytes | None:
        if (entry := self._entry(name)) is None:
            return None
        if not isinstance(entry.content, bytes):
            raise ValueError(f"{name!r} is a log")
        return entry.content

    def _log(self, name: str) -> tuple[_Entry | None, deque[bytes]]:
        if (entry := self._entry(name)) is None:
            return None, deque()
        if not isinstance(entry.content, deque):
            raise ValueError(f"{name!r} is not a log")
        return entry, entry.content

    def _entry(self, name: str) -> _Entry | None:
        self._remove_expired()
        return self._entries.get(name)

    def _keep(self, name: str, value: bytes, seconds: float) -> None:
        size = _size_of(name.encode()) + len(value)
        earlier = self._entries.get(name)
        self._make_room(size - (earlier.size if earlier else 0), self._max_bytes)
        if earlier is not None:
            self._drop(name)
        entry = self._entries[name] = _Entry(value, size)
        self._size += size
        self._expire(name, entry, seconds)

    def _make_room(self, size: int, limit: int) -> None:
        if self._size + size > limit:
            raise StoreFullError(f"the store has no room for {size} bytes more: it may hold {limit}")

    def _drop(self, name: str) -> None:
        self._size -= self._entries.pop(name).size

    def _expire(self, name: str, entry: _Entry, seconds: float) -> None:
        entry.expires = self._clock() + seconds
        # A renewed entry is checked at its previous expiry, so that not every renewal adds to the heap.
        if entry.expires < entry.due:
            entry.due = entry.expires
            heapq.heappush(self._due, (entry.due, name))
            if len(self._due) > 2 * len(self._entries) + _FEW:
                self._due = [(each.due, name) for name, each in self._entries.items()]
                heapq.heapify(self._due)

    def _remove_expired(self) -> None:
        now = self._clock()
        while self._due and self._due[0][0] <= now:
            due, name = heapq.heappop(self._due)
            entry = self._entries.get(name)
            if entry is None or entry.due != due:
                continue
            if entry.expires <= now:
                self._drop(name)
            else:
                entry.due = entry.expires
                heapq.heappush(self._due, (entry.due, name))


def _size_of(data: bytes) -> int:
    return len(data) + _OVERHEAD_BYTES
