"""What must outlive a request: handshake sessions, events of streams that may be resumed, tasks.

Each entry of a store has a name, and expires. It is either a value, which can be compared and replaced at once, or a
log, to which events are appended and from which they are read after a position. Beside the entries there are channels:
a message reaches those who listen at that moment, in every process that uses the same store. So a worker that wants to
follow an entry listens to a channel first, then reads the entry, and reads it again whenever a message comes, or may
have been lost.

Values, events and messages are bytes; their meaning is that of the module that wrote them. Every operation is atomic,
and may be called from any thread. In memory it takes a moment; a store that `is_shared` is asked over a network, where
it may take seconds, and fail: `StoreError`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

# Given each message of a channel; None where some may have been lost, because the store was not reached for a while.
Listener: TypeAlias = Callable[[bytes | None], None]

# The events of one log that are kept where no other number is given.
MAX_EVENTS = 1000


class StoreError(Exception):
    """The store could not do what it was asked for. Nothing was changed, as far as is known."""


class StoreFullError(StoreError):
    """There is no room for what was to be kept."""


class Event(NamedTuple):
    """One event of a log. Positions are 1, 2, 3 and so on: a gap shows that events were dropped."""

    position: int
    data: bytes


class Store(Protocol):
    """A name is that of a value or of a log. Each operation raises `StoreError` where it fails, and `ValueError` for a
    name of the other kind.

    `seconds`, more than 0, are the time after which the entry has gone, counted from this operation on.
    """

    @property
    def is_shared(self) -> bool:
        """Whether other processes use it too. It is then not to be asked in an event loop."""

    def get(self, name: str, seconds: float | None = None) -> bytes | None:
        """The value; None if there is none. With `seconds`, it is renewed too."""

    def get_all(self, names: Sequence[str], seconds: float) -> list[bytes | None]:
        """The values of several names, each as `get` with `seconds`, in the time that one takes."""

    def put(self, name: str, value: bytes, seconds: float) -> None:
        """Keep a value, in the place of any other. Raises `StoreFullError`; any earlier value then stays."""

    def replace(self, name: str, earlier: bytes | None, value: bytes, seconds: float) -> bool:
        """Keep a value if the present one equals `earlier`, where None stands for no value; whether that was so.
        Raises `StoreFullError`; the earlier value then stays.
        """

    def renew(self, name: str, seconds: float) -> bool:
        """Let the entry expire `seconds` from now, sooner or later than before; whether there is such an entry."""

    def remove(self, name: str) -> bool:
        """Remove the entry; whether there was one."""

    def append(self, name: str, data: bytes, seconds: float, keep: int = MAX_EVENTS) -> int:
        """Add an event to a log, which begins with its first event; the event's position. The whole log then expires
        `seconds` from now, and has no more than the last `keep` of its events. Raises `StoreFullError`.
        """

    def read(self, name: str, after: int = 0) -> list[Event]:
        """The events of a log after this position, in order; empty if there are none, or no such log."""

    def publish(self, channel: str, message: bytes) -> None:
        """Send a message to all who listen to this channel now. It is not kept."""

    def subscribe(self, channel: str, listener: Listener) -> Callable[[], None]:
        """Call `listener` with every message that is published from now on. Returns a function that ends this; a
        message that is on its way may still come.

        It is called from any thread, perhaps before `publish` returns, and with the messages of one publisher in order.
        It may ask the store for something, except to subscribe; beside that, it must not block or raise. Nor does the
        function that ends this, with a store that fails.
        """

    def close(self) -> None:
        """Release what it holds. Nothing is asked of it afterwards."""
