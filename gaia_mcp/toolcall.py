"""The call that is running: how a tool tells its caller how far it has got, and learns that nobody waits any more.

A front that serves an agent enters a call before it runs the agent's code; outside of one, everything here does
nothing, so the same tool runs in a test or a script.
"""

from __future__ import annotations

import threading
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    # (progress, total, text), (level, data)
    OnProgress = Callable[[float, float | None, str], None]
    OnLog = Callable[[str, Any], None]


class CallCancelledError(Exception):
    """Nobody waits for this call's result any more."""


# Held to make what somebody pauses on, so that two who pause have the same.
_making = threading.Lock()


class ToolCall:
    """One running call. Safe to use from several threads. `is_cancelled`: nobody waits for the result any more."""

    def __init__(self, on_progress: OnProgress | None = None, on_log: OnLog | None = None) -> None:
        self._on_progress = on_progress
        self._on_log = on_log
        self.is_cancelled = False
        # Made by the first who pauses: most calls never do.
        self._cancelled: threading.Event | None = None

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        """Say how far it has got; `done` only ever grows. Raises `CallCancelledError` if nobody waits any more."""
        self.raise_if_cancelled()
        if self._on_progress is not None:
            self._on_progress(done, total, text)

    def log(self, level: str, data: Any) -> None:
        """Send a log message; `level` is one of debug, info, notice, warning, error, critical, alert, emergency."""
        if self._on_log is not None:
            self._on_log(level, data)

    def raise_if_cancelled(self) -> None:
        """Raises `CallCancelledError` if nobody waits any more."""
        if self.is_cancelled:
            raise CallCancelledError

    def wait(self, seconds: float) -> None:
        """Pause, but not beyond a cancellation. Raises `CallCancelledError` then."""
        with _making:
            cancelled = self._cancelled = self._cancelled or threading.Event()
        # Looked at only after it is there for `cancel()` to be set.
        if not self.is_cancelled:
            cancelled.wait(seconds)
        self.raise_if_cancelled()

    def cancel(self) -> None:
        """For the front: nobody waits any more."""
        self.is_cancelled = True
        if self._cancelled is not None:
            self._cancelled.set()


_CURRENT: ContextVar[ToolCall | None] = ContextVar("gaia_mcp_tool_call", default=None)


def current_call() -> ToolCall:
    """The call that this code runs for; one that does nothing when there is none."""
    return _CURRENT.get() or ToolCall()


def enter_call(call: ToolCall | None) -> None:
    """For the front: what runs in this thread from here on runs for `call`."""
    _CURRENT.set(call)
