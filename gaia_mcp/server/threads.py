"""Threads that a tool has started itself, as Python reports their ends."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from gaia_mcp.server.served_call import InputRequired


def report_no_ended_runs() -> None:
    """From now on, report no failure of a thread whose question has ended its run; others as before. May be called
    again.
    """
    if not isinstance(threading.excepthook, _Hook):
        threading.excepthook = _Hook(threading.excepthook)


class _Hook:
    def __init__(self, before: Callable[[threading.ExceptHookArgs], Any]) -> None:
        self._before = before

    def __call__(self, ended: threading.ExceptHookArgs) -> None:
        if ended.exc_type is not InputRequired:
            self._before(ended)
