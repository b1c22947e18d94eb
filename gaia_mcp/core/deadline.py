"""Deadlines: the time by which all the steps of a request must be done.

A deadline is created once, where the request begins, and passed down. It may be extended by progress up to a ceiling,
and held while a person is typing an answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

# A waiter checks its deadline this often: it may be held or extended meanwhile, a hold may have ended, and on Windows a
# Ctrl-C is noticed only between two waits.
WAIT_SLICE_SECONDS = 0.25
# Longer than any wait in practice, and within the limit of every system's locks.
LONGEST_SECONDS = 7 * 24 * 3600.0
# The default timeout for connecting, and for each request.
DEFAULT_TIMEOUT_SECONDS = 30
# GAIA's own limit for the timeout of a server's entry.
MAX_ENTRY_TIMEOUT_SECONDS = 600
# However often progress is reported, a request does not last longer than this, in seconds.
LONGEST_REQUEST_SECONDS = 3600.0
# The wait for the exit of a server that has failed, or that is stopped together with many others.
IMPATIENT_GRACE_SECONDS = 0.3

# Each server request is answered in a thread of its own, and each may hold the same deadline. One lock for all
# deadlines: one is created for every request, and the lock is held for a moment only.
_lock = threading.Lock()


class Deadline:
    """A moment `seconds` from now, on a monotonic clock; a week at most.

    `ceiling` is the limit for `extend()`, in seconds from its creation; without one it cannot be extended.
    """

    __slots__ = (
        "_began", "_clock", "_end", "_held_since", "_holds", "_last", "_listeners", "is_cancelled", "seconds",
    )  # fmt: skip

    def __init__(
        self, seconds: float, *, ceiling: float | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        # In this order, so that NaN also becomes the longest.
        self.seconds = seconds = seconds if seconds < LONGEST_SECONDS else LONGEST_SECONDS
        self.is_cancelled = False
        self._clock = clock
        self._began = now = clock()
        self._end = now + seconds
        self._last = now + ceiling if ceiling is not None and ceiling > seconds else self._end
        self._holds = 0
        self._held_since = 0.0
        # Called when it is cancelled; includes the deadlines that `sooner` derived from it.
        self._listeners: list[Callable[[], None]] = []

    def __repr__(self) -> str:
        return f"<Deadline in {self.remaining():.3f} of {self.seconds:g} s>"

    def cancel(self) -> None:
        """Make it expire now, from any thread; all waiting threads are woken."""
        self.is_cancelled = True
        for listener in tuple(self._listeners):
            listener()

    def on_cancel(self, listener: Callable[[], None]) -> None:
        """Call `listener` on the thread that cancels it; at once if it is cancelled. It must not block or raise."""
        self._listeners.append(listener)
        # After it is in the list: whichever of the two threads comes second sees the change of the other.
        if self.is_cancelled:
            listener()

    def forget(self, listener: Callable[[], None]) -> None:
        """Remove `listener`."""
        try:  # noqa: SIM105 (`suppress` would cost more than the rest of this)
            self._listeners.remove(listener)
        except ValueError:
            pass  # Removed already.

    def sleep(self, seconds: float) -> None:
        """Wait `seconds`, or until it is cancelled."""
        cancelled = threading.Event()
        self.on_cancel(cancelled.set)
        try:
            cancelled.wait(seconds)
        finally:
            self.forget(cancelled.set)

    def remaining(self) -> float:
        """Seconds left, never negative; while held, a short slice after which to check again."""
        if self.is_cancelled:
            return 0.0
        if self._holds:
            return WAIT_SLICE_SECONDS
        return max(0.0, self._end - self._clock())

    @property
    def expired(self) -> bool:
        """Whether the moment has passed."""
        return self.is_cancelled or (not self._holds and self._clock() >= self._end)

    @property
    def allowed(self) -> float:
        """Seconds from its creation to its end: `seconds`, plus the time added by progress and holds."""
        return self.seconds if self._end == self._began + self.seconds else round(self._end - self._began, 1)

    def sooner(self, seconds: float) -> Deadline:
        """A deadline `seconds` from now, or at the end of this one if that comes first."""
        part = Deadline(min(seconds, self.remaining()), clock=self._clock)
        self.on_cancel(part.cancel)
        return part

    def extend(self) -> None:
        """Give it its full length again from now, up to the ceiling."""
        with _lock:
            now = self._held_since if self._holds else self._clock()
            self._end = max(self._end, min(now + self.seconds, self._last))

    def hold(self) -> None:
        """Stop the clock until `release()`; holds nest."""
        with _lock:
            if self._holds == 0:
                self._held_since = self._clock()
            self._holds += 1

    def release(self) -> None:
        """Restart the clock; the time held does not count."""
        with _lock:
            if self._holds == 1:
                # Before the hold ends: another thread that checks at this very moment must not find it expired.
                held = self._clock() - self._held_since
                self._end += held
                self._last += held
            self._holds -= 1
