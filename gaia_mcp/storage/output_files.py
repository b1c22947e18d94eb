"""Output files of commands, such as those of `-o` and `--junit`: written completely, or not at all.

They belong to the user: their old content is not preserved, and no lock is needed. Every failure is an `OSError` whose
`filename` is the given path; an existing file is then unchanged.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from gaia_mcp.storage.atomic import names_beside, owned_alike, written_beside
from gaia_mcp.storage.left_over import UNLOCKED_SECONDS, remove_left_over

# As for any file that a user creates; the system applies the umask.
NEW_MODE = 0o666
# In the names of temporary files: they are created without a lock.
MARK = "gaia-out-"


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
            except FileExistsError:
                raise
            except OSError:
                # A file system without hard links: the name is created first, then its content is replaced.
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
