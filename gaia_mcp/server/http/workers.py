"""The pool of threads that run calls. Threads are created on demand, up to a limit, and reused."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING, TypeAlias

from gaia_mcp.protocol.questions import QuestionError

if TYPE_CHECKING:
    from gaia_mcp.server.running_call import RunningCall

# A job of the pool. It must not raise.
Run: TypeAlias = Callable[[], None]


class Workers:
    """Runs up to `limit` jobs at once, which may be changed at any time. Up to `max_waiting` more are queued.

    A call that waits for its client's response does not count towards `limit`; at most `max_asking` calls may do so.
    """

    def __init__(self, limit: int, max_waiting: int, max_asking: int) -> None:
        self.limit = limit
        self._max_waiting = max_waiting
        self._max_asking = max_asking
        # Protects the following attributes. `_active` counts the threads that count towards the limit, `_idle` those of
        # them that wait for a job.
        self._lock = threading.Lock()
        self._waiting: deque[Run] = deque()
        self._active = 0
        self._idle = 0
        self._asking = 0
        # Idle threads take their next job from here, or None to end.
        self._handoff: SimpleQueue[Run | None] = SimpleQueue()

    @property
    def running(self) -> int:
        """The number of running jobs that count towards the limit."""
        return self._active - self._idle

    @property
    def waiting(self) -> int:
        """The number of queued jobs."""
        return len(self._waiting)

    @property
    def unfinished(self) -> int:
        """The number of jobs that have not ended, including those that are queued or wait for their clients."""
        return self.running + self.waiting + self._asking

    @property
    def has_room(self) -> bool:
        """Whether `submit` would accept a job."""
        return self._idle > 0 or self._active < self.limit or len(self._waiting) < self._max_waiting

    def submit(self, run: Run) -> bool:
        """Run or queue a job. Returns False if the queue is full."""
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
    def asking(self, _: RunningCall) -> Iterator[None]:
        """Let another job run while this call waits for its client. Raises `QuestionError` if too many calls wait."""
        with self._lock:
            if self._asking >= self._max_asking:
                # Waiting within the limit is no alternative: clients that never answer would occupy all threads.
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
        """End the idle threads now, and each other thread after its last job."""
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
                # Calls that waited for their clients may have brought the number of threads above the limit.
                if self._active > self.limit:
                    self._active -= 1
                    return
                if self._waiting:
                    run = self._waiting.popleft()
                    continue
                self._idle += 1
            run = self._handoff.get()
