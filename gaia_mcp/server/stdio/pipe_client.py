"""One client on one pipe: leader/follower threads that read its requests and run them, also while its provider is still
being loaded.

One thread leads, that is reads; handing over before each call would cost a fifth of a small call.

The thread that reads a request also runs it and sends the response. A slow call hardly delays other requests: the
leader steps down before it runs a call if other requests are pending, and is deposed if its only call is slow.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Container, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gaia_mcp.protocol.envelope import TASKS_EXTENSION
from gaia_mcp.protocol.framing import MAX_RECORD_BYTES, LineBuffer, RecordTooLongError
from gaia_mcp.protocol.server import Description, ServerConnection
from gaia_mcp.server.calls import Calls
from gaia_mcp.server.outcomes import Job, OnFailure, encode_outgoing, note_failure
from gaia_mcp.server.provider import Change, Listener, Listeners, Provider
from gaia_mcp.server.running_call import PIPE, RunningCall

if TYPE_CHECKING:
    from gaia_mcp.asking import Call
    from gaia_mcp.protocol.connection import Outgoing

# Each running call has a thread; one client must not exhaust the machine's threads.
MAX_CALLS = 32
# How many more calls may wait for a thread: a client may send a large batch, but must not fill the memory.
MAX_WAITING = 10_000
# A slow call delays a ping or a cancellation by at most two ticks.
TICK_SECONDS = 0.005
# After this many ticks without a call the watch thread sleeps until the next call.
IDLE_TICKS = 10
# Declared for a provider that has not loaded yet: every capability that it may have.
CAPABILITIES: dict[str, Any] = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "completions": {},
    "logging": {},
    "extensions": {TASKS_EXTENSION: {}},
}
# How long a request for the description waits for the provider. The fastest clients time out on a probe or `initialize`
# after ten seconds, of which the start of this process has taken some.
LOADING_SECONDS = 8.0
# After this, stop waiting if the client has sent another message: its probe may have timed out.
IMPATIENT_SECONDS = 3.0
# How often to check for such a message.
POLL_SECONDS = 0.1


def note_full(limit: int) -> None:
    """Write to stderr that `limit` calls are running, and others wait."""
    print(f"note: the limit of {limit} running calls is reached; further calls wait", file=sys.stderr)  # noqa: T201


class StdioSession:
    """Serves one client.

    `read` returns the next bytes, and b"" at EOF; `write` takes whole lines. No other code may call them. `has_input`
    returns whether more input is available. A line of more than `max_line_bytes` ends the session.

    While `max_calls` are running (it may be changed at any time), up to `max_waiting` others wait; more are refused.
    `on_full` is called with `max_calls` when the first one waits, and again only after a time without calls.
    `on_failure` is called for each request that ends in an internal error.
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
        # Why output cannot be written, unless the client has disconnected.
        self.problem: OSError | None = None
        # Held by the thread that reads; only it uses `_lines`.
        self._leadership = Leadership(self._need_follower)
        self._lines = LineBuffer(max_line_bytes)
        self._records: deque[bytes] = deque()
        self._at_end = False
        # Guards the fields below. `_free` counts the threads that run no call: the leader and its followers.
        self._lock = threading.Lock()
        self._jobs: deque[Job] = deque()
        self._threads = 0
        self._free = 0

    def start(self) -> None:
        """Start reading, in a separate thread."""
        with self._lock:
            self._add_thread()

    def wait(self) -> None:
        """Wait for EOF, or for the client to disconnect."""
        self._ended.wait()

    def finish(self, seconds: float, cleaning_seconds: float = 0.0) -> None:
        """After EOF: wait up to `seconds` for running calls to end, then cancel them. Waits until all messages are
        sent, or the session is given up, and up to `cleaning_seconds` for cancelled calls to clean up.
        """
        self._calls.wait_until_idle(seconds)
        threading.Thread(target=self._close, name="last messages", daemon=True).start()
        self._closed.wait()
        self._calls.wait_until_over(cleaning_seconds)
        self._leadership.close()

    def give_up(self) -> None:
        """End the session during a blocked write: the client no longer reads."""
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
        """Ensure that another thread can lead while the leader runs a call."""
        with self._lock:
            self._free -= 1
            if self._free == 0:
                self._add_thread()

    @contextmanager
    def _waiting(self, call: RunningCall) -> Iterator[None]:
        """While a call waits for its client, its thread does not lead and does not count as running a call."""
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
        """The body of a thread. Runs `job` first, or else becomes the leader."""
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
        """Run a call, then the waiting ones. Whether this thread leads then; if not, it is superfluous and must end."""
        while True:
            self._calls.run(job)
            if self._leadership.is_kept(job.call):
                return True
            with self._lock:
                if self._jobs:
                    job = self._jobs.popleft()
                    continue
                # One more than `max_calls`, for the leader. The others replaced threads of calls that waited.
                if self._threads > self.max_calls + 1:
                    self._threads -= 1
                    return False
                self._free += 1
            self._leadership.acquire()
            return True

    def _read_job(self) -> Job | None:
        """The next call to run; None after the end of input, when all threads end."""
        try:
            job = self._next_job()
        except RecordTooLongError as problem:
            print(f"error: the client wrote {problem}", file=sys.stderr)  # noqa: T201
            job = None
        except BaseException:
            self._end()  # Otherwise the session would wait for a reader that has died.
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
        # Without the lock: only the leader adds jobs, and it checks them under the lock before it reads again.
        jobs = self._calls.receive(record)
        for job in jobs:
            job.call.transport = PIPE
        if len(self._jobs) + len(jobs) > self._max_waiting:
            with self._lock:
                # A job that was cancelled before it began needs neither an answer nor a cleanup.
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


