"""Waiting for something to be true, instead of for a while; and clocks for deadlines that are to run out.

On a busy machine a short deadline runs out before what it is a test of has happened. One that runs out by such a clock
does so when that has happened, however long it takes.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from gaia_mcp.core.deadline import Deadline

if TYPE_CHECKING:
    from collections.abc import Callable

# Not for what is expected, but for a machine on which much else runs.
PATIENCE_SECONDS = 20.0
# What is to be done by then may share its processor with other test runs.
ENOUGH_SECONDS = 20.0
# Between two looks at what is waited for.
MAX_PAUSE_SECONDS = 0.05


class Clock:
    """A clock that stands still until it is moved: however slow the machine is, nothing takes time on it."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def run_for(self, seconds: float) -> None:
        """Let it run, and return once it has."""
        began, shown = time.monotonic(), self.now

        def is_over() -> bool:
            self.now = shown + time.monotonic() - began
            return self.now >= shown + seconds

        wait_until(is_over)


def deadline_until(true: Callable[[], Any], *, passes: float = ENOUGH_SECONDS) -> Deadline:
    """A deadline of 20 seconds. `passes` of them, by default all, pass at once when something becomes true."""
    return Deadline(ENOUGH_SECONDS, clock=lambda: time.monotonic() + (passes if true() else 0.0))


def wait_until(true: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> None:
    """Wait for something to be true, for at most twenty seconds, or for `seconds` where it takes some by itself."""
    began, pause = time.monotonic(), 0.002
    while not true():
        assert time.monotonic() < began + seconds, "it never became true"
        threading.Event().wait(pause)
        # Looking takes the processor from what is waited for.
        pause = min(1.3 * pause, MAX_PAUSE_SECONDS)
