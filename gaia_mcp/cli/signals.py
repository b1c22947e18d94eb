"""Signals that end us become exceptions, so that everything that was started is stopped on the way out."""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

# Stopping servers takes two or three seconds, on a busy machine more; another signal would interrupt it, and leave some
# of them running. After this time it counts again, in case somebody's code has swallowed the first.
STOPPING_SECONDS = 10.0
# Long enough for the interpreter to be out of what has swallowed an exception, too short to be noticed.
AGAIN_SECONDS = 0.01


class Terminated(BaseException):
    """Somebody wants us gone: SIGTERM or SIGHUP. For Ctrl-C it is Python's own `KeyboardInterrupt`."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def listen_to_signals() -> None:
    """Raise in the main thread when Ctrl-C, SIGTERM or SIGHUP comes, once for all that come while servers are being
    stopped. A signal that somebody handles already is left to them.
    """
    last = -math.inf
    is_ours = False
    tell = sys.unraisablehook

    def end(number: int, _frame: FrameType | None) -> None:
        nonlocal last
        if time.monotonic() < last + STOPPING_SECONDS:
            return
        last = time.monotonic()
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)

    def swallowed(unraisable: sys.UnraisableHookArgs) -> None:
        nonlocal last
        problem = unraisable.exc_value
        if not isinstance(problem, (KeyboardInterrupt, Terminated)):
            tell(unraisable)
            return
        # Raised while the interpreter ran a callback of its own, as it does for every import. Once more, outside of it.
        last = -math.inf
        again = threading.Timer(AGAIN_SECONDS, _send_to_main, (getattr(problem, "number", signal.SIGINT),))
        again.daemon = True
        again.start()

    try:
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, end)
                is_ours = True
    except ValueError:
        return  # Not the main thread: whoever embeds us decides about signals.
    if is_ours:
        sys.unraisablehook = swallowed


def _send_to_main(number: int) -> None:
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)
