"""Publishes the changes in one worker to all others, where clients may be subscribed to them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from gaia_mcp.server.provider import LISTS, Announcer, Change, Listener, Listeners
from gaia_mcp.store import StoreError

if TYPE_CHECKING:
    from gaia_mcp.store import Store

_NAME_BYTES = 8


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
