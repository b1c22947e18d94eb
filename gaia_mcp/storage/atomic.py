"""Files that are read whole, and replaced as a whole or left as they are, whatever happens meanwhile.

Writing is lock, temporary file in the same folder, fsync, rename. Knows nothing of what stands in a file.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.errors import ConfigFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

# Another program holds the lock for milliseconds; one that holds it longer has hung.
LOCK_SECONDS = 10.0
LOCK_POLL_SECONDS = 0.01
# Nobody's file has come near this, though some hosts keep a history in it; a device never ends.
MAX_BYTES = 64 << 20


class Standing(NamedTuple):
    """What is there before a file is written: where it really lies, what it holds, its mode, and whether it is there
    at all.
    """

    target: Path
    data: bytes
    mode: int
    exists: bool


def read_bytes(path: Path, most: int = MAX_BYTES) -> bytes | None:
    """What a file holds, None if there is no such file. Raises `ConfigFileError`, also for more than `most` bytes."""
    try:
        with path.open("rb") as file:
            data = file.read(most + 1)
    except FileNotFoundError:
        return None
    except OSError as cause:
        hint = "check what it is and its rights"
        raise ConfigFileError(path, f"cannot be read: {cause.strerror}", hint=hint) from cause
    if len(data) > most:
        raise ConfigFileError(path, f"is larger than {most >> 20} MB", hint="name another file")
    return data


def standing_file(path: Path) -> Standing:
    """The file that would be replaced, behind any symlinks; empty and private if there is none.

    Raises `ConfigFileError` for one that cannot be read, or that its owner has made read-only: a rename would get past
    that.
    """
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise ConfigFileError(path, "is a link that leads back to itself", hint="remove the link")
    data = read_bytes(path)
    if data is None:
        return Standing(target, b"", 0o600, exists=False)
    mode = stat.S_IMODE(target.stat().st_mode)
    if not mode & 0o222:
        raise ConfigFileError(path, "is read-only", case="read-only-file")
    return Standing(target, data, mode, exists=True)


@contextlib.contextmanager
def locked(path: Path, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """Keep every other writer of `path` out, by a lock on its folder, which leaves no file behind. Behind a symlink
    that is the folder of what it points at.

    Makes the folder if it is not there. Raises `ConfigFileError` when the lock cannot be had within `seconds`.
    """
    folder = Path(os.path.realpath(path)).parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as cause:
        raise ConfigFileError(path, f"its folder cannot be made: {cause.strerror}") from cause
    if os.name == "nt":
        with _locked_on_windows(path, seconds):
            yield
        return
    import fcntl

    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as cause:
        raise ConfigFileError(path, f"its folder cannot be opened: {cause.strerror}") from cause
    try:
        end = time.monotonic() + seconds
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    hint = "another program is writing it; try again when that has ended"
                    raise ConfigFileError(path, f"was locked for {seconds:g} s", hint=hint) from None
                time.sleep(LOCK_POLL_SECONDS)
            except OSError as cause:
                raise ConfigFileError(path, f"its folder cannot be locked: {cause.strerror}") from cause
        yield
    finally:
        os.close(handle)


def write_bytes(path: Path, standing: Standing, data: bytes, mode: int) -> None:
    """Put `data` in place of what is `standing` there, in one step, with `mode` and the owner that is there. Only if it
    still is what is there: other programs know nothing of our lock.

    Raises `ConfigFileError` about `path`.
    """
    import tempfile

    target, temporary = standing.target, ""
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _owned_alike(temporary, target, mode))  # noqa: PTH101
        if (target.read_bytes() if target.exists() else b"") != standing.data:
            hint = "nothing was written; do it again"
            raise ConfigFileError(path, "has been changed by another program meanwhile", hint=hint)
        os.replace(temporary, target)  # noqa: PTH105
        temporary = ""
        _sync_folder(target.parent)
    except OSError as cause:
        raise ConfigFileError(
            path, f"cannot be written: {cause.strerror}", hint="check its rights and the disk"
        ) from cause
    finally:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)  # noqa: PTH108


def _owned_alike(temporary: str, target: Path, mode: int) -> int:
    """Give a new file the owner and the group of the old one; the mode that it may then have."""
    if not target.exists():
        return mode
    new, there = Path(temporary).stat(), target.stat()
    if new.st_uid != there.st_uid:
        os.chown(temporary, there.st_uid, -1)
    if new.st_gid != there.st_gid:
        try:
            os.chown(temporary, -1, there.st_gid)
        except PermissionError:
            return mode & ~0o070  # What its group was allowed is not for ours.
    return mode


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":
        return  # Windows cannot; its rename is durable by itself.
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextlib.contextmanager
def _locked_on_windows(path: Path, seconds: float) -> Iterator[None]:
    """Folders cannot be locked there: a file beside, which stays."""
    import importlib

    msvcrt: Any = importlib.import_module("msvcrt")
    with path.with_name(path.name + ".lock").open("a+b") as file:
        file.seek(0)
        end = time.monotonic() + seconds
        while True:
            try:
                msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
                break
            except OSError:
                if time.monotonic() > end:
                    raise ConfigFileError(path, f"was locked for {seconds:g} s") from None
                time.sleep(LOCK_POLL_SECONDS)
        try:
            yield
        finally:
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
