"""A queue of a server's notifications, from the thread that receives them to the one that handles them."""

from __future__ import annotations

import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.protocol.events import Logged

if TYPE_CHECKING:
    from gaia_mcp.protocol.events import Change

# A server that sends log messages faster than they are printed must not fill our memory.
MAX_MESSAGES = 1000


class Notification(NamedTuple):
    """A notification, and its time in seconds since 1970."""

    event: Change | Logged
    moment: float


class Notifications:
    """A thread-safe queue whose producers never wait. Equal changes are queued only once; log messages that exceed its
    limit are dropped, and counted in `dropped`.
    """

    def __init__(self) -> None:
        self._queue: SimpleQueue[Notification] = SimpleQueue()
        self._lock = threading.Lock()
        # Keyed by type as well, because a list and a resource may have the same name.
        self._queued: set[tuple[type, Change]] = set()
        self.dropped = 0

    def changed(self, change: Change) -> None:
        """Queue a change."""
        with self._lock:
            if (type(change), change) not in self._queued:
                self._queued.add((type(change), change))
                self._queue.put(Notification(change, time.time()))

    def logged(self, level: str, logger: str, data: Any) -> None:
        """Queue a log message."""
        if self._queue.qsize() < MAX_MESSAGES:
            self._queue.put(Notification(Logged(level, logger, data), time.time()))
        else:
            self.dropped += 1

    def next(self, seconds: float) -> Notification | None:
        """The oldest notification; waits up to `seconds`. From then on an equal change is queued again."""
        try:
            notification = self._queue.get(timeout=seconds)
        except Empty:
            return None
        event = notification.event
        if not isinstance(event, Logged):
            with self._lock:
                self._queued.discard((type(event), event))
        return notification
