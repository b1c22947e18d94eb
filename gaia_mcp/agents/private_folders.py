"""The private folder of each run. If this process is killed, the next run of its kind removes the folders that it left.

What a run has left may be made to resist: folders nested deeper than any path reaches, and folders without permissions.
They are removed nonetheless.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

# With the kind of the run, and the id of the process that owns the folder.
_NAME = "gaia-mcp-{}-{}-"
_ANY_NAME = r"gaia-mcp-([a-z]+)-(\d+)-.*"
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_HAS_DESCRIPTORS = {os.open, os.stat, os.rename, os.unlink, os.rmdir} <= os.supports_dir_fd


@contextlib.contextmanager
def private_folder(kind: str, temporary: Path | None = None) -> Iterator[Path]:
    """A new folder in `temporary`, by default the system's, that only this user can read. It is removed on exit."""
    parent = temporary or Path(tempfile.gettempdir())
    _remove_left_over(parent, kind)
    folder = Path(tempfile.mkdtemp(prefix=_NAME.format(kind, os.getpid()), dir=parent))
    try:
        yield folder
    finally:
        _remove(folder)


def _remove_left_over(parent: Path, kind: str) -> None:
    """Remove the folders of this user's processes that have ended. Failures are ignored; links are not followed."""
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            found = re.fullmatch(_ANY_NAME, entry.name)
            if found is not None and found[1] == kind and _is_ours(entry) and not _runs(int(found[2])):
                _remove(Path(entry.path))


def _remove(folder: Path) -> None:
    """Remove a folder and what is in it. Failures are ignored."""
    if not _HAS_DESCRIPTORS:
        shutil.rmtree(folder, ignore_errors=True)
        return
    with contextlib.suppress(OSError):
        folder.chmod(0o700)
        top = os.open(folder, _FOLDER)
        try:
            # Each round removes the upper folders, and lifts those in them to the top.
            while sum(_is_removed(name, top) for name in _names(top)):
                pass
        finally:
            os.close(top)
        folder.rmdir()


def _is_removed(name: str, top: int) -> bool:
    """Remove an entry of the open folder `top`; False if that fails. Folders in it become entries of `top`."""
    with contextlib.suppress(OSError):
        if not stat.S_ISDIR(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode):
            os.unlink(name, dir_fd=top)
            return True
        # Without permissions it could not be read, or moved.
        os.chmod(name, 0o700, dir_fd=top)
        folder = os.open(name, _FOLDER, dir_fd=top)
        try:
            for each in _names(folder):
                if stat.S_ISDIR(os.stat(each, dir_fd=folder, follow_symlinks=False).st_mode):
                    os.chmod(each, 0o700, dir_fd=folder)
                    os.rename(each, secrets.token_hex(8), src_dir_fd=folder, dst_dir_fd=top)
                else:
                    os.unlink(each, dir_fd=folder)
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=top)
        return True
    return False


def _names(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def _is_ours(entry: os.DirEntry[str]) -> bool:
    if not hasattr(os, "getuid"):
        return True  # Windows: each user has a separate temporary folder.
    with contextlib.suppress(OSError):
        return entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.getuid()
    return False


def _runs(pid: int) -> bool:
    """Whether the process exists. True where the system cannot tell."""
    if os.name == "nt":
        return True  # On Windows, signal 0 would end the process.
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
