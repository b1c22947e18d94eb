"""A file that several processes may append lines to at once. No line is ever dropped silently.

A line is one write at the end of the file. The file is opened for each line, so it is created again after it was moved
or removed. If a write fails, the rest is written before the next line, and no other line until then.
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

# It records the users' calls.
NEW_MODE = 0o600
# A pipe without a reader would block the writer.
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_FLAGS |= getattr(os, "O_BINARY", 0)


class AuditFile:
    """The file at `path`, resolved now, even if the working folder changes. May be used from several threads."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        # Held to write. Reentrant: a signal handler that ends the program may write in the same thread.
        self._lock = threading.RLock()
        self._unwritten = b""

    def check(self) -> None:
        """Write the rest of earlier lines. Raises `OSError` if no line can be appended now."""
        self.add(b"")

    def add(self, line: bytes) -> None:
        """Append a line, which ends in a newline. Raises `OSError` if that is impossible now."""
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
    """The rest of `lines` to write. A partially written line is terminated and written again: another process may
    append its own line after the fragment.
    """
    begin = lines.rfind(b"\n", 0, written) + 1
    return lines[written:] if begin == written else b"\n" + lines[begin:]
