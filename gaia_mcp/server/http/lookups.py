"""Looks up values of a shared store for many requests at once.

A thread for each request that waits for the store would cost more than the response. So there is one thread, which
looks up together all names that were requested during the previous lookup.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeAlias

from gaia_mcp.store import StoreError

if TYPE_CHECKING:
    from gaia_mcp.store import Store

# Called with a value, in the thread of the lookups: None if it does not exist, or the store failed.
Found: TypeAlias = Callable[[bytes | None], object]

# The most values in one query: a larger one takes no less time per value.
MAX_AT_ONCE = 64


class Lookups:
    """Looks up values of `store`, and renews each for `seconds`. Safe to use from several threads."""

    def __init__(self, store: Store, seconds: float) -> None:
        self._store = store
        self._seconds = seconds
        # Guards the fields below.
        self._lock = threading.Lock()
        self._has_begun = False
        self._is_closed = False
        # None ends the thread.
        self._asked: SimpleQueue[tuple[str, Found] | None] = SimpleQueue()

    def ask(self, name: str, found: Found) -> bool:
        """Call `found`, which must not raise, with the value of this name. Returns False, and never calls it, if the
        lookups are closed.
        """
        with self._lock:
            if self._is_closed:
                return False
            if not self._has_begun:
                threading.Thread(target=self._run, name="lookups", daemon=True).start()
                self._has_begun = True
            self._asked.put((name, found))
        return True

    def close(self) -> None:
        """End the thread after the pending lookups."""
        with self._lock:
            self._is_closed = True
        self._asked.put(None)

    def _run(self) -> None:
        while (first := self._asked.get()) is not None:
            asked = [first]
            while len(asked) < MAX_AT_ONCE and not self._asked.empty():
                if (another := self._asked.get()) is None:
                    self._asked.put(None)
                    break
                asked.append(another)
            self._look_up(asked)

    def _look_up(self, asked: list[tuple[str, Found]]) -> None:
        values: list[bytes | None]
        try:
            values = self._store.get_all([name for name, _ in asked], self._seconds)
        except (StoreError, ValueError):
            values = [None] * len(asked)
        for (_, found), value in zip(asked, values, strict=True):
            found(value)
