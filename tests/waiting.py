"""Waiting for something to be true, instead of for a while; and a clock for deadlines."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_SECONDS = 5.0


class Clock:
    """A clock that stands still but while it is let run: however slow the machine is, nothing else takes time."""

    def __init__(self) -> None:
        self._shown = 0.0
        self._runs_since: float | None = None

    def __call__(self) -> float:
        return self._shown + (0.0 if self._runs_since is None else time.monotonic() - self._runs_since)

    def run_for(self, seconds: float) -> None:
        """Let it run, and return once it has."""
        end = self._shown + seconds
        self._runs_since = time.monotonic()
        wait_until(lambda: self() >= end)
        self._shown, self._runs_since = self(), None


def wait_until(true: Callable[[], Any]) -> None:
    """Wait for something to be true, for at most five seconds."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < end, "it never became true"
        threading.Event().wait(0.005)
