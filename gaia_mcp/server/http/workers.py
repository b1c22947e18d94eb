"""The threads that run calls: as many as are allowed to run at once, made when they are needed and kept."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeAlias

from gaia_mcp.protocol.questions import QuestionError

if TYPE_CHECKING:
    from gaia_mcp.server.served_call import ServedCall

# Something to run. It must not raise.
Run: TypeAlias = Callable[[], None]


class Workers:
    """Runs up to `limit` things at once, which may be changed at any time; up to `max_waiting` others wait.

    A call that waits for its client gives its place to another; `max_asking` of them may wait.
    """

    def __init__(self, limit: int, max_waiting: int, max_asking: int) -> None:
        self.limit = limit
        self._max_waiting = max_waiting
        self._max_asking = max_asking
        # Held to touch what follows. `_active` counts the threads that run or may run something, `_idle` those of them
        # that wait for it.
        self._lock = threading.Lock()
        self._waiting: deque[Run] = deque()
        self._active = 0
        self._idle = 0
        self._asking = 0
        # What idle threads wait for: something to run, or None to end.
        self._handoff: SimpleQueue[Run | None] = SimpleQueue()

    @property
    def running(self) -> int:
        """How many places are taken."""
        return self._active - self._idle

    @property
    def waiting(self) -> int:
        """How many things wait for a place."""
        return len(self._waiting)

    @property
    def unfinished(self) -> int:
        """How many things have not ended, with those that wait for a place or for their client."""
        return self.running + self.waiting + self._asking

    @property
    def has_room(self) -> bool:
        """Whether `submit` would take something."""
        return self._idle > 0 or self._active < self.limit or len(self._waiting) < self._max_waiting

    def submit(self, run: Run) -> bool:
        """Run this as soon as there is a place; whether it was taken."""
        with self._lock:
            if self._idle:
                self._idle -= 1
                self._handoff.put(run)
            elif self._active < self.limit:
                self._start(run)
            elif len(self._waiting) < self._max_waiting:
                self._waiting.append(run)
            else:
                return False
        return True

    @contextmanager
    def asking(self, _: ServedCall) -> Iterator[None]:
        """While a call waits for its client, another may take its place. Raises `QuestionError` if too many wait."""
        with self._lock:
            if self._asking >= self._max_asking:
                # It must not keep its place instead: some clients that never answer would take them all.
                raise QuestionError("too many calls wait for their clients already; repeat this call later")
            self._asking += 1
            self._active -= 1
            if self._waiting:
                self._start(self._waiting.popleft())
        try:
            yield
        finally:
            with self._lock:
                self._asking -= 1
                self._active += 1

    def close(self) -> None:
        """End the idle threads; each other one ends when it has nothing more to run."""
        with self._lock:
            self.limit = 0
            for _ in range(self._idle):
                self._handoff.put(None)
            self._active -= self._idle
            self._idle = 0

    def _start(self, run: Run) -> None:
        self._active += 1
        threading.Thread(target=self._serve, args=(run,), name="call", daemon=True).start()

    def _serve(self, run: Run | None) -> None:
        while run is not None:
            run()
            with self._lock:
                # There are more than may be active after calls that have waited for their clients.
                if self._active > self.limit:
                    self._active -= 1
                    return
                if self._waiting:
                    run = self._waiting.popleft()
                    continue
                self._idle += 1
            run = self._handoff.get()
