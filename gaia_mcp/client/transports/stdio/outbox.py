"""What no caller waits for: responses to a server, cancellations. Sending them blocks no thread.

It is tried at once. What finds no room waits for some in a thread, for a moment: a server that asks and does not read
gets no responses, or the thread that reads its output would wait for it for ever.
"""

from __future__ import annotations

import select
import threading
from collections import deque
from collections.abc import Callable

from gaia_mcp.deadline import Deadline

# Who has not made room by then does not read.
ASIDE_SECONDS = 2.0
# What waits meanwhile must not fill our memory.
MAX_WAITING_BYTES = 1 << 20
# As much as a pipe takes whole or not at all. More could be cut by trying, and Windows cannot try.
TRIED_BYTES: int = getattr(select, "PIPE_BUF", 0)


class Outbox:
    """Sends by `write`, which is that of a `Pipe`. Safe to use from several threads."""

    def __init__(self, write: Callable[[bytes, Deadline], None]) -> None:
        self._write = write
        # A signal handler may disconnect, in a thread that holds it already.
        self._lock = threading.RLock()
        self._waiting: deque[bytes] = deque()
        self._size = 0
        self._has_thread = False

    def put(self, data: bytes) -> None:
        """Send one message, now or soon or, if it is not read, never. Does not wait, and says nothing of failures."""
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
            return True  # The thread that reads meets the end of the pipe, or the next request does.
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
