"""Leader/followers: one thread, the leader, reads; the others wait to lead, or run calls.

A leader that has read a call may keep leading while it runs the call, because most calls end at once. If the call is
slow, the watch thread deposes the leader, so that a follower can read. Handing over before each call would wake another
thread every time, which is a fifth of the cost of a small call.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

# A slow call delays a ping or a cancellation by at most two ticks.
TICK_SECONDS = 0.005
# After this many ticks without a call the watch thread sleeps until the next call.
IDLE_TICKS = 10


class Leadership:
    """Held by one thread at a time. `on_depose` is called before a leader is deposed, so that a follower exists."""

    def __init__(self, on_depose: Callable[[], None], tick_seconds: float = TICK_SECONDS) -> None:
        self._on_depose = on_depose
        self._tick_seconds = tick_seconds
        self._held = threading.Lock()
        # Guards the fields below.
        self._lock = threading.Lock()
        self._kept_for: object = None
        self._calls = 0
        self._is_watched = False
        self._wake = threading.Event()
        self._watch = threading.Thread(target=self._depose_slow_leaders, name="watch", daemon=True)

    def acquire(self) -> None:
        """Wait until there is no leader, and become it."""
        self._held.acquire()

    def release(self) -> None:
        """Stop leading."""
        self._held.release()

    def keep(self, call: object) -> None:
        """Keep leading while this call runs, until the watch thread finds it slow."""
        with self._lock:
            self._kept_for = call
            self._calls += 1
            if self._is_watched:
                return
            self._is_watched = True
        self._wake.set()
        if not self._watch.is_alive():
            self._watch.start()

    def step_down(self, call: object) -> None:
        """Let another thread lead at once: this call is about to wait for a message that the leader must read."""
        with self._lock:
            if self._kept_for is not call:
                return
            self._kept_for = None
        self._on_depose()
        self._held.release()

    def is_kept(self, call: object) -> bool:
        """Whether the thread that ran this call still leads. To be called after the call."""
        with self._lock:
            if self._kept_for is not call:
                return False
            self._kept_for = None
        return True

    def _depose_slow_leaders(self) -> None:
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
                    self._wake.clear()
            if lasts:
                self._on_depose()
                self._held.release()
            self._wake.wait()
