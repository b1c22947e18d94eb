"""A reentrant lock that is waited for until a deadline, and no longer than until that is cancelled."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from gaia_mcp.deadline import WAIT_SLICE_SECONDS, Deadline


class DeadlineLock:
    """Held by one thread at a time, which may take it again."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        # Held to wait for the lock, and to wake those who do.
        self._free = threading.Condition()

    @contextmanager
    def held(self, deadline: Deadline) -> Iterator[bool]:
        """Hold the lock. False if the deadline has passed, or was cancelled, before that was possible."""
        is_held = self._lock.acquire(blocking=False) or self._wait(deadline)
        try:
            yield is_held
        finally:
            if is_held:
                self._lock.release()
                with self._free:
                    self._free.notify_all()

    def _wait(self, deadline: Deadline) -> bool:
        deadline.on_cancel(self._wake)
        try:
            with self._free:
                while not self._lock.acquire(blocking=False):
                    if deadline.expired:
                        return False
                    self._free.wait(min(deadline.remaining(), WAIT_SLICE_SECONDS))
            return True
        finally:
            deadline.forget(self._wake)

    def _wake(self) -> None:
        with self._free:
            self._free.notify_all()
