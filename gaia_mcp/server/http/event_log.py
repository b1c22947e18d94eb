"""The events of one stream of a session, kept so that a client can resume it where its connection broke.

An event's id names its stream and its position there. Behind the store, any worker can continue a stream that another
one has begun.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from gaia_mcp.store import Store, StoreError

# How many events a client may miss and still be told of all of them.
MAX_KEPT = 1000
# For so long after its last event a stream can be resumed.
KEPT_SECONDS = 600.0
_ID = re.compile(r"([0-9a-z]{1,32})-([0-9]{1,15})")
# How a record begins: the stream has been opened, one of its messages, its last message.
_OPENED, _MESSAGE, _LAST = b"o", b"m", b"l"
# What is published about a log, beside the name of the stream that follows it from then on.
_ADDED, _REMOVED = b"", b"end"


class Kept(NamedTuple):
    """One message of a log: its JSON, the id of its event, its position, and whether nothing follows it."""

    data: bytes
    event_id: str
    position: int
    is_last: bool


class EventLog:
    """The events of the stream `key` of a session."""

    def __init__(self, store: Store, session: str, key: str = "") -> None:
        self.key = key or secrets.token_hex(8)
        self._store = store
        self.name = f"http:events:{session}:{self.key}"

    def open(self) -> str:
        """Begin the log, if it has not begun; the id of an event from which all of it can be resumed.

        Raises `StoreError`.
        """
        if not self._store.renew(self.name, KEPT_SECONDS):
            self._store.append(self.name, _OPENED, KEPT_SECONDS, MAX_KEPT)
        return self.event_id(0)

    @property
    def is_open(self) -> bool:
        """Whether it has begun and not expired. Raises `StoreError`."""
        return self._store.renew(self.name, KEPT_SECONDS)

    def append(self, data: bytes, *, is_last: bool) -> str:
        """Keep a message, and wake those who follow; the id of its event, empty if it could not be kept."""
        try:
            position = self._store.append(self.name, (_LAST if is_last else _MESSAGE) + data, KEPT_SECONDS, MAX_KEPT)
        except StoreError:
            return ""  # It reaches the client that listens now, and cannot be resumed after.
        with suppress(StoreError):
            self._store.publish(self.name, _ADDED)
        return self.event_id(position)

    def follow(self, added: Callable[[], object], ended: Callable[[], object]) -> Callable[[], None]:
        """Be the one stream that carries its messages: any other one, in any worker, is told to end.

        `added` is called when there may be more to read, and `ended` when another stream follows the log or it was
        removed, both from any thread; they must not block. Returns a function that ends this. Raises `StoreError`.
        """
        unsubscribe = self.watch(ended, me := secrets.token_bytes(8), added)
        try:
            self._store.publish(self.name, me)
        except StoreError:
            unsubscribe()
            raise
        return unsubscribe

    def watch(
        self, ended: Callable[[], object], me: bytes = b"", added: Callable[[], object] = lambda: None
    ) -> Callable[[], None]:
        """Call `ended` when a stream begins to follow it, other than `me`, or it was removed. Otherwise as `follow`."""

        def arrived(message: bytes | None) -> None:
            if message is None or message == _ADDED:
                added()
            elif message != me:
                ended()

        return self._store.subscribe(self.name, arrived)

    def end(self) -> None:
        """Remove the log, and let those who follow it stop. Raises `StoreError`."""
        self._store.remove(self.name)
        self._store.publish(self.name, _REMOVED)

    def read(self, after: int) -> list[Kept]:
        """The messages after this position. Raises `StoreError`."""
        return [
            Kept(data[1:], self.event_id(position), position, data[:1] == _LAST)
            for position, data in self._store.read(self.name, after)
            if data[:1] != _OPENED
        ]

    def event_id(self, position: int) -> str:
        """The id of the event at this position."""
        return f"{self.key}-{position}"


def split_event_id(event_id: str) -> tuple[str, int] | None:
    """The key of a stream and the position in it; None for what is not an id of ours."""
    match = _ID.fullmatch(event_id)
    return None if match is None else (match[1], int(match[2]))
