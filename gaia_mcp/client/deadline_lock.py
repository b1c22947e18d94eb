"""A reentrant lock that is waited for until a deadline, and no longer than until that is cancelled."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from gaia_mcp.deadline import WAIT_SLICE_SECONDS, Deadline


class DeadlineLock:
    """Held by one thread at a time, which may take it again. A Ctrl-C at any moment leaves nothing held."""

    def __init__(self) -> None:
        # Held to touch what follows, and to wake those who wait for it.
        self._free = threading.Condition()
        self._owner = 0
        # One for each time that the owner has taken it. What was begun is known by it, however it ends.
        self._holds: list[object] = []

    @contextmanager
    def held(self, deadline: Deadline) -> Iterator[bool]:
        """Hold the lock. False if the deadline has passed, or was cancelled, before that was possible."""
        hold = object()
        try:
            yield self._take(hold, deadline)
        finally:
            try:
                self._let_go(hold)
            except BaseException:
                # A Ctrl-C at this very moment.
                self._let_go(hold)
                raise

    def _take(self, hold: object, deadline: Deadline) -> bool:
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

    def _let_go(self, hold: object) -> None:
        with self._free:
            if hold in self._holds:
                self._holds.remove(hold)
                if not self._holds:
                    self._free.notify_all()

    def _wake(self) -> None:
        with self._free:
            self._free.notify_all()
