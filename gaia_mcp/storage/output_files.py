"""Files that a command is told to write.

Results, such as those of `-o` and `--junit`, are written completely, or not at all. An audit file is appended to, by
several processes at once; no line is ever dropped silently.

They belong to the user: their old content is not preserved, and no lock is needed. Every failure is an `OSError` whose
`filename` is the given path; an existing file is then unchanged.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from gaia_mcp.core.files import irregular
from gaia_mcp.storage import UNLOCKED_SECONDS, remove_left_over
from gaia_mcp.storage.atomic import names_beside, owned_alike, written_beside

# As for any file that a user creates; the system applies the umask.
NEW_MODE = 0o666
# In the names of temporary files: they are created without a lock.
MARK = "gaia-out-"
# It records the users' calls.
NEW_AUDIT_MODE = 0o600


def put_file(path: Path, data: bytes) -> None:
    """Create the file, or replace its content atomically; its links, mode and owner stay. Raises `OSError`.

    A pipe or a device is written to directly, and so is a file in a read-only folder, where a failure may leave a part.
    """
    with _about(path):
        try:
            mode = path.stat().st_mode
        except FileNotFoundError:
            mode = 0
        if (mode and not stat.S_ISREG(mode)) or _is_descriptor(path):
            _overwrite(path, data)
            return
        target = Path(os.path.realpath(path))
        if mode and not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))  # A rename would not respect that.
        try:
            with _written_beside(target, data) as temporary:
                if mode:
                    temporary.chmod(owned_alike(temporary, target, stat.S_IMODE(mode)))
                temporary.replace(target)
        except PermissionError:
            if not mode:
                raise
            _overwrite(path, data)


def put_new_file(path: Path, data: bytes) -> None:
    """Create the file atomically. Raises `FileExistsError` if the name exists, and `OSError`."""
    with _about(path):
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
        with _written_beside(path, data) as temporary:
            try:
                path.hardlink_to(temporary)
            except OSError:
                # A file system without hard links: the name is created first, then its content is replaced. Fails
                # again if the name exists by now.
                os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, NEW_MODE))
                temporary.replace(path)


def append_to_file(path: Path, data: bytes) -> None:
    """Append `data` to a regular file, which is created if it does not exist. Raises `OSError`."""
    with _about(path):
        # A pipe without a reader would block.
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)
        with os.fdopen(os.open(path, flags, NEW_MODE), "wb", buffering=0) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise OSError(errno.EINVAL, "it is not a regular file")
            try:
                _write_all(file.fileno(), data)
            except BaseException:
                os.ftruncate(file.fileno(), status.st_size)
                raise


def _written_beside(target: Path, data: bytes) -> AbstractContextManager[Path]:
    remove_left_over(target.parent, names_beside(target, MARK), UNLOCKED_SECONDS)
    return written_beside(target, data, MARK, NEW_MODE)


def _overwrite(path: Path, data: bytes) -> None:
    with path.open("wb", buffering=0) as file:
        _write_all(file.fileno(), data)


def _write_all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _is_descriptor(path: Path) -> bool:
    """Whether the path names an open file, such as /dev/stdout: a rename to it would not reach that file."""
    folder = os.path.realpath(path.parent)
    return folder in ("/dev", "/dev/fd") or folder.startswith("/proc/")


@contextlib.contextmanager
def _about(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        # The given file, not the temporary one; for a failed write the system names none.
        problem.filename, problem.filename2 = str(path), None
        raise


# A pipe without a reader would block the writer.
_AUDIT_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_AUDIT_FLAGS |= getattr(os, "O_BINARY", 0)


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
                    self._unwritten = _unwritten_rest(self._unwritten, os.write(file, self._unwritten))
            finally:
                os.close(file)

    def _open(self) -> int:
        try:
            file = os.open(self.path, _AUDIT_FLAGS, NEW_AUDIT_MODE)
        except OSError as problem:
            if problem.errno == errno.ENXIO:
                raise irregular(self.path.stat().st_mode, self.path) from problem
            raise
        mode = os.fstat(file).st_mode
        if not stat.S_ISREG(mode):
            os.close(file)
            raise irregular(mode, self.path)
        return file


def _unwritten_rest(lines: bytes, written: int) -> bytes:
    """The rest of `lines` to write. A partially written line is terminated and written again: another process may
    append its own line after the fragment.
    """
    begin = lines.rfind(b"\n", 0, written) + 1
    return lines[written:] if begin == written else b"\n" + lines[begin:]
