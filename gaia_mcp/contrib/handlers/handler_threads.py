"""Runs the code of one handler so that code which hangs or fails does not harm its caller: its threads, its connection,
and its failures as exceptions and as text.

A thread cannot be stopped from outside: an abandoned one is a daemon, and ends when its code returns. As long as a
handler runs one call at a time, it always runs in the same thread, because some libraries bind connections to a thread.
A connection is established at most once, and closed even if it succeeds too late.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Any

from gaia_mcp.asking import Call, enter_call
from gaia_mcp.core.errors import MCPError

if TYPE_CHECKING:
    from gaia_mcp.contrib.handlers.base import MCPHandler
    from gaia_mcp.core.deadline import Deadline

# The abandoned threads of each handler. A handler with more is not run again before one of them returns.
MAX_LEFT_BEHIND = 8
# The idle threads of each handler. Further threads end after their job.
MAX_IDLE = 4
# Code that enforces the same timeout itself can report what it waited for, if it has a moment to do so.
GRACE_SECONDS = 0.5
# The limit for a handler to disconnect, and for waiting for one that is still connecting.
DISCONNECT_SECONDS = 5.0
# Runs code of the handler, for so many seconds at most, or for its own timeout. Raises what the code raises.
Run = Callable[[Callable[[], object], float | None], object]


class _Job:
    """A function to run, and its outcome."""

    __slots__ = ("context", "error", "function", "is_left", "is_over", "over", "value")

    def __init__(self, function: Callable[[], Any], context: Context) -> None:
        self.function = function
        self.context = context
        self.value: Any = None
        self.error: BaseException | None = None
        self.is_over = False
        # The caller no longer waits.
        self.is_left = False
        # Held until it is over, or left. Faster than an event.
        self.over = threading.Lock()
        self.over.acquire()


class _Worker:
    """One thread: `start` is held while it has nothing to do."""

    __slots__ = ("job", "start")

    def __init__(self) -> None:
        self.job: _Job | None = None
        self.start = threading.Lock()
        self.start.acquire()


class HandlerThreads:
    """Runs code of the handler `name`. May be used from several threads."""

    def __init__(self, name: str) -> None:
        self._name = name
        # Held to decide whether a job is over or left. Reentrant: a signal handler may shut down in the same thread.
        self._lock = threading.RLock()
        self._left_behind = 0
        self._idle: list[_Worker] = []
        self._is_closed = False
        self._process = os.getpid()

    def run(self, function: Callable[[], Any], deadline: Deadline, caller: Call | None = None) -> Any:
        """Run `function`; returns and raises what it does. It runs with the context variables of this thread, and with
        its own current call, whose progress extends the deadline and is passed on to `caller`.

        Raises `HandlerExitError` for an exception that is not an `Exception`, `HandlerHungError` when `deadline` has
        passed by `GRACE_SECONDS`, `CallCancelledError` as soon as `caller` is cancelled, and `TooManyHungError`. The
        current call of abandoned code is cancelled.
        """

        def on_progress(done: float, total: float | None, text: str) -> None:
            deadline.extend()
            if caller is not None:
                caller.progress(done, total, text)

        call = Call(on_progress, caller.log if caller is not None else None)
        context = copy_context()
        context.run(enter_call, call)
        job = _Job(function, context)
        self._start(job)
        forget = caller.on_cancel(lambda: self._leave(job)) if caller is not None else None
        try:
            while not job.over.acquire(timeout=deadline.remaining() + GRACE_SECONDS):
                if deadline.expired:
                    self._leave(job)
        finally:
            if forget is not None:
                forget()
            if not job.is_over:  # Also after a Ctrl-C.
                self._leave(job)
                call.cancel()
        if job.is_left:
            if caller is not None:
                caller.raise_if_cancelled()
            raise HandlerHungError(deadline.allowed)
        if isinstance(job.error, Exception):
            raise job.error
        if job.error is not None:
            raise HandlerExitError(job.error) from job.error
        return job.value

    def close(self) -> None:
        """End the idle threads now, and the others after their job. The next run starts new ones."""
        self._is_closed = True
        self._end_idle()

    def _end_idle(self) -> None:
        while (worker := self._take_idle()) is not None:
            worker.start.release()

    def _take_idle(self) -> _Worker | None:
        # Atomic and without a lock: a thread that a signal handler interrupts here blocks no other.
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _start(self, job: _Job) -> None:
        if self._process != os.getpid():
            # This process is a fork: the threads belong to its parent.
            self._process, self._idle, self._left_behind = os.getpid(), [], 0
        if self._left_behind >= MAX_LEFT_BEHIND:
            raise TooManyHungError(MAX_LEFT_BEHIND)
        self._is_closed = False
        worker = self._take_idle()
        if worker is not None:
            worker.job = job
            worker.start.release()
            return
        worker = _Worker()
        worker.job = job
        worker.start.release()
        threading.Thread(target=self._work, args=(worker,), name=f"MCP handler {self._name}", daemon=True).start()

    def _leave(self, job: _Job) -> None:
        """Abandon the job, unless it is over."""
        with self._lock:
            if job.is_over or job.is_left:
                return
            job.is_left = True
            self._left_behind += 1
        job.over.release()

    def _work(self, worker: _Worker) -> None:
        while True:
            worker.start.acquire()
            job, worker.job = worker.job, None
            if job is None:
                return
            try:
                job.value = job.context.run(job.function)
            except BaseException as error:  # noqa: BLE001 (a handler's own code, which may even try to exit)
                job.error = error
            with self._lock:
                job.is_over = not job.is_left
                if job.is_left:
                    self._left_behind -= 1
                # Before the caller continues: its next job must run in this thread.
                stays = len(self._idle) < MAX_IDLE
                if stays:
                    self._idle.append(worker)
            if self._is_closed:
                self._end_idle()  # Includes this one, if it became idle after `close`.
            if job.is_over:
                job.over.release()
            del job
            if not stays:
                return


class _Attempt:
    """One attempt to connect: `over` is set when it has ended, `is_up` is whether it succeeded."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.is_up = False
        # It was cancelled: if it succeeds after all, the connection must be closed.
        self.is_given_up = False


