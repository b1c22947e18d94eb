"""The pipes of a child.

Its stdin: messages are written whole, one after the other, each with a deadline; messages that no caller waits for go
through the outbox, which blocks no caller and drops them if the server does not read. Its stderr: drained as it
arrives, so that the child never blocks; its end is stored for errors. And the thread that reads its stdout.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any

from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.internals import bare_signal

if TYPE_CHECKING:
    from gaia_mcp.text.redaction.masker import Masker

# How soon a writer that waits for the child to read notices that it must stop.
WRITE_SLICE_SECONDS = 0.1
# A writer that has not stopped by then is blocked in a write on Windows.
WRITER_GRACE_SECONDS = 1.0
# A server that has made no room by then does not read.
ASIDE_SECONDS = 2.0
# Limits the memory for waiting messages.
MAX_WAITING_BYTES = 1 << 20
# Enough for a traceback; of more output, the beginning is dropped.
KEPT_BYTES = 64 * 1024
# As much as a pipe holds. A larger buffer would be mapped and unmapped by the kernel for every message.
READ_BYTES = 64 * 1024


class CutError(TimeoutError):
    """Time ran out in the middle of a message: the child could not parse anything after it."""


class InputPipe:
    """Writes to `pipe`, and closes it. May be used from several threads.

    `blocks` is true if the pipe cannot be written without blocking.
    """

    def __init__(self, pipe: IO[bytes], *, blocks: bool) -> None:
        self._pipe = pipe
        self._descriptor = pipe.fileno()
        self._blocks = blocks
        self._lock = threading.Lock()
        self._closing = False
        self._is_cut = False
        if not blocks:
            os.set_blocking(self._descriptor, False)

    def fileno(self) -> int:
        """Its descriptor."""
        return self._descriptor

    @property
    def is_closed(self) -> bool:
        """Whether our end is closed, so that the child reads EOF after what is in the pipe."""
        return self._pipe.closed

    def is_drained(self) -> bool:
        """Whether the child has read everything that was written. False also if unknown: only Linux reports it at this
        end of a pipe.
        """
        return self._has_unread() is False

    def is_unread(self) -> bool:
        """Whether the child has left something unread. False also if unknown."""
        return self._has_unread() is True

    def _has_unread(self) -> bool | None:
        if sys.platform != "linux" or self.is_closed:
            return None
        import fcntl
        import termios

        # An `int`, the number of unread bytes; available also after the child has ended.
        return any(fcntl.ioctl(self._descriptor, termios.FIONREAD, bytes(4)))

    def write(self, data: bytes, deadline: Deadline) -> None:
        """Write all of `data`.

        Raises `BrokenPipeError` if the child no longer reads, `TimeoutError` if it did not read in time and nothing of
        `data` was written, `CutError` if a part was: the child is unusable then.
        """
        if self._blocks:
            self._write_in_thread(data, deadline)
            return
        if not self._lock.acquire(blocking=False) and not self._lock.acquire(timeout=deadline.remaining()):
            raise TimeoutError("it does not read its stdin")
        try:
            if self._is_cut:
                raise BrokenPipeError("a message was cut off")
            self._is_cut = True  # Until everything is written, however this method ends.
            view: bytes | memoryview = data
            while True:
                if self._closing:
                    raise BrokenPipeError("its stdin is closed")
                try:
                    written = os.write(self._descriptor, view)
                    if written == len(view):
                        break
                    view = memoryview(view)[written:]
                except BlockingIOError:
                    if self._is_writable_by(deadline):
                        continue
                    if len(view) < len(data):
                        raise CutError("it does not read its stdin") from None
                    self._is_cut = False
                    raise TimeoutError("it does not read its stdin") from None
            self._is_cut = False
        finally:
            self._lock.release()

    def close(self) -> None:
        """Close it. It stays open if a writer cannot be stopped; then call it again."""
        self._closing = True  # A waiting writer sees this and releases the lock.
        if not self._lock.acquire(timeout=WRITER_GRACE_SECONDS):
            return
        try:
            with contextlib.suppress(OSError):
                self._pipe.close()
        finally:
            self._lock.release()

    def _is_writable_by(self, deadline: Deadline) -> bool:
        """Wait a moment for space in the pipe; False if there is none and the deadline has passed."""
        import select

        poller = select.poll()
        poller.register(self._descriptor, select.POLLOUT)
        return bool(poller.poll(1000 * min(deadline.remaining(), WRITE_SLICE_SECONDS))) or not deadline.expired

    def _write_in_thread(self, data: bytes, deadline: Deadline) -> None:
        # The thread may stay blocked until the child is killed.
        failed: list[OSError] = []

        def write() -> None:
            try:
                with self._lock:
                    if self._closing:
                        raise BrokenPipeError("its stdin is closed")
                    view = memoryview(data)
                    while view:
                        view = view[os.write(self._descriptor, view) :]
            except OSError as error:
                failed.append(error)

        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        writer.join(deadline.remaining())
        if writer.is_alive():
            raise CutError("it does not read its stdin")
        if failed:
            raise BrokenPipeError(str(failed[0])) from failed[0]


# The size that a pipe writes atomically. A larger message could be written in part, and Windows cannot try at all.
TRIED_BYTES: int = getattr(select, "PIPE_BUF", 0)


class Outbox:
    """Sends with `write`, as in `InputPipe`. May be used from several threads."""

    def __init__(self, write: Callable[[bytes, Deadline], None]) -> None:
        self._write = write
        # Reentrant: a signal handler may disconnect, in a thread that holds it already.
        self._lock = threading.RLock()
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._has_thread = False

    def put(self, data: bytes) -> None:
        """Send one message, now or later; drop it if the server does not read. Does not wait or report failures."""
        with self._lock:
            has_thread = self._has_thread
        if not has_thread and self._is_done_with(data):
            return
        with self._lock:
            if self._waiting and self._size + len(data) > MAX_WAITING_BYTES:
                return
            self._waiting.append(data)
            self._size += len(data)
            if self._has_thread:
                return
            self._has_thread = True
        threading.Thread(target=self._write_waiting, name="outbox", daemon=True).start()

    def _is_done_with(self, data: bytes) -> bool:
        if len(data) > TRIED_BYTES:
            return False
        try:
            self._write(data, Deadline(0))
        except TimeoutError:
            return False
        except OSError:
            return True  # The reading thread, or the next request, reports the closed pipe.
        return True

    def _write_waiting(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._has_thread = False
                    return
                data = self._waiting.popleft()
                self._size -= len(data)
            try:
                self._write(data, Deadline(ASIDE_SECONDS))
            except OSError:
                with self._lock:
                    self._waiting.clear()
                    self._size = 0


class Drain:
    """Drains one pipe. `on_data` is called with the data, in the draining thread."""

    def __init__(self, server: str, on_data: Callable[[bytes], None] | None = None) -> None:
        self._server = server
        self._on_data = on_data
        # Reentrant: a signal handler may disconnect, in a thread that holds it already.
        self._lock = threading.RLock()
        self._kept: deque[bytes] = deque()
        self._size = 0
        self._is_cut = False
        self._thread: threading.Thread | None = None
        self._wake = -1

    def start(self, pipe: IO[bytes], end: int = -1, on_end: Callable[[], object] = lambda: None) -> None:
        """Drain `pipe` in a thread of its own, to its end or until `stop`, and close it. When the descriptor `end`
        becomes readable, call `on_end` in that thread; `end` is closed too.
        """
        # Where pipes cannot be polled (Windows), only the end of the pipe ends the thread.
        woken, self._wake = os.pipe() if hasattr(select, "poll") else (-1, -1)
        thread = threading.Thread(
            target=self._run, args=(pipe, woken, end, on_end), name=f"{self._server} stderr", daemon=True
        )
        thread.start()
        self._thread = thread

    def tail(self, masker: Masker | None = None) -> str:
        """The end of the output, masked, and in whole lines if there are several."""
        with self._lock:
            kept, is_cut = b"".join(self._kept), self._is_cut
        text = kept.decode("utf-8", "replace")
        text = masker.text(text) if masker is not None else text
        if is_cut:
            # It may begin within a character, and within a secret, whose rest was not recognised.
            text = text.lstrip("\ufffd")[masker.reach if masker is not None else 0 :]
            text = text.partition("\n")[2] or text
        return text

    def settle(self, seconds: float) -> None:
        """Wait up to `seconds` for the rest of the output."""
        # The listener may end the child, from this very thread.
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(seconds)

    def stop(self, seconds: float) -> None:
        """Read what is available and end, within `seconds`, although another process may hold the pipe open."""
        self._wake_up()
        self.settle(seconds)

    def _wake_up(self) -> None:
        with self._lock:
            wake, self._wake = self._wake, -1
        if wake >= 0:
            os.close(wake)

    def _run(self, pipe: IO[bytes], woken: int, end: int, on_end: Callable[[], object]) -> None:
        source = pipe.fileno()
        poller = select.poll() if woken >= 0 else None
        if poller is not None:
            poller.register(source, select.POLLIN)
            poller.register(woken, select.POLLIN)
            if end >= 0:
                poller.register(end, select.POLLIN)
        is_woken = False
        try:
            with pipe:
                # Once more after it was woken: one read empties the pipe.
                while not is_woken:
                    ready = [descriptor for descriptor, _ in poller.poll()] if poller is not None else [source]
                    is_woken = woken in ready
                    if end in ready and poller is not None:
                        poller.unregister(end)
                        on_end()
                    if source in ready:
                        data = os.read(source, READ_BYTES)
                        if not data:
                            break
                        self._take(data)
        finally:
            self._wake_up()
            for descriptor in (woken, end):
                if descriptor >= 0:
                    os.close(descriptor)

    def _take(self, data: bytes) -> None:
        with self._lock:
            self._kept.append(data)
            self._size += len(data)
            while self._size - len(self._kept[0]) >= KEPT_BYTES:
                self._size -= len(self._kept.popleft())
                self._is_cut = True
        if self._on_data is not None:
            try:
                self._on_data(data)
            except Exception:  # the listener's code; undrained, the child would block at its next output
                import logging

                logging.getLogger("gaia_mcp").exception("what listens to the log of MCP server %r failed", self._server)
                self._on_data = None


class SteadyThread(threading.Thread):
    """A thread that has begun when `start` raises what a signal handler raises."""

    # The blocked signals of the thread that started it, which are its own too.
    _mask: Any = None

    def start(self) -> None:
        signal = bare_signal()
        # Handlers run in the main thread only; Windows has no such mask.
        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "pthread_sigmask"):
            super().start()
            return
        self._mask = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)

    def run(self) -> None:
        # Programs that it starts inherit the mask.
        if self._mask is not None:
            signal = bare_signal()
            signal.pthread_sigmask(signal.SIG_SETMASK, self._mask)
        super().run()
