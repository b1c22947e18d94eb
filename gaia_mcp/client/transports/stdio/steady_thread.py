"""A thread whose start no signal handler can interrupt.

`Thread.start` waits for the thread with a lock that both share. A Ctrl-C in that moment releases the lock while the
thread holds it, and the thread ends with an exception before it has run anything.
"""

from __future__ import annotations

import threading
from typing import Any

from gaia_mcp.internals import bare_signal


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
