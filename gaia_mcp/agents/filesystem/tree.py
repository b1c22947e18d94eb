"""The files below one folder, by paths that come from elsewhere: none of them leads out of it.

Each folder on the way is opened in the one before it, and no link is followed. So a link that takes the place of a
folder while a path is walked gains nothing. Where the system cannot open a file in an open folder (Windows), each step
is looked at before the file is opened, which such a link could outrun.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from gaia_mcp.filebytes import irregular, open_file, read_rest

if TYPE_CHECKING:
    from pathlib import Path

# With JSON's escapes about as much as one message may have.
MAX_FILE_BYTES = 16 << 20
MAX_ENTRIES = 10_000

_HAS_DESCRIPTORS = {os.open, os.stat, os.rename, os.unlink} <= os.supports_dir_fd and os.scandir in os.supports_fd
_OWN = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | _OWN | _NO_LINK | getattr(os, "O_DIRECTORY", 0)
# A file that is there: opening a pipe waits for its other end.
_TO_WRITE = os.O_WRONLY | _OWN | _NO_LINK | getattr(os, "O_NONBLOCK", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OWN
_WORDS = {
    errno.ENOENT: "it does not exist",
    errno.EACCES: "it may not be accessed",
    errno.EPERM: "it may not be accessed",
    errno.ELOOP: "it is a link, and links are not followed",
    errno.ENAMETOOLONG: "the name is too long",
}


class PathError(Exception):
    """What is wrong with a path: completes "'PATH': …"."""


class Entry(NamedTuple):
    """What a folder has: `kind` is "folder", "file", "link" or "other"."""

    name: str
    kind: str


class _Folder(NamedTuple):
    """An open folder. Where the system opens none there is no `descriptor`, and names are joined to its path."""

    path: Path
    descriptor: int | None

    def named(self, name: str) -> str:
        return name if self.descriptor is not None else str(self.path / name)

    def status(self, name: str) -> os.stat_result:
        """What is there: of a link, not of what it leads to."""
        return os.stat(self.named(name), dir_fd=self.descriptor, follow_symlinks=False)


class Tree:
    """The files below `root`, an absolute path without links. May be used by several threads."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def read(self, path: str) -> bytes:
        """The content of a regular file. Raises `PathError`."""
        with self._file(path) as (folder, name), open_file(folder.named(name), folder.descriptor) as file:
            return read_rest(file, MAX_FILE_BYTES)

    def write(self, path: str, data: bytes) -> None:
        """Make this the content of a file, at once: what reads it meanwhile gets all of it, or what was there before.
        Raises `PathError`; what was there before then stays.
        """
        with self._file(path) as (folder, name):
            mode = _mode_to_keep(folder, name)
            # Only a name of this length is certain to fit beside the file's own.
            new = folder.named(f".{secrets.token_hex(8)}.tmp")
            descriptor = os.open(new, _NEW, 0o666, dir_fd=folder.descriptor)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    if mode is not None and hasattr(os, "fchmod"):
                        os.fchmod(descriptor, mode)
                    file.write(data)
                old, at = folder.named(name), folder.descriptor
                os.replace(new, old, src_dir_fd=at, dst_dir_fd=at)
            except BaseException:
                with suppress(OSError):
                    os.unlink(new, dir_fd=folder.descriptor)
                raise

    def entries(self, path: str) -> tuple[list[Entry], bool]:
        """What a folder has, by name, and whether that is all: more than `MAX_ENTRIES` are left out. Raises
        `PathError`.
        """
        with self._folder(_parts(path)) as folder:
            place = folder.path if folder.descriptor is None else folder.descriptor
            with os.scandir(place) as found:
                entries = [Entry(one.name, _kind(one)) for one in islice(found, MAX_ENTRIES + 1)]
        return sorted(entries[:MAX_ENTRIES]), len(entries) <= MAX_ENTRIES

    @contextmanager
    def _file(self, path: str) -> Iterator[tuple[_Folder, str]]:
        """The folder that a path leads to, and the name in it."""
        *folders, name = _parts(path) or [""]
        if not name:
            raise PathError("it is the root folder, and no file")
        with self._folder(folders) as folder:
            with suppress(FileNotFoundError):
                if _is_link(folder.status(name)):
                    raise PathError(_WORDS[errno.ELOOP])
            yield folder, name

    @contextmanager
    def _folder(self, names: list[str]) -> Iterator[_Folder]:
        try:
            descriptor = os.open(self._root, _FOLDER) if _HAS_DESCRIPTORS else None
        except OSError as problem:
            raise PathError(f"the root folder cannot be opened: {problem.strerror}") from problem
        folder = _Folder(self._root, descriptor)
        try:
            for name in names:
                folder = _below(folder, name)
            yield folder
        except OSError as problem:
            raise PathError(_WORDS.get(problem.errno or 0) or problem.strerror or str(problem)) from problem
        finally:
            if folder.descriptor is not None:
                os.close(folder.descriptor)


def _parts(path: str) -> list[str]:
    """The names on the way. Raises `PathError` for a path that could lead elsewhere."""
    if "\0" in path:
        raise PathError("no file can have a zero byte in its name")
    if os.path.isabs(path) or os.path.splitdrive(path)[0]:  # noqa: PTH117 (as the system reads the text)
        raise PathError("it is absolute, and paths begin at the root folder")
    names = [name for name in path.replace(os.sep, "/").split("/") if name not in ("", ".")]
    if ".." in names:
        raise PathError("with '..' it could lead out of the root folder")
    if os.name == "nt" and any(":" in name for name in names):
        raise PathError("with ':' it could name a device or a stream")
    return names


def _below(folder: _Folder, name: str) -> _Folder:
    """The folder of this name in another one, which is closed."""
    try:
        status = folder.status(name)
        if _is_link(status):
            raise PathError(f"{name!r} is a link, and links are not followed")
        if not stat.S_ISDIR(status.st_mode):
            raise PathError(f"{name!r} is no folder")
        if folder.descriptor is None:
            return _Folder(folder.path / name, None)
        # A link that has taken its place since cannot be opened like this.
        descriptor = os.open(name, _FOLDER, dir_fd=folder.descriptor)
    except FileNotFoundError as problem:
        raise PathError(f"there is no folder {name!r}") from problem
    os.close(folder.descriptor)
    return _Folder(folder.path / name, descriptor)


def _is_link(status: os.stat_result) -> bool:
    # On Windows a folder may be mounted in another one, which leads out as a link does.
    return stat.S_ISLNK(status.st_mode) or bool(getattr(status, "st_reparse_tag", 0))


def _mode_to_keep(folder: _Folder, name: str) -> int | None:
    """The permissions of a regular file that may be written; None if there is no such file."""
    try:
        mode = folder.status(name).st_mode
        if not stat.S_ISREG(mode):
            raise irregular(mode, name)
        # Nothing is written to it; but what may not be written to may not be replaced either.
        os.close(os.open(folder.named(name), _TO_WRITE, dir_fd=folder.descriptor))
    except FileNotFoundError:
        return None
    return stat.S_IMODE(mode)


def _kind(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_symlink():
            return "link"
        if entry.is_dir(follow_symlinks=False):
            return "folder"
        return "file" if entry.is_file(follow_symlinks=False) else "other"
    except OSError:  # It has just gone.
        return "other"
