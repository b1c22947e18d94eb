"""Atomic files: each is read completely, and either replaced completely or left unchanged.

Writing is lock, temporary file in the same folder, fsync, rename. Does not interpret the content of a file.

Annotations are evaluated, for the same reason as in `cli/grammar`.
"""

import contextlib
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from gaia_mcp.core.errors import ConfigFileError
from gaia_mcp.core.files import read_file, read_typed

# The lock is normally held for milliseconds; a program that holds it longer has hung.
LOCK_SECONDS = 10.0
LOCK_POLL_SECONDS = 0.01
# Far more than any configuration file, although some hosts keep a history in theirs.
MAX_BYTES = 64 << 20
# Temporary files with Python's default names may belong to other programs. Writing one never takes this long.
UNMARKED_SECONDS = 3600.0
# In the names of temporary files that are created under the lock, so that no other program is writing one.
LOCKED_MARK = "gaia-"
# The characters of a file's name in that of its temporary file: names have 255 bytes at most, characters up to four.
LEADING_CHARS = 50


class Snapshot(NamedTuple):
    """A file before it is written: its path behind any symlinks, its content, its mode, and whether it exists."""

    target: Path
    data: bytes
    mode: int
    exists: bool


def read_bytes(path: Path, most: int = MAX_BYTES, *, may_be_pipe: bool = False) -> bytes | None:
    """The content of a file, None if it does not exist. Raises `ConfigFileError`, also for more than `most` bytes, and
    for a file that is not regular, unless `may_be_pipe`: for a file that the user named for this one use.
    """
    try:
        return (read_typed if may_be_pipe else read_file)(path, most)
    except FileNotFoundError:
        return None
    except OSError as cause:
        raise ConfigFileError(path, f"cannot be read: {cause.strerror}", case="unreadable-file") from cause


def snapshot_of(path: Path) -> Snapshot:
    """A snapshot of the file to replace, behind any symlinks; empty and private if it does not exist.

    Raises `ConfigFileError` for a file that cannot be read, or is read-only, which a rename would not respect.
    """
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise ConfigFileError(path, "is a symbolic link to itself", hint="remove the link")
    data = read_bytes(path)
    if data is None:
        return Snapshot(target, b"", 0o600, exists=False)
    mode = stat.S_IMODE(target.stat().st_mode)
    if not mode & 0o222:
        raise ConfigFileError(path, "is read-only", case="read-only-file")
    return Snapshot(target, data, mode, exists=True)


@contextlib.contextmanager
def locked(path: Path, seconds: float = LOCK_SECONDS, *, system: str = os.name) -> Iterator[None]:
    """Hold the lock for writing `path`: a lock on its folder, which leaves no file behind. For a symlink it is the
    folder of its target.

    Creates the folder if it does not exist. Raises `ConfigFileError` if the lock is not free within `seconds`.
    """
    folder = Path(os.path.realpath(path)).parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as cause:
        raise ConfigFileError(path, f"its folder cannot be made: {cause.strerror}") from cause
    if system == "nt":
        with _locked_on_windows(path, seconds):
            yield
        return
    import fcntl

    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as cause:
        raise ConfigFileError(path, f"its folder cannot be opened: {cause.strerror}") from cause
    try:
        _acquire(lambda: fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB), BlockingIOError, path, seconds)
        yield
    finally:
        os.close(handle)


def write_bytes(path: Path, before: Snapshot, data: bytes, mode: int, *, system: str = os.name) -> None:
    """Atomically replace the file of the snapshot `before` with `data`, with `mode` and its old owner. The caller holds
    the lock, so existing temporary files belong to killed writers, and are removed.

    Raises `ConfigFileError` about `path`, also if the content has changed since it was read: other programs ignore our
    lock.
    """
    target = before.target
    _remove_left_over(target)
    try:
        with written_beside(target, data, LOCKED_MARK) as temporary:
            temporary.chmod(owned_alike(temporary, target, mode))
            if (read_file(target, MAX_BYTES) if target.exists() else b"") != before.data:
                hint = "nothing was written; do it again"
                raise ConfigFileError(path, "has been changed by another program meanwhile", hint=hint)
            temporary.replace(target)
        if system != "nt":  # Windows cannot sync a folder; its rename is durable by itself.
            _sync_folder(target.parent)
    except OSError as cause:
        raise ConfigFileError(
            path, f"cannot be written: {cause.strerror}", hint="check its permissions and the disk"
        ) from cause


@contextlib.contextmanager
def written_beside(target: Path, data: bytes, mark: str, mode: int = 0o600) -> Iterator[Path]:
    """A temporary file beside `target` with `data`, synced to disk; its name contains `mark`. Unless it is renamed in
    the `with` block, it is removed at the end. Raises `OSError`.
    """
    temporary = target.parent / f"{_leading(target)}{mark}{os.urandom(4).hex()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        yield temporary
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def names_beside(target: Path, mark: str) -> str:
    """A regular expression for the names of the temporary files that `written_beside` creates."""
    import re

    return rf"{re.escape(_leading(target))}{mark}[a-z0-9_]{{8}}\.tmp"


def _leading(target: Path) -> str:
    return f".{target.name[:LEADING_CHARS]}."


def _remove_left_over(target: Path) -> None:
    import re

    from gaia_mcp.storage import remove_left_over

    remove_left_over(target.parent, names_beside(target, LOCKED_MARK), 0.0)
    remove_left_over(target.parent, rf"\.{re.escape(target.name)}\.[a-z0-9_]{{8}}\.tmp", UNMARKED_SECONDS)


def owned_alike(temporary: Path, target: Path, mode: int) -> int:
    """Give a new file the owner and the group of the old one. Returns the mode to set."""
    if not target.exists():
        return mode
    new, there = temporary.stat(), target.stat()
    if new.st_uid != there.st_uid:
        os.chown(temporary, there.st_uid, -1)
    if new.st_gid != there.st_gid:
        try:
            os.chown(temporary, -1, there.st_gid)
        except PermissionError:
            return mode & ~0o070  # The group permissions were for another group than ours.
    return mode


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _acquire(attempt: Callable[[], None], busy: type[OSError], path: Path, seconds: float) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            return attempt()
        except busy:
            if time.monotonic() > end:
                hint = "another program is writing it; try again when that has ended"
                raise ConfigFileError(path, f"was locked for {seconds:g} s", hint=hint) from None
            time.sleep(LOCK_POLL_SECONDS)
        except OSError as cause:
            raise ConfigFileError(path, f"its folder cannot be locked: {cause.strerror}") from cause


@contextlib.contextmanager
def _locked_on_windows(path: Path, seconds: float) -> Iterator[None]:
    """On Windows folders cannot be locked; instead a file beside `path` is, which stays there."""
    import importlib

    msvcrt: Any = importlib.import_module("msvcrt")
    with path.with_name(path.name + ".lock").open("a+b") as file:
        file.seek(0)
        _acquire(lambda: msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1), OSError, path, seconds)
        try:
            yield
        finally:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
