"""Python's reports of exceptions in threads that a tool has started itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from gaia_mcp.server.running_call import InputRequired


def report_no_ended_runs() -> None:
    """Suppress the report of a thread that ended with `InputRequired`; report others as before. Idempotent."""
    if not isinstance(threading.excepthook, _Hook):
        threading.excepthook = _Hook(threading.excepthook)


class _Hook:
    def __init__(self, before: Callable[[threading.ExceptHookArgs], Any]) -> None:
        self._before = before

    def __call__(self, ended: threading.ExceptHookArgs) -> None:
        if ended.exc_type is not InputRequired:
            self._before(ended)
