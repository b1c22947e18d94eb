"""Waiting for something to be true, instead of for a while."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_SECONDS = 5.0


def wait_until(true: Callable[[], Any]) -> None:
    """Wait for something to be true, for at most five seconds."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < end, "it never became true"
        threading.Event().wait(0.005)
