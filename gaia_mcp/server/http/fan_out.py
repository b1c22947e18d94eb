"""What changes at one worker, told to the others: a client may have subscribed at another one than where it happens."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Container
from typing import TYPE_CHECKING

from gaia_mcp.server.announcer import Announcer
from gaia_mcp.server.provider import LISTS, Change, Listener, Listeners
from gaia_mcp.store import StoreError

if TYPE_CHECKING:
    from gaia_mcp.store import Store

_NAME_BYTES = 8


class Everything:
    """Has every URI: another worker may have subscribers to it."""

    def __contains__(self, _: object) -> bool:
        return True


class FanOut:
    """The changes that other workers announce at `path`. Safe to use from several threads.

    `arrived` is called with each before the listeners are.
    """

    def __init__(self, store: Store, path: str, arrived: Listener) -> None:
        self._store = store
        self._channel = f"http:changes:{path}"
        # Tells this worker's own messages to the others apart.
        self._worker = secrets.token_bytes(_NAME_BYTES)
        self._arrived = arrived
        self._listeners = Listeners()
        # Calls the listeners in a thread of its own: they may be many, and ask the store.
        self._announcer = Announcer(self._deliver, self._listeners)
        # What could not be sent, to be sent with the next change, or when the store is reached again.
        self._unsent = Change()
        self._unsubscribe: Callable[[], None] = lambda: None

    def open(self) -> None:
        """Hear the others from now on. Raises `StoreError`."""
        self._unsubscribe = self._store.subscribe(self._channel, self._hear)

    def add(self, listener: Listener, wanted: Container[str]) -> Callable[[], None]:
        """As `Provider.on_change`, for what changes at other workers."""
        return self._listeners.add(listener, wanted)

    def send(self, change: Change) -> None:
        """Tell the others of a change here."""
        change = _merged(self._unsent, change)
        try:
            self._store.publish(self._channel, self._worker + json.dumps(change).encode("ascii"))
            self._unsent = Change()
        except StoreError:
            self._unsent = change

    def close(self) -> None:
        """Hear nothing any more."""
        self._unsubscribe()
        self._announcer.close()

    def _hear(self, message: bytes | None) -> None:
        if message is None:
            # Clients read again what may have changed.
            if self._unsent != Change():
                self.send(Change())
            self._announcer.announce(Change(LISTS, tuple(self._listeners.uris())))
        elif not message.startswith(self._worker):
            lists, uris, description = json.loads(message[_NAME_BYTES:])
            self._announcer.announce(Change(tuple(lists), tuple(uris), description))

    def _deliver(self, change: Change) -> None:
        self._arrived(change)
        self._listeners.announce(change)


def _merged(one: Change, other: Change) -> Change:
    return Change(
        tuple(dict.fromkeys((*one.lists, *other.lists))),
        tuple(dict.fromkeys((*one.uris, *other.uris))),
        one.description or other.description,
    )
