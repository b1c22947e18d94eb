"""Storage for state that outlives a request: handshake sessions, events of resumable streams, tasks.

Each entry of a store has a name, and expires. It is either a value, which supports compare-and-replace, or a log, to
which events are appended and from which they are read after a position. A store also has channels: a message is
delivered to the current subscribers in every process that uses the same store, and is not stored. To follow an entry,
a worker first subscribes to a channel, then reads the entry, and reads it again whenever a message arrives or may have
been lost.

Values, events and messages are bytes, which only the module that wrote them interprets. Every operation is atomic, and
may be called from any thread. In memory it returns at once; a store that `is_shared` is reached over a network, so an
operation may take seconds, and may raise `StoreError`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

# Called with each message of a channel; with None if messages may have been lost because the store was unreachable.
Listener: TypeAlias = Callable[[bytes | None], None]

# The default for the number of events that a log keeps.
MAX_EVENTS = 1000


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
