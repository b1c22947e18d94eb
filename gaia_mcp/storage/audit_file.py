"""A file of lines that several processes may add to at once. No line is ever left out silently.

A line is one write at the end of the file. The file is opened for each line, so one that was moved away or removed is
begun anew. What could not be written is written before the next line, and until then no other line is.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from typing import TYPE_CHECKING

from gaia_mcp.filebytes import irregular

if TYPE_CHECKING:
    from pathlib import Path

# It tells what people have asked for.
NEW_MODE = 0o600
# A pipe without a reader would keep the writer waiting.
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_FLAGS |= getattr(os, "O_BINARY", 0)


class AuditFile:
    """The file that `path` names now, whatever the working folder becomes. Safe to use from several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        # Held to write. A signal handler that ends the program may enter again in the same thread.
        self._lock = threading.RLock()
        self._unwritten = b""

    def check(self) -> None:
        """Write what could not be written before. Raises `OSError` if no line can be added now."""
        self.add(b"")

    def add(self, line: bytes) -> None:
        """Add a line, which ends in a newline. Raises `OSError` if that cannot be done now."""
        with self._lock:
            self._unwritten += line
            file = self._open()
            try:
                while self._unwritten:
                    self._unwritten = _rest(self._unwritten, os.write(file, self._unwritten))
            finally:
                os.close(file)

    def _open(self) -> int:
        try:
            file = os.open(self.path, _FLAGS, NEW_MODE)
        except OSError as problem:
            if problem.errno == errno.ENXIO:
                raise irregular(self.path.stat().st_mode, self.path) from problem
            raise
        mode = os.fstat(file).st_mode
        if not stat.S_ISREG(mode):
            os.close(file)
            raise irregular(mode, self.path)
        return file


def _rest(lines: bytes, written: int) -> bytes:
    """What is left to be written of `lines`. One that was cut is ended, and written again: another process may add its
    own line behind the piece.
    """
    begin = lines.rfind(b"\n", 0, written) + 1
    return lines[written:] if begin == written else b"\n" + lines[begin:]
