"""The limits of an HTTP server, and the pool of threads that run its calls within them.

Waking a thread for each call would cost more than most calls. So one thread at a time is woken. It takes a job, wakes
the next thread if another job is waiting, and then runs its own. If that ends before the next thread is awake, it also
takes the other job.

Each client has a share of the pool, so that no client takes all of it. The waiting jobs of the clients take turns. If
too many calls wait for their clients, one whose client has disconnected gives its place to another.

`ThreadPoolExecutor` with a semaphore was measured in its place: 25 us for a call instead of 15, 13 instead of 5 with 50
at once, and a sixth more processor time for a POST. Its threads also keep a process from ending while a tool blocks.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from weakref import WeakValueDictionary

from gaia_mcp.protocol.input_required import QuestionError

if TYPE_CHECKING:
    from gaia_mcp.server.running_call import RunningCall

# A job of the pool. It must not raise.
Run: TypeAlias = Callable[[], None]

# The parts of the places for waiting and asking calls that one session, and all clients of one caller, may have. A
# session of a busy client has room, and the others have the rest.
SESSION_PART, CALLER_PART = 0.25, 0.5
# Of this many threads, one is kept for the other clients: their calls run, however long those of one client take.
SPARED = 8

# A hundred calls with large arguments, or two of the largest that are read.
WAITING_BYTES = 64 * 2**20


class _Job(NamedTuple):
    run: Run
    # The approximate memory of its request.
    size: int


class Share:
    """The part of a pool that one client may have, which is also part of the share of its caller, if that is known."""

    # Protected by the lock of the pool. `jobs` are only those of this client itself, the others of all its clients.
    waiting = 0
    waiting_bytes = 0
    asking = 0
    running = 0

    def __init__(self, part: float = 1.0, caller: Share | None = None) -> None:
        self.part = part
        self.chain: tuple[Share, ...] = (self,) if caller is None else (self, caller)
        self.jobs: deque[_Job] = deque()

    def most(self, places: int) -> int:
        """How many of so many places it may have."""
        return max(1, int(self.part * places)) if places else 0


class _Asking:
    """A call that waits for its client. `is_gone` returns whether that has disconnected."""

    def __init__(self, call: RunningCall, shares: tuple[Share, ...], is_gone: Callable[[RunningCall], bool]) -> None:
        self.call = call
        self.shares = shares
        self.is_gone = is_gone


class Workers:
    """Runs up to `limit` jobs at once, which may be changed at any time. Up to `max_waiting` more are queued, with
    requests of up to `max_bytes` in total.

    A call that waits for its client's response does not count towards `limit`; at most `max_asking` calls may do so.
    """

    def __init__(self, limit: int, max_waiting: int, max_asking: int, max_bytes: int = WAITING_BYTES) -> None:
        self.limit = limit
        self._max_waiting = max_waiting
        self._max_asking = max_asking
        self._max_bytes = max_bytes
        # The shares of the callers that have clients.
        self._callers: WeakValueDictionary[str, Share] = WeakValueDictionary()
        # Protects the following attributes. `_active` counts the threads that count towards the limit, `_idle` those of
        # them that sleep. `_is_coming`: a thread was woken or started, and has not looked for a job yet. While a job is
        # waiting, there is such a thread, or there are as many threads with jobs as allowed.
        self._lock = threading.Lock()
        # The shares that have waiting jobs, in the order of their turns; and the counts of all of them together.
        self._turns: deque[Share] = deque()
        self._all = Share()
        # The calls that wait for their clients, the oldest first.
        self._asking: dict[_Asking, None] = {}
        self._active = 0
        self._idle = 0
        self._is_coming = False
        # Wakes an idle thread: True for a job, False to end.
        self._wakes: SimpleQueue[bool] = SimpleQueue()

    @property
    def running(self) -> int:
        """The number of running jobs that count towards the limit."""
        return self._in_threads + min(self._all.waiting, self._free)

    @property
    def waiting(self) -> int:
        """The number of queued jobs: those that must wait for the end of another."""
        return max(0, self._all.waiting - self._free)

    @property
    def unfinished(self) -> int:
        """The number of jobs that have not ended, including those that are queued or wait for their clients."""
        return self.running + self.waiting + self._all.asking

    @property
    def has_room(self) -> bool:
        """Whether `submit` would accept a small job of a client that has none."""
        return self._has_room(self._all, 0)

    @property
    def has_room_to_ask(self) -> bool:
        """Whether a call may wait for its client."""
        return self._all.asking < self._max_asking

    def share(self, caller: str | None, *, is_session: bool = False) -> Share:
        """The share of a session, or of the requests outside of sessions, of this caller; None if it is unknown."""
        of_caller = None
        if caller is not None:
            with self._lock:
                if (of_caller := self._callers.get(caller)) is None:
                    of_caller = self._callers[caller] = Share(CALLER_PART)
        return Share(SESSION_PART, of_caller) if is_session else of_caller or Share()

    def submit(self, run: Run, share: Share | None = None, size: int = 0) -> bool:
        """Run or queue a job, whose request takes about `size` bytes. Returns False if the queue is full, or its share
        of the queue, or no thread can be started and none exists.
        """
        share = share or Share()
        with self._lock:
            if self._all.waiting or not self._max_waiting:
                for each in (*share.chain, self._all):
                    if not self._has_room(each, size):
                        return False
            if not share.jobs:
                self._turns.append(share)
            share.jobs.append(_Job(run, size))
            for each in (*share.chain, self._all):
                each.waiting += 1
                each.waiting_bytes += size
            self._call_thread()
            if not self._active and not self._all.asking:
                self._remove(share, share.jobs[-1])
                return False
        return True

    def withdraw(self, run: Run, share: Share) -> None:
        """Forget a job that is waiting, because its call was cancelled. Does nothing if it has been taken."""
        with self._lock:
            for job in share.jobs:
                if job.run is run:
                    self._remove(share, job)
                    return

    @contextmanager
    def asking(
        self,
        call: RunningCall,
        share: Share | None = None,
        is_gone: Callable[[RunningCall], bool] = lambda _: False,
    ) -> Iterator[None]:
        """Let another job run while this call waits for its client. Raises `QuestionError` if too many calls wait, and
        the clients of all of them are there.
        """
        asking = _Asking(call, (*share.chain, self._all) if share else (self._all,), is_gone)
        with self._lock:
            gone = self._make_room_to_ask(asking.shares)
            self._asking[asking] = None
            self._count_asking(asking, 1)
            self._call_thread()
        if gone is not None:
            gone.call.lose_client()
        try:
            yield
        finally:
            with self._lock:
                self._leave(asking)

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

    def _has_room(self, share: Share, size: int) -> bool:
        # One job of any size may wait, or a large request could only be sent to a server that is idle.
        if share.waiting and share.waiting_bytes + size > share.most(self._max_bytes):
            return False
        most = share.most(self._max_waiting)
        return share.waiting < most or share.waiting < most + self._free

    def _make_room_to_ask(self, shares: tuple[Share, ...]) -> _Asking | None:
        """Let a call leave whose client is gone, if there is no room. Returns that call. Raises as `asking`."""
        # A call with a place in the first share that is full has one in those after it, too.
        full = next((each for each in shares if each.asking >= each.most(self._max_asking)), None)
        if full is None:
            return None
        gone = next((each for each in self._asking if full in each.shares and each.is_gone(each.call)), None)
        if gone is None:
            # Waiting within the limit is no alternative: clients that never answer would occupy all threads.
            raise QuestionError("too many calls wait for their clients already; repeat this call later")
        self._leave(gone)
        return gone

    def _leave(self, asking: _Asking) -> None:
        """Count a call as running again, unless it is."""
        if asking in self._asking:
            del self._asking[asking]
            self._count_asking(asking, -1)

    def _count_asking(self, asking: _Asking, count: int) -> None:
        for each in asking.shares:
            each.asking += count
            each.running -= count
        self._active -= count

    def _remove(self, share: Share, job: _Job) -> None:
        share.jobs.remove(job)
        if not share.jobs:
            self._turns.remove(share)
        for each in (*share.chain, self._all):
            each.waiting -= 1
            each.waiting_bytes -= job.size

    @property
    def _ready(self) -> Share | None:
        """The share whose turn it is, among those that may have another thread."""
        most = self.limit - self.limit // SPARED
        for share in self._turns:
            for each in share.chain:
                if each.running >= most and each.part < 1 and most < self.limit:
                    break
            else:
                return share
        return None

    def _next(self, share: Share) -> Run:
        """Take the first job of the share, and let the others have their turns."""
        job = share.jobs.popleft()
        self._turns.remove(share)
        if share.jobs:
            self._turns.append(share)
        for each in (*share.chain, self._all):
            each.waiting -= 1
            each.waiting_bytes -= job.size
            each.running += 1
        return job.run

    def _call_thread(self) -> None:
        """Wake or start a thread for a waiting job, unless one is coming already."""
        if self._is_coming or not (self._idle or self._active < self.limit) or self._ready is None:
            return
        if self._idle:
            self._idle -= 1
            self._wakes.put(True)
        else:
            try:
                threading.Thread(target=self._serve, name="call", daemon=True).start()
            except RuntimeError:
                # This process can start no more threads. One that runs a job takes the waiting one later.
                return
            self._active += 1
        self._is_coming = True

    def _serve(self) -> None:
        is_coming, share = True, None
        while True:
            with self._lock:
                if share is not None:
                    for each in (*share.chain, self._all):
                        each.running -= 1
                if is_coming:
                    self._is_coming = False
                # Calls that waited for their clients may have brought the number of threads above the limit.
                if self._active > self.limit and not (is_coming and self._turns):
                    self._active -= 1
                    return
                share = self._ready if self._turns else None
                if share is None:
                    self._idle += 1
                else:
                    run = self._next(share)
                    if self._turns:
                        self._call_thread()
            if share is not None:
                run()
            elif not self._wakes.get():
                return
            is_coming = share is None


class Limits(NamedTuple):
    """The limits of one app. Requests that exceed them do not wait, but are refused with 408, 413, 431 or 503."""

    # All headers of a request together; the largest are tokens.
    header_bytes: int = 64 * 1024
    # The official SDK's limit. Arguments are small; a file is better passed as a resource or by its path.
    body_bytes: int = 4 * 2**20
    # The bodies that have begun and not ended, together: 64 of the largest. They are kept until they end.
    bodies_bytes: int = 256 * 2**20
    # Values in a body: they may take 50 times its size in memory. Arguments have about 20 bytes for each.
    values: int = 200_000
    # Nested lists and objects. Code that walks arguments calls itself for each, and Python allows 1,000 nested calls.
    depth: int = 256
    # Of each key of an object. The longest keys are paths, which Linux limits to this length.
    key_chars: int = 4096
    # Messages in a batch, which only revision 2025-03-26 has. One response has the results of all of its requests.
    batch: int = 100
    # From the end of the headers to the end of the body: enough for 4 MiB at 1 Mbit/s.
    body_seconds: float = 40.0
    # Concurrent calls. Each has a thread.
    calls: int = 32
    # Calls that wait for a thread. A refused client retries later, after the time in `Retry-After`.
    waiting_calls: int = 1000
    # The memory of their requests.
    waiting_bytes: int = WAITING_BYTES
    # Calls that wait for a response of their client. Each keeps its thread, but does not count towards `calls`.
    asking_calls: int = 1000
    # Open streams: subscriptions, GET streams, calls that are answered by a stream. Each takes about 50 kB.
    streams: int = 10_000
    # What a session keeps of `initialize`: known members only, which take less than 1 KiB in every client we have seen.
    client_bytes: int = 16 * 1024
    # Handshake sessions of a worker; more close idle ones. A session without requests for `session_seconds` expires.
    sessions: int = 10_000
    session_seconds: float = 3600.0
    # Proxies close a connection that is silent for a minute, some for half of that.
    keep_alive_seconds: float = 15.0
    # A client that has read nothing for this long counts as disconnected.
    stalled_seconds: float = 60.0
    # Longer calls of a session are answered by a stream, which can be resumed. JSON costs less, so shorter ones use it.
    json_seconds: float = 0.2
    # Between two renewals of the worker's lease; None is the default of `Leases`.
    beat_seconds: float | None = None
