"""The running call: a tool reports progress and logs through it, and learns that its client has cancelled it.

A provider enters a call before it runs a tool's code. Outside of a call everything here does nothing, so the same tool
runs in a test or a script.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

# (progress, total, text), (level, data)
OnProgress = Callable[[float, float | None, str], None]
OnLog = Callable[[str, Any], None]


class CallCancelledError(Exception):
    """The client has cancelled this call. Nothing is sent about it any more."""


# Held to create a call's event, so that all threads that wait on it have the same one.
_creating = threading.Lock()


class ToolCall:
    """One running call. Safe to use from several threads. `is_cancelled`: the client has cancelled it."""

    def __init__(self, on_progress: OnProgress | None = None, on_log: OnLog | None = None) -> None:
        self._on_progress = on_progress
        self._on_log = on_log
        self.is_cancelled = False
        # Created by the first `wait`: most calls never wait.
        self._cancelled: threading.Event | None = None
        self._when_cancelled: dict[object, Callable[[], object]] = {}

    def progress(self, done: float, total: float | None = None, text: str = "") -> None:
        """Report progress; `done` only ever grows. Raises `CallCancelledError` if the call is cancelled."""
        self.raise_if_cancelled()
        if self._on_progress is not None:
            self._on_progress(done, total, text)

    def log(self, level: str, data: Any) -> None:
        """Send a log message; `level` is one of debug, info, notice, warning, error, critical, alert, emergency."""
        if self._on_log is not None:
            self._on_log(level, data)

    def raise_if_cancelled(self) -> None:
        """Raises `CallCancelledError` if the call is cancelled."""
        if self.is_cancelled:
            raise CallCancelledError

    def wait(self, seconds: float) -> None:
        """Pause for `seconds`. Raises `CallCancelledError` as soon as the call is cancelled.

        It blocks the thread; an `async def` awaits `asyncio.sleep` instead, which a cancellation ends as well.
        """
        with _creating:
            cancelled = self._cancelled = self._cancelled or threading.Event()
        # Read only now that `cancel()` finds the event to set.
        if not self.is_cancelled:
            cancelled.wait(seconds)
        self.raise_if_cancelled()

    def on_cancel(self, function: Callable[[], object]) -> Callable[[], None]:
        """For what runs tools: call `function` once when the call is cancelled, or now if it is. It must not block.
        Returns a function that ends this.
        """
        key = object()
        with _creating:
            self._when_cancelled[key] = function
        if self.is_cancelled:
            self._call_back()

        def forget() -> None:
            self._when_cancelled.pop(key, None)

        return forget

    def cancel(self) -> None:
        """For the server: the client has cancelled the call."""
        self.is_cancelled = True
        if self._cancelled is not None:
            self._cancelled.set()
        self._call_back()

    def _call_back(self) -> None:
        with _creating:
            functions, self._when_cancelled = list(self._when_cancelled.values()), {}
        for function in functions:
            function()


_CURRENT: ContextVar[ToolCall | None] = ContextVar("gaia_mcp_tool_call", default=None)


def current_call() -> ToolCall:
    """The call that this code runs for; outside of a call, one that does nothing."""
    return _CURRENT.get() or ToolCall()


def entered_call() -> ToolCall | None:
    """For what runs tools: the call that this code runs for, None outside of a call."""
    return _CURRENT.get()


def enter_call(call: ToolCall | None) -> None:
    """For a provider: the code that runs in this thread from now on runs for `call`."""
    _CURRENT.set(call)
