"""Shortages of system resources: memory, open files, threads, processes.

With a shortage, operations fail anywhere and in many ways. This module is loaded at the start, so that nothing must be
loaded when no memory or descriptor is left.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import NamedTuple


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