class HandlerConnection:
    """The connection of `handler`. May be used from several threads.

    `is_abortable` is whether `disconnect()` may be called during `connect()`, and cancels it. `on_failure` is called
    with the reason when connecting failed.
    """

    def __init__(
        self, handler: MCPHandler, run: Run, on_failure: Callable[[str], None], *, is_abortable: bool = False
    ) -> None:
        self._handler = handler
        self._run = run
        self._on_failure = on_failure
        self._is_abortable = is_abortable
        # Guards the attributes below; never held while the handler's code runs. Reentrant: a signal handler may shut
        # down in the same thread.
        self._lock = threading.RLock()
        self._attempt: _Attempt | None = None
        # Not set while an earlier connection is being closed.
        self._is_free = threading.Event()
        self._is_free.set()

    @property
    def has_failed(self) -> bool:
        """Whether the attempt to connect has failed. It is not repeated before `detach`."""
        attempt = self._attempt
        return attempt is not None and attempt.over.is_set() and not attempt.is_up

    def establish(self) -> bool:
        """Connect, unless that was attempted: the first caller does, others wait. Returns whether it is connected."""
        attempt = self._attempt
        if attempt is not None and attempt.is_up:
            return True
        attempt, is_mine = self._take_attempt()
        if is_mine:
            self._connect(attempt)
        else:
            attempt.over.wait()
        return attempt.is_up

    def detach(self) -> Callable[[], None]:
        """Detach the connection, and return the function that closes it. The next `establish` connects again after
        that.
        """
        with self._lock:
            attempt, self._attempt = self._attempt, None
            if attempt is None:
                return self._wait_until_free
            attempt.is_given_up = True
            self._is_free.clear()
        return lambda: self._end(attempt)

    def _wait_until_free(self) -> None:
        # With a limit: a signal handler may have interrupted the thread that closes it.
        self._is_free.wait(DISCONNECT_SECONDS)

    def _take_attempt(self) -> tuple[_Attempt, bool]:
        """The attempt, and whether this thread must make it."""
        while True:
            self._is_free.wait()
            with self._lock:
                if self._attempt is not None:
                    return self._attempt, False
                if self._is_free.is_set():
                    self._attempt = _Attempt()
                    return self._attempt, True

    def _connect(self, attempt: _Attempt) -> None:
        def connect() -> None:
            self._handler.connect()
            with self._lock:
                # A cancellation from here on also closes it.
                is_late = attempt.is_given_up
                attempt.is_up = bool(self._handler._connected) and not is_late
            if is_late:
                self._handler.disconnect()

        problem = "connect() returned without connecting"
        try:
            self._run(connect, None)
        except Exception as error:  # noqa: BLE001 (a handler's own code)
            problem = described(error)
        finally:
            with self._lock:
                attempt.is_given_up |= not attempt.is_up
                is_wanted = self._attempt is attempt
            attempt.over.set()
        if is_wanted and not attempt.is_up:
            self._on_failure(problem)

    def _end(self, attempt: _Attempt) -> None:
        try:
            if attempt.is_up:
                self._disconnect(logging.WARNING)
            elif self._is_abortable or attempt.over.wait(DISCONNECT_SECONDS):
                self._disconnect(logging.DEBUG)  # It may be partly connected.
            else:
                logger.warning("MCP handler %r is still being connected; it is left behind", self._handler.name)
        finally:
            self._is_free.set()

    def _disconnect(self, level: int) -> None:
        try:
            self._run(self._handler.disconnect, DISCONNECT_SECONDS)
        except Exception as error:  # noqa: BLE001 (a handler's own code)
            logger.log(level, "MCP handler %r could not be disconnected: %s", self._handler.name, described(error))


logger = logging.getLogger("gaia_mcp")


class HandlerFailure(Exception):  # noqa: N818 (the base class of the errors below)
    """A failure whose text is complete."""


class HandlerHungError(HandlerFailure):
    """The code did not return in time, and its thread is left behind."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"it did not return within {seconds:g} s")


class TooManyHungError(HandlerFailure):
    """The code was not run: `limit` threads of the handler are left behind."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} of its calls have not returned yet")


class HandlerExitError(HandlerFailure):
    """The code tried to end the process, or its thread, with `error`."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__} was raised: {error}" if str(error) else type(error).__name__)


def log_failure(what: str, error: BaseException) -> None:
    """Log an exception of a handler's tool, for its author."""
    logger.debug("MCP handlers: %s", what, exc_info=error)


def described(error: Exception) -> str:
    """A short description of the failure."""
    text = str(error)
    if text and isinstance(error, (MCPError, HandlerFailure)):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def scrubbed(text: str, settings: Any) -> str:
    """A text from a handler without the secrets in its settings: HTTP clients quote URLs that contain keys."""
    if not settings or not text:
        return text
    from gaia_mcp.text.redaction.masker import Masker, secrets_in

    try:
        document = json.dumps(settings, default=str, skipkeys=True)
    except (ValueError, RecursionError):
        return text  # They contain themselves, so they do not come from a configuration file.
    return Masker(secrets_in({"settings": document}, ())).text(text)
