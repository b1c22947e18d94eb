"""What a server announces, from where it is heard to where somebody may ask it more about that."""

from __future__ import annotations

import threading
import time
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

# A server that talks faster than anybody reads must not fill our memory.
MAX_MESSAGES = 1000


class News(NamedTuple):
    """Something that has been announced, at a moment in seconds since 1970. `what` is "list", "resource", "end" or
    "log", `about` a kind of list, a URI, or the log message itself: level, logger, data.
    """

    what: str
    about: Any
    moment: float


class Newsroom:
    """Takes in what is announced, in any thread, and never waits. The same news is there once, until somebody takes it;
    log messages that nobody takes in time are left out, and counted in `dropped`.
    """

    def __init__(self) -> None:
        self._queue: SimpleQueue[News] = SimpleQueue()
        self._lock = threading.Lock()
        self._known: set[tuple[str, str]] = set()
        self.dropped = 0

    def tell(self, what: str, about: str) -> None:
        """Something has changed."""
        with self._lock:
            if (what, about) not in self._known:
                self._known.add((what, about))
                self._queue.put(News(what, about, time.time()))

    def logged(self, level: str, logger: str, data: Any) -> None:
        """The server has something for its log."""
        if self._queue.qsize() < MAX_MESSAGES:
            self._queue.put(News("log", (level, logger, data), time.time()))
        else:
            self.dropped += 1

    def next(self, seconds: float) -> News | None:
        """The oldest news, waited for up to `seconds`. Whatever is announced from now on is news again."""
        try:
            news = self._queue.get(timeout=seconds)
        except Empty:
            return None
        if news.what != "log":
            with self._lock:
                self._known.discard((news.what, news.about))
        return news
