"""Messages that no caller waits for: responses to a server, cancellations. Sending them blocks no caller.

Each is tried at once. If the pipe is full, a thread retries for a moment, then drops it: a server that sends requests
but does not read gets no responses, since otherwise the thread that reads its output could block for ever.
"""

from __future__ import annotations

import select
import threading
from collections import deque
from collections.abc import Callable

from gaia_mcp.deadline import Deadline

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