class Leadership:
    """Held by one thread at a time. `on_depose` is called before a leader is deposed, so that a follower exists."""

    def __init__(self, on_depose: Callable[[], None], tick_seconds: float = TICK_SECONDS) -> None:
        self._on_depose = on_depose
        self._tick_seconds = tick_seconds
        self._held = threading.Lock()
        # Guards the fields below.
        self._lock = threading.Lock()
        self._kept_for: object = None
        self._calls = 0
        self._is_watched = False
        self._is_closed = False
        self._wake = threading.Event()
        self._watch = threading.Thread(target=self._depose_slow_leaders, name="watch", daemon=True)

    def acquire(self) -> None:
        """Wait until there is no leader, and become it."""
        self._held.acquire()

    def release(self) -> None:
        """Stop leading."""
        self._held.release()

    def keep(self, call: object) -> None:
        """Keep leading while this call runs, until the watch thread finds it slow."""
        with self._lock:
            self._kept_for = call
            self._calls += 1
            if self._is_watched or self._is_closed:
                return
            self._is_watched = True
        self._wake.set()
        if not self._watch.is_alive():
            self._watch.start()

    def close(self) -> None:
        """End the watch thread: no leader is deposed from now on."""
        with self._lock:
            self._is_closed = True
        self._wake.set()

    def step_down(self, call: object) -> None:
        """Let another thread lead at once: this call is about to wait for a message that the leader must read."""
        with self._lock:
            if self._kept_for is not call:
                return
            self._kept_for = None
        self._on_depose()
        self._held.release()

    def is_kept(self, call: object) -> bool:
        """Whether the thread that ran this call still leads. To be called after the call."""
        with self._lock:
            if self._kept_for is not call:
                return False
            self._kept_for = None
        return True

    def _depose_slow_leaders(self) -> None:
        seen = idle = 0
        while not self._is_closed:
            time.sleep(self._tick_seconds)
            with self._lock:
                lasts = self._kept_for is not None and self._calls == seen
                idle = idle + 1 if self._calls == seen else 0
                seen = self._calls
                if lasts:
                    self._kept_for = None
                elif idle > IDLE_TICKS and not self._is_closed:
                    self._is_watched = False
                    self._wake.clear()
            if lasts:
                self._on_depose()
                self._held.release()
            self._wake.wait()


class LoadingProvider:
    """Stands in for a provider until `load` supplies it, and delegates to it from then on.

    Its name is `name` until then. `is_settled` is true when `await_description` no longer waits.
    """

    def __init__(
        self, name: str, loading_seconds: float = LOADING_SECONDS, impatient_seconds: float = IMPATIENT_SECONDS
    ) -> None:
        self._name = name
        self._loading_seconds = loading_seconds
        self._impatient_seconds = impatient_seconds
        self._listeners = Listeners()
        self._loaded = threading.Event()
        self._provider: Provider | None = None
        self._was_described_early = False
        self.is_settled = False

    def load(self, provider: Provider) -> None:
        """Supply the provider. To be called once."""
        self._provider = provider
        provider.on_change(self._listeners.announce, self._listeners)
        self._listeners.announce(Change(description=True))
        # Set last: a request that waited for this must see the new description.
        self.is_settled = True
        self._loaded.set()

    def has_loaded_within(self, seconds: float) -> bool:
        """Wait up to `seconds` for the provider to load; whether it has."""
        return self._loaded.wait(seconds)

    def await_description(self, record: bytes, has_sent_more: Callable[[], bool] = lambda: False) -> None:
        """If the record asks for the description, wait for the provider to load, up to a limit. The limit is shorter if
        the client has sent another message meanwhile. To be called before the record is processed.
        """
        if not self.is_settled and (b'"initialize"' in record or b'"server/discover"' in record):
            self._was_described_early = not self._has_loaded_in_time(has_sent_more)
            self.is_settled = True

    def _has_loaded_in_time(self, has_sent_more: Callable[[], bool]) -> bool:
        began = time.monotonic()
        while not self._loaded.wait(POLL_SECONDS):
            waited = time.monotonic() - began
            if waited >= self._loading_seconds or (waited >= self._impatient_seconds and has_sent_more()):
                return False
        return True

    def describe(self) -> Description:
        """The provider's own description; while it loads, one with `name` and all capabilities."""
        if self._provider is None:
            return Description({"name": self._name, "version": ""}, CAPABILITIES)
        description = self._provider.describe()
        if not self._was_described_early:
            return description
        # A capability that was declared while loading stays declared, even if its list is empty and never changes.
        declared = {
            kind: {**features, **description.capabilities.get(kind, {})} for kind, features in CAPABILITIES.items()
        }
        return description._replace(capabilities={**description.capabilities, **declared})

    def answer(self, method: str, params: dict[str, Any], call: Call) -> dict[str, Any]:
        """The provider's answer. Waits without limit for the provider to load."""
        if self._provider is None:
            self._loaded.wait()
            call.raise_if_cancelled()
        assert self._provider is not None  # noqa: S101 (`load` sets it before `_loaded`)
        return self._provider.answer(method, params, call)

    def on_change(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        """Call `listener` when the provider has loaded, and after its changes."""
        return self._listeners.add(listener, wanted)

    def close(self) -> None:
        """Close the provider, if it has loaded."""
        if self._provider is not None:
            self._provider.close()
