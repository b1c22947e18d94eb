"""The pipe to a child's stdin: messages are written whole, one after the other, each with a deadline."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import IO

from gaia_mcp.deadline import Deadline

# How soon a writer that waits for the child to read notices that it must stop.
WRITE_SLICE_SECONDS = 0.1
# A writer that has not stopped by then is blocked in a write on Windows.
WRITER_GRACE_SECONDS = 1.0


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


# A server that has made no room by then does not read.
ASIDE_SECONDS = 2.0
# Limits the memory for waiting messages.
MAX_WAITING_BYTES = 1 << 20
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
