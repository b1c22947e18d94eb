"""The right to read, while calls run. Who has read a call keeps it, for most are done at once; if the call lasts, it is
taken away.

Passing it on before each call would wake another thread every time, which is a fifth of what a small call costs.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# A call that lasts keeps a ping or a cancellation waiting for two of these at most.
TICK_SECONDS = 0.005
# After this many without a call nobody looks any more, until the next one.
IDLE_TICKS = 10


class Turn:
    """Held by one thread at a time. `relieve` sees to it that somebody waits for a turn that has been taken away."""

    def __init__(self, relieve: Callable[[], None], tick_seconds: float = TICK_SECONDS) -> None:
        self._relieve = relieve
        self._tick_seconds = tick_seconds
        self._taken = threading.Lock()
        # Held to touch what follows.
        self._lock = threading.Lock()
        self._kept_for: object = None
        self._calls = 0
        self._is_watched = False
        self._wanted = threading.Event()
        self._watch = threading.Thread(target=self._look, name="turn", daemon=True)

    def take(self) -> None:
        """Wait for the turn."""
        self._taken.acquire()

    def pass_on(self) -> None:
        """Let go of it."""
        self._taken.release()

    def keep(self, call: object) -> None:
        """Begin a call without passing the turn on."""
        with self._lock:
            self._kept_for = call
            self._calls += 1
            if self._is_watched:
                return
            self._is_watched = True
        self._wanted.set()
        if not self._watch.is_alive():
            self._watch.start()

    def is_kept(self, call: object) -> bool:
        """Whether the turn, after this call, is still there for whoever ran it."""
        with self._lock:
            if self._kept_for is not call:
                return False
            self._kept_for = None
        return True

    def _look(self) -> None:
        seen = idle = 0
        while True:
            time.sleep(self._tick_seconds)
            with self._lock:
                lasts = self._kept_for is not None and self._calls == seen
                idle = idle + 1 if self._calls == seen else 0
                seen = self._calls
                if lasts:
                    self._kept_for = None
                elif idle > IDLE_TICKS:
                    self._is_watched = False
                    self._wanted.clear()
            if lasts:
                self._relieve()
                self._taken.release()
            self._wanted.wait()
