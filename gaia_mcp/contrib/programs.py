"""Building blocks to run a program once: its private folder, its input and output, its end and that of its children.

What an earlier run of a killed process has left is removed, also where it was made to resist.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gaia_mcp.client.transports.stdio.child_pipes import Drain
from gaia_mcp.client.transports.stdio.processes import signal_group
from gaia_mcp.core.deadline import IMPATIENT_GRACE_SECONDS, Deadline

if TYPE_CHECKING:
    from io import FileIO

    from gaia_mcp.client.transports.stdio.child import Child

# The default limit of Linux for unprivileged users.
PIPE_BYTES = 1 << 20
# With the kind of the run, and the id of the process that owns the folder.
_NAME = "gaia-mcp-{}-{}-"
_ANY_NAME = r"gaia-mcp-([a-z]+)-(\d+)-.*"
_HAS_DESCRIPTORS = {os.open, os.stat, os.rename, os.unlink, os.rmdir} <= os.supports_dir_fd


class Collected:
    """The first `most` bytes that a program writes to one stream."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def is_flood(self) -> bool:
        """Whether the program wrote more."""
        return self._size > self._most

    def data(self) -> bytes:
        """The bytes collected."""
        return b"".join(self._parts)

    def text(self) -> str:
        """The bytes collected, decoded as UTF-8; invalid bytes are replaced."""
        return self.data().decode("utf-8", "replace")

    def take(self, data: bytes) -> None:
        """Collect bytes, up to the limit."""
        if room := max(0, self._most - self._size):
            self._parts.append(data[:room])
        self._size += len(data)


def drain_stdout(child: Child, name: str, take: Callable[[bytes], None]) -> Drain:
    """Call `take`, in a thread, with the data that a started program writes to its stdout."""
    drain = Drain(name, take)
    # A duplicate, which the drain closes itself: a process that the program left running may hold the pipe open.
    pipe = os.fdopen(os.dup(child.stdout), "rb", buffering=0)
    child.close_stdout()
    _widen(pipe)
    drain.start(pipe)
    return drain


def _widen(pipe: FileIO) -> None:
    """Increase a pipe's capacity: Gemini CLI exits without waiting until its output is read."""
    try:
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except (ImportError, AttributeError, OSError):
        return  # The system does not support it, or does not allow it to this user.


def feed(child: Child, name: str, data: bytes, deadline: Deadline) -> None:
    """Write the complete input of a program and close its stdin, in a thread."""

    def write() -> None:
        # A program that does not read its input may still succeed; one that got half of it reports an error itself.
        with contextlib.suppress(OSError):
            child.write(data, deadline)
        child.close_stdin()

    threading.Thread(target=write, name=f"{name} stdin", daemon=True).start()


def end_program(child: Child) -> None:
    """End a program, if it is running, and the processes that it left running."""
    if child.pid is not None and child.wait(0) is None:
        # Signalled at once: closing stdin would not end it. An interrupted client gives its server little more time.
        signal_group(child.pid, force=False)
        child.wait(IMPATIENT_GRACE_SECONDS)
        child.stop(0.0)
    child.stop(IMPATIENT_GRACE_SECONDS)


_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


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
