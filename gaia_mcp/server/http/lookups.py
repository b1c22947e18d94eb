"""Values of a shared store, looked up for many requests at once.

A thread for each request that waits for the store would cost more than the response. So there is one, which asks for
everything that has come while it waited for what came before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeAlias

from gaia_mcp.store import StoreError

if TYPE_CHECKING:
    from gaia_mcp.store import Store

# Takes a value, in the thread of the lookups: None if there is none, or it is not known.
Found: TypeAlias = Callable[[bytes | None], object]

# The values that are asked for at once: more take no less time each.
MAX_AT_ONCE = 64


class Lookups:
    """Looks up values of `store`, and lets each expire no sooner than in `seconds`. To be used from any thread."""

    def __init__(self, store: Store, seconds: float) -> None:
        self._store = store
        self._seconds = seconds
        # Held to touch what follows.
        self._lock = threading.Lock()
        self._has_begun = False
        self._is_closed = False
        # None at the end.
        self._asked: SimpleQueue[tuple[str, Found] | None] = SimpleQueue()

    def ask(self, name: str, found: Found) -> bool:
        """Have `found` called, which must not raise, with the value of this name; whether it will be."""
        with self._lock:
            if self._is_closed:
                return False
            if not self._has_begun:
                self._has_begun = True
                threading.Thread(target=self._run, name="lookups", daemon=True).start()
            self._asked.put((name, found))
        return True

    def close(self) -> None:
        """End the thread, as soon as it has found what it was asked for."""
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
