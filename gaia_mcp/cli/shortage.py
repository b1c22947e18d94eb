"""When the system has no more of something for us: memory, files to be open at once, threads, processes.

Whatever was being done then fails, in any place and in many ways. Loaded with the program, so that nothing has to be
loaded when there is no memory or no descriptor left for it.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import NamedTuple


class Shortage(NamedTuple):
    """What there is no more of, in two lines."""

    message: str
    hint: str


MEMORY = Shortage("out of memory", "end other programs, or raise the limit: ulimit -v unlimited")
FILES = Shortage("too many open files", "raise the limit: ulimit -n 1024")
THREADS = Shortage("no more threads or processes can be started", "end other programs, or raise the limit: ulimit -u")

_BY_NUMBER = {errno.ENOMEM: MEMORY, errno.EMFILE: FILES, errno.ENFILE: FILES}
# An extension module that cannot be loaded, and a thread that cannot be started, give only a text as their reason.
_BY_TEXT = {
    os.strerror(errno.ENOMEM): MEMORY,
    "failed to map segment": MEMORY,
    "can't allocate lock": MEMORY,
    os.strerror(errno.EMFILE): FILES,
    os.strerror(errno.ENFILE): FILES,
    "can't start new thread": THREADS,
    os.strerror(errno.EAGAIN): THREADS,  # a process that cannot be made
}


def shortage_in(error: BaseException) -> Shortage | None:
    """What there is no more of, if that is what the error, or the one before it, is about."""
    found: Shortage | None = None
    if isinstance(error, MemoryError):
        found = MEMORY
    elif isinstance(error, OSError):
        found = _BY_NUMBER.get(error.errno or 0)
    elif isinstance(error, (ImportError, RuntimeError)):
        found = shortage_told(str(error))
    return found or (shortage_in(error.__context__) if error.__context__ is not None else None)


def shortage_told(text: str) -> Shortage | None:
    """What there is no more of, if a text tells that."""
    return next((shortage for told, shortage in _BY_TEXT.items() if told in text), None)


def last_words(error: BaseException) -> None:
    """Report what no part of the program has reported, in two lines, written without any of it."""
    shortage = shortage_in(error)
    message = shortage.message if shortage is not None else f"{type(error).__name__}: {error}"
    hint = shortage.hint if shortage is not None else "this is a bug in gaia mcp; please report it with --debug"
    if "--debug" in sys.argv:
        import traceback

        traceback.print_exception(error)
    try:
        os.write(2, f"error: {message}\nhint: {hint}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        return  # It has no reader; the exit code is still right.
