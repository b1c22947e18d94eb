"""A reentrant lock whose acquisition ends with a deadline, or when the deadline is cancelled."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from gaia_mcp.deadline import WAIT_SLICE_SECONDS, Deadline


class DeadlineLock:
    """Held by one thread at a time, which may acquire it again. After a Ctrl-C at any moment it is not left held."""

    def __init__(self) -> None:
        # Guards the attributes below, and wakes waiting threads.
        self._free = threading.Condition()
        self._owner = 0
        # One object for each acquisition by the owner. It identifies an acquisition that a Ctrl-C interrupted.
        self._holds: list[object] = []

    @contextmanager
    def held(self, deadline: Deadline) -> Iterator[bool]:
        """Hold the lock. False if the deadline passed, or was cancelled, before the lock was free."""
        hold = object()
        try:
            yield self._acquire(hold, deadline)
        finally:
            try:
                self._release(hold)
            except BaseException:
                # A Ctrl-C may arrive at this very moment.
                self._release(hold)
                raise

    def _acquire(self, hold: object, deadline: Deadline) -> bool:
        me = threading.get_ident()
        deadline.on_cancel(self._wake)
        try:
            with self._free:
                while self._holds and self._owner != me:
                    if deadline.expired:
                        return False
                    self._free.wait(min(deadline.remaining(), WAIT_SLICE_SECONDS))
                self._owner = me
                self._holds.append(hold)
            return True
        finally:
            deadline.forget(self._wake)

    def _release(self, hold: object) -> None:
        with self._free:
            if hold in self._holds:
                self._holds.remove(hold)
                if not self._holds:
                    self._free.notify_all()

    def _wake(self) -> None:
        with self._free:
            self._free.notify_all()
