"""Signals that end us become exceptions, so that everything that was started is stopped on the way out."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType


class Terminated(BaseException):
    """Somebody wants us gone: SIGTERM or SIGHUP. Ctrl-C is Python's own `KeyboardInterrupt`."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def listen_to_signals() -> None:
    """Raise `Terminated` in the main thread when SIGTERM or SIGHUP comes, unless somebody handles them already."""

    def end(number: int, _frame: FrameType | None) -> None:
        # Once is enough: a second one would interrupt the stopping of servers.
        signal.signal(number, signal.SIG_IGN)
        raise Terminated(number)

    try:
        for name in ("SIGTERM", "SIGHUP"):
            if (number := getattr(signal, name, None)) is not None and signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, end)
    except ValueError:
        return  # Not the main thread: whoever embeds us decides about signals.
