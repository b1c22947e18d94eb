"""What a server announces, queued from where it is received to where more may be asked about it."""

from __future__ import annotations

import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.protocol.events import Logged

if TYPE_CHECKING:
    from gaia_mcp.protocol.events import Change

# A server that logs faster than its messages are printed must not fill our memory.
MAX_MESSAGES = 1000


class Notification(NamedTuple):
    """What was announced, and when, in seconds since 1970."""

    event: Change | Logged
    moment: float


class Notifications:
    """A queue that takes in notifications in any thread and never waits. The same change is in it once; log messages
    that are not taken in time are left out, and counted in `dropped`.
    """

    def __init__(self) -> None:
        self._queue: SimpleQueue[Notification] = SimpleQueue()
        self._lock = threading.Lock()
        # With their types: a list and a resource may be called the same.
        self._queued: set[tuple[type, Change]] = set()
        self.dropped = 0

    def changed(self, change: Change) -> None:
        """Something has changed."""
        with self._lock:
            if (type(change), change) not in self._queued:
                self._queued.add((type(change), change))
                self._queue.put(Notification(change, time.time()))

    def logged(self, level: str, logger: str, data: Any) -> None:
        """The server has sent a log message."""
        if self._queue.qsize() < MAX_MESSAGES:
            self._queue.put(Notification(Logged(level, logger, data), time.time()))
        else:
            self.dropped += 1

    def next(self, seconds: float) -> Notification | None:
        """The oldest notification, waited for up to `seconds`. The same change may be queued again from now on."""
        try:
            notification = self._queue.get(timeout=seconds)
        except Empty:
            return None
        event = notification.event
        if not isinstance(event, Logged):
            with self._lock:
                self._queued.discard((type(event), event))
        return notification
