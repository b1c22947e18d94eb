"""Signals that end us become exceptions, so that everything that was started is stopped on the way out."""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

# Stopping servers takes two or three seconds, on a busy machine more; another signal would interrupt it, and leave some
# of them running. After this time it counts again, in case an agent's code has swallowed the first.
STOPPING_SECONDS = 10.0
# A signal that is not handled by then has come at a bad moment. Too short for a person to notice.
NOTICED_SECONDS = 0.05

# The signals that end a program; not every system has all of them.
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")


class Terminated(BaseException):
    """The program was asked to end by SIGTERM, SIGHUP or SIGQUIT. Ctrl-C raises Python's `KeyboardInterrupt`."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def listen_to_signals() -> None:
    """Raise in the main thread when Ctrl-C, SIGTERM, SIGHUP or SIGQUIT comes, once for all that come while servers are
    being stopped. A signal that has a handler already keeps it.
    """
    listener = _Listener()
    ours = []
    try:
        for name in _ENDING:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, listener.end)
                ours.append(number)
    except ValueError:
        return  # Not the main thread: the embedding program decides about signals.
    if ours:
        listener.insist()


class _Listener:
    """Makes sure that a signal ends the program, even one that comes at a bad moment.

    Python runs the handler of a signal between two of its own steps. One that comes just as the main thread goes to
    wait for something would be noticed only after that; and what the handler raises in a callback of the interpreter's,
    as every import has some, goes nowhere. Both are sent again.
    """

    def __init__(self) -> None:
        self._ended = -math.inf
        self._noticed = -math.inf
        self._tell = sys.unraisablehook
        self._reader = self._writer = -1

    def end(self, number: int, _frame: FrameType | None) -> None:
        """The handler."""
        self._noticed = now = time.monotonic()
        if now < self._ended + STOPPING_SECONDS:
            return
        self._ended = now
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)

    def insist(self) -> None:
        """Start a thread that sends a signal again if it goes unnoticed."""
        self._reader, self._writer = os.pipe()
        sys.unraisablehook = self._swallowed
        threading.Thread(target=self._watch, name="signals", daemon=True).start()
        if os.name != "nt":  # There, nothing interrupts the main thread while it waits.
            os.set_blocking(self._writer, False)
            # Written to the moment that a signal comes, in whichever thread.
            if (others := signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)) != -1:
                signal.set_wakeup_fd(others)
            os.register_at_fork(after_in_child=self._let_go)

    def _let_go(self) -> None:
        """Restore the handlers in a process that an agent's code has forked: its signals are its own."""
        if (others := signal.set_wakeup_fd(-1)) not in (-1, self._writer):
            signal.set_wakeup_fd(others)
        if sys.unraisablehook == self._swallowed:
            sys.unraisablehook = self._tell
        for name in _ENDING:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) == self.end:
                signal.signal(number, signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)

    def _swallowed(self, unraisable: sys.UnraisableHookArgs) -> None:
        problem = unraisable.exc_value
        if not isinstance(problem, (KeyboardInterrupt, Terminated)):
            self._tell(unraisable)
            return
        self._ended = self._noticed = -math.inf
        os.write(self._writer, bytes([getattr(problem, "number", signal.SIGINT)]))

    def _watch(self) -> None:
        while True:
            (number,) = os.read(self._reader, 1)
            came = time.monotonic()
            time.sleep(NOTICED_SECONDS)
            # Another handler may be set by now, and every handled signal arrives here.
            if self._noticed < came - NOTICED_SECONDS and signal.getsignal(number) == self.end:
                send_to_main(number)


def send_to_main(number: int) -> None:
    """Send a signal to the main thread, which wakes it up."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)
