"""One client on one pipe: threads that read its requests and run them, as leader and followers.

A response leaves from the thread that read its request. A slow call delays other requests by a moment at most: the
leader steps down before it runs a call while others wait, and is deposed when its only call turns out to last.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gaia_mcp.protocol.framing import MAX_RECORD_BYTES, LineBuffer, RecordTooLongError
from gaia_mcp.protocol.server import ServerConnection
from gaia_mcp.server.calls import Calls
from gaia_mcp.server.encoding import encode_outgoing
from gaia_mcp.server.failures import OnFailure, note_failure
from gaia_mcp.server.served_call import PIPE
from gaia_mcp.server.stdio.leader_follower import Leadership

if TYPE_CHECKING:
    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.server.outcomes import Job
    from gaia_mcp.server.served_call import ServedCall
    from gaia_mcp.server.stdio.loading import LoadingProvider

# Each call has a thread while it runs; a client that asks without end must not take the machine.
MAX_CALLS = 32
# So many calls more may wait for a thread: a client may ask for all that it has at once, but not fill the memory.
MAX_WAITING = 10_000


def note_full(limit: int) -> None:
    """Write to stderr that calls wait, since `limit` of them are running."""
    print(f"note: the limit of {limit} running calls is reached; further calls wait", file=sys.stderr)  # noqa: T201


class StdioSession:
    """Serves one client.

    `read` returns the next bytes and nothing at the end, `write` takes whole lines; neither may be called from
    elsewhere. `has_input` returns whether there is more to read. A line of more than `max_line_bytes` ends the session.

    While `max_calls` are running, which may be changed at any time, up to `max_waiting` others wait; more of them are
    refused. `on_full` is called with `max_calls` when the first one has to wait, and again only after there was a time
    without calls; `on_failure` for each request that ends in an internal error.
    """

    def __init__(
        self,
        read: Callable[[], bytes],
        write: Callable[[bytes], None],
        provider: LoadingProvider,
        max_line_bytes: int = MAX_RECORD_BYTES,
        max_calls: int = MAX_CALLS,
        max_waiting: int = MAX_WAITING,
        on_full: Callable[[int], None] = note_full,
        on_failure: OnFailure = note_failure,
        has_input: Callable[[], bool] = lambda: False,
    ) -> None:
        self.max_calls = max_calls
        self._max_waiting = max_waiting
        self._on_full = on_full
        self._is_full = False
        self._read = read
        self._has_input = has_input
        self._write = write
        self._provider = provider
        connection = ServerConnection(provider.describe())
        self._calls = Calls(connection, provider, self._send, on_failure, waiting=self._waiting)
        self._ended = threading.Event()
        self._closed = threading.Event()
        self._client_has_gone = False
        # Why nothing can be written, although the client may be there.
        self.problem: OSError | None = None
        # Held by the thread that reads; the lines are its alone.
        self._leadership = Leadership(self._need_follower)
        self._lines = LineBuffer(max_line_bytes)
        self._records: deque[bytes] = deque()
        self._at_end = False
        # Held to touch what follows. `_free` counts the threads that run no call: the leader and its followers.
        self._lock = threading.Lock()
        self._jobs: deque[Job] = deque()
        self._threads = 0
        self._free = 0

    def start(self) -> None:
        """Begin to read, in a thread of its own."""
        with self._lock:
            self._add_thread()

    def wait(self) -> None:
        """Until nothing more will arrive, or the client has gone."""
        self._ended.wait()

    def finish(self, seconds: float, cleaning_seconds: float = 0.0) -> None:
        """After the end: let the calls that run end, for up to `seconds`, then cancel them. Waits until all of it
        is sent, or the session is given up, and for up to `cleaning_seconds` until what is cancelled has cleaned up.
        """
        self._calls.wait_until_idle(seconds)
        threading.Thread(target=self._close, name="last messages", daemon=True).start()
        self._closed.wait()
        self._calls.wait_until_over(cleaning_seconds)

    def give_up(self) -> None:
        """End although a message is being written: the client does not read it."""
        self._client_has_gone = True
        self._ended.set()
        self._closed.set()

    def _close(self) -> None:
        self._calls.close()
        self._closed.set()

    # Threads.

    def _add_thread(self) -> None:
        self._threads += 1
        self._free += 1
        threading.Thread(target=self._serve, name=f"server {self._threads}", daemon=True).start()

    def _need_follower(self) -> None:
        """The leader will run a call: another thread has to be there to lead."""
        with self._lock:
            self._free -= 1
            if self._free == 0:
                self._add_thread()

    @contextmanager
    def _waiting(self, call: ServedCall) -> Iterator[None]:
        """While a call waits for its client, its thread neither leads nor takes the place of another call."""
        self._leadership.step_down(call)
        with self._lock:
            if self._jobs:
                threading.Thread(target=self._serve, args=(self._jobs.popleft(),), name="server", daemon=True).start()
            else:
                self._threads -= 1
        try:
            yield
        finally:
            with self._lock:
                self._threads += 1

    def _serve(self, job: Job | None = None) -> None:
        """A thread: begins with a call, or by leading."""
        if job is None:
            self._leadership.acquire()
        elif not self._run(job):
            return
        while (job := self._read_job()) is not None:
            if len(self._calls) == 1 and not self._records:
                self._leadership.keep(job.call)
            else:
                self._need_follower()
                self._leadership.release()
            if not self._run(job):
                return

    def _run(self, job: Job) -> bool:
        """Run a call, then those that wait for a thread. Whether this thread leads then; if not, it is one too many."""
        while True:
            self._calls.run(job)
            if self._leadership.is_kept(job.call):
                return True
            with self._lock:
                if self._jobs:
                    job = self._jobs.popleft()
                    continue
                # The leader runs no call. More threads were there for calls that waited for their client.
                if self._threads > self.max_calls + 1:
                    self._threads -= 1
                    return False
                self._free += 1
            self._leadership.acquire()
            return True

    def _read_job(self) -> Job | None:
        """The next call to run; None when this thread reads no more, nor does any other."""
        try:
            job = self._next_job()
        except RecordTooLongError as problem:
            print(f"error: the client wrote {problem}", file=sys.stderr)  # noqa: T201
            job = None
        except BaseException:
            self._end()  # No thread would read from here on.
            raise
        if job is None:
            self._end()
        return job

    def _end(self) -> None:
        self._ended.set()
        self._leadership.release()

    # Reading, by the leader.

    def _next_job(self) -> Job | None:
        """The next call to run; None at the end."""
        while True:
            with self._lock:
                is_full = bool(self._jobs)
                if is_full and (self._free > 1 or self._threads <= self.max_calls):
                    return self._jobs.popleft()
            if is_full != self._is_full:
                if is_full:
                    self._on_full(self.max_calls)
                self._is_full = is_full or len(self._calls) > 0
            if not self._records and not self._read_more():
                return None
            self._receive(self._records.popleft())

    def _read_more(self) -> bool:
        while not self._records and not self._ended.is_set():
            data = b"" if self._at_end else self._read()
            self._at_end = not data
            self._records.extend(self._lines.feed(data) if data else self._lines.finish())
            if self._at_end and not self._records:
                self._ended.set()
        return bool(self._records)

    def _receive(self, record: bytes) -> None:
        if not self._provider.is_settled:
            self._provider.await_description(record, lambda: bool(self._records) or self._has_input())
        # Without the lock: only the leader adds jobs, and it looks for them under the lock before it reads on.
        jobs = self._calls.receive(record)
        for job in jobs:
            job.call.transport = PIPE
        if len(self._jobs) + len(jobs) > self._max_waiting:
            with self._lock:
                # What was cancelled needs no answer, and has nothing to clean up before it has begun.
                self._jobs = deque(job for job in self._jobs if not job.call.is_cancelled)
        room = self._max_waiting - len(self._jobs)
        self._jobs.extend(jobs[:room])
        for job in jobs[room:]:
            self._calls.refuse(job, f"{self._max_waiting} calls are waiting already; repeat this one later")

    # Writing, by one thread at a time.

    def _send(self, outgoing: Outgoing) -> None:
        if self._client_has_gone:
            return
        try:
            self._write(encode_outgoing(outgoing.message))
        except OSError as problem:
            if not isinstance(problem, ConnectionError):
                self.problem = problem
            self._client_has_gone = True
            self._ended.set()
