"""The pool of threads that run calls. Threads are created on demand, up to a limit, and reused.

Waking a thread for each call would cost more than most calls. So one thread at a time is woken. It takes a job, wakes
the next thread if another job is waiting, and then runs its own. If that ends before the next thread is awake, it also
takes the other job.
"""

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
        # them that sleep. `_is_coming`: a thread was woken or started, and has not looked for a job yet. While a job is
        # waiting, there is such a thread, or there are as many threads with jobs as allowed.
        self._lock = threading.Lock()
        self._waiting: deque[Run] = deque()
        self._active = 0
        self._idle = 0
        self._is_coming = False
        self._asking = 0
        # Wakes an idle thread: True for a job, False to end.
        self._wakes: SimpleQueue[bool] = SimpleQueue()

    @property
    def running(self) -> int:
        """The number of running jobs that count towards the limit."""
        return self._in_threads + min(len(self._waiting), self._free)

    @property
    def waiting(self) -> int:
        """The number of queued jobs: those that must wait for the end of another."""
        return max(0, len(self._waiting) - self._free)

    @property
    def unfinished(self) -> int:
        """The number of jobs that have not ended, including those that are queued or wait for their clients."""
        return self.running + self.waiting + self._asking

    @property
    def has_room(self) -> bool:
        """Whether `submit` would accept a job."""
        return len(self._waiting) < self._free + self._max_waiting

    def submit(self, run: Run) -> bool:
        """Run or queue a job. Returns False if the queue is full, or no thread can be started and none exists."""
        with self._lock:
            if not self.has_room:
                return False
            self._waiting.append(run)
            self._call_thread()
            if not self._active and not self._asking:
                self._waiting.pop()
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
            self._call_thread()
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
                self._wakes.put(False)
            self._active -= self._idle
            self._idle = 0

    @property
    def _in_threads(self) -> int:
        return self._active - self._idle - self._is_coming

    @property
    def _free(self) -> int:
        """How many more jobs may run now."""
        return max(0, self.limit - self._in_threads)

    def _call_thread(self) -> None:
        """Wake or start a thread for a waiting job, unless one is coming already."""
        if self._is_coming or not self._waiting:
            return
        if self._idle:
            self._idle -= 1
            self._wakes.put(True)
        elif self._active < self.limit:
            try:
                threading.Thread(target=self._serve, name="call", daemon=True).start()
            except RuntimeError:
                # This process can start no more threads. One that runs a job takes the waiting one later.
                return
            self._active += 1
        else:
            return
        self._is_coming = True

    def _serve(self) -> None:
        is_coming = True
        while True:
            with self._lock:
                if is_coming:
                    self._is_coming = False
                # Calls that waited for their clients may have brought the number of threads above the limit.
                if self._active > self.limit and not (is_coming and self._waiting):
                    self._active -= 1
                    return
                run = self._waiting.popleft() if self._waiting else None
                if run is None:
                    self._idle += 1
                else:
                    self._call_thread()
            if run is not None:
                run()
            elif not self._wakes.get():
                return
            is_coming = run is None
