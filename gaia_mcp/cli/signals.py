"""What ends a command from outside: the signals that stop it, and shortages of memory, open files, threads and
processes.

Loaded at the start and independent of every other module, so that nothing must be loaded when no memory or descriptor
is left.
"""

from __future__ import annotations

import errno
import math
import os
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from types import FrameType

# Stopping servers takes two or three seconds, on a busy machine more; a second signal would interrupt that, and leave
# some of them running. After this time a signal counts again, in case an agent's code has swallowed the first
# exception.
STOPPING_SECONDS = 10.0
# A signal that was not handled by then is sent again. Too short for a person to notice.
NOTICED_SECONDS = 0.05

# The signals that end a program; not every system has all of them.
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")


class Terminated(BaseException):
    """SIGTERM, SIGHUP or SIGQUIT was received. Ctrl-C raises Python's `KeyboardInterrupt`."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def code_of_signal(error: BaseException) -> int | None:
    """The exit code if `error`, or an exception in its context, was raised at a signal; otherwise None.

    A signal that is received within a lock of Python's own surfaces as the error of releasing that lock.
    """
    if isinstance(error, KeyboardInterrupt):
        return 128 + signal.SIGINT
    if isinstance(error, Terminated):
        return 128 + error.number
    return code_of_signal(error.__context__) if error.__context__ is not None else None


def listen_to_signals() -> None:
    """Raise an exception in the main thread at Ctrl-C, SIGTERM, SIGHUP or SIGQUIT, but only once while servers are
    being stopped. A signal that already has a handler keeps it.
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
        return  # Not the main thread: the embedding program handles signals.
    if ours:
        listener.insist()


class _Listener:
    """Ensures that a signal ends the program, even if it is received at an unfortunate moment.

    Python runs signal handlers between bytecode instructions. A signal received just before the main thread blocks
    would be handled only after that; and an exception raised by the handler within a callback of the interpreter, as in
    every import, is ignored. In both cases the signal is sent again.
    """

    def __init__(self) -> None:
        self._ended = -math.inf
        self._noticed = -math.inf
        self._tell = sys.unraisablehook
        self._reader = self._writer = -1

    def end(self, number: int, _frame: FrameType | None) -> None:
        """The signal handler."""
        self._noticed = now = time.monotonic()
        if now < self._ended + STOPPING_SECONDS:
            return
        self._ended = now
        raise KeyboardInterrupt if number == signal.SIGINT else Terminated(number)

    def insist(self) -> None:
        """Start a thread that sends a signal again if it was not handled."""
        self._reader, self._writer = os.pipe()
        sys.unraisablehook = self._swallowed
        threading.Thread(target=self._watch, name="signals", daemon=True).start()
        if os.name != "nt":  # On Windows nothing interrupts the main thread while it waits.
            os.set_blocking(self._writer, False)
            # Python writes the number there as soon as a signal is received, in any thread.
            if (others := signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)) != -1:
                signal.set_wakeup_fd(others)
            os.register_at_fork(after_in_child=self._let_go)

    def _let_go(self) -> None:
        """Restore the handlers in a process that an agent's code has forked."""
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
            # Every handled signal arrives here, and another handler may have been set in the meantime.
            if self._noticed < came - NOTICED_SECONDS and signal.getsignal(number) == self.end:
                send_to_main(number)


def send_to_main(number: int) -> None:
    """Send a signal to the main thread, which interrupts a blocking call."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)


class Shortage(NamedTuple):
    """The resource that is exhausted, as an error message and a hint."""

    message: str
    hint: str


MEMORY = Shortage("out of memory", "end other programs, or raise the limit: ulimit -v unlimited")
FILES = Shortage("too many open files", "raise the limit: ulimit -n 1024")
THREADS = Shortage("no more threads or processes can be started", "end other programs, or raise the limit: ulimit -u")
_BY_NUMBER = {errno.ENOMEM: MEMORY, errno.EMFILE: FILES, errno.ENFILE: FILES}
# Failures to load an extension module and to start a thread have only a text as their reason.
_BY_TEXT = {
    os.strerror(errno.ENOMEM): MEMORY,
    "failed to map segment": MEMORY,
    "can't allocate lock": MEMORY,
    os.strerror(errno.EMFILE): FILES,
    os.strerror(errno.ENFILE): FILES,
    "can't start new thread": THREADS,
    os.strerror(errno.EAGAIN): THREADS,  # a process that cannot be started
}


def shortage_in(error: BaseException) -> Shortage | None:
    """The shortage that `error`, or an exception in its context, reports, or None."""
    found: Shortage | None = None
    if isinstance(error, MemoryError):
        found = MEMORY
    elif isinstance(error, OSError):
        found = _BY_NUMBER.get(error.errno or 0)
    elif isinstance(error, (ImportError, RuntimeError)):
        found = shortage_told(str(error))
    return found or (shortage_in(error.__context__) if error.__context__ is not None else None)


def shortage_told(text: str) -> Shortage | None:
    """The shortage that a text reports, or None."""
    return next((shortage for told, shortage in _BY_TEXT.items() if told in text), None)


def last_words(error: BaseException) -> None:
    """Report in two lines an exception that no other module could report. Uses none of them."""
    shortage = shortage_in(error)
    message = shortage.message if shortage is not None else f"{type(error).__name__}: {error}"
    hint = shortage.hint if shortage is not None else "this is a bug in gaia mcp; please report it with --debug"
    if "--debug" in sys.argv:
        import traceback

        traceback.print_exception(error)
    try:
        os.write(2, f"error: {message}\nhint: {hint}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        return  # stderr has no reader; the exit code is not affected.
