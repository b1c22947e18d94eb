"""A child's stderr: drained as it arrives, so that the child never blocks; its end is stored for errors."""

from __future__ import annotations

import os
import select
import threading
from collections import deque
from collections.abc import Callable
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from gaia_mcp.redaction.masker import Masker

# Enough for a traceback; of more output, the beginning is dropped.
KEPT_BYTES = 64 * 1024
# As much as a pipe holds. A larger buffer would be mapped and unmapped by the kernel for every message.
READ_BYTES = 64 * 1024


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
