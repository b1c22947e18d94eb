"""The keeper's folder: one process at a time has it, by the lock of a file, and listens at sockets in it.

It may be removed at any time, as at the end of a login session, and then made again by another keeper: its files stay.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from itertools import count
from typing import TYPE_CHECKING

from gaia_mcp.core.errors import ConnectError
from gaia_mcp.core.local_sockets import check_folder
from gaia_mcp.fleet.keeper import LOCK

if TYPE_CHECKING:
    from pathlib import Path

    from gaia_mcp.core.deadline import Deadline

# Two hundred commands may begin at the same time.
BACKLOG = 512
POLL_SECONDS = 0.02
# The end of the names of the sockets of servers.
SUFFIX = ".sock"


class Folder:
    """The folder `path`, which this process has until `close`. Sockets of servers in it, of a keeper that was killed,
    are removed.

    Raises `ConnectError` if it cannot be used, or if another process has it until the deadline.
    """

    def __init__(self, path: Path, deadline: Deadline) -> None:
        self.path = path
        self._lock_file = _locked(path, deadline)
        for stale in path.glob(f"*{SUFFIX}"):
            self.remove(stale.name)

    def is_ours(self) -> bool:
        """Whether it is still there, and was not made again by another process."""
        return _is_there(self.path / LOCK, self._lock_file)

    def listening(self, name: str) -> socket.socket:
        """A socket that listens in it. Raises `ConnectError`."""
        path = self.path / name
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            self.remove(name)
            listener.bind(os.fspath(path))
            path.chmod(0o600)
            listener.listen(BACKLOG)
            listener.setblocking(False)
        except OSError as cause:
            listener.close()
            raise ConnectError(f"the keeper cannot listen at {path}: {cause.strerror or cause}") from cause
        return listener

    def free_name(self, stem: str) -> str:
        """The name of a socket that does not exist yet."""
        names = (f"{stem}{f'+{number}' if number > 1 else ''}{SUFFIX}" for number in count(1))
        return next(each for each in names if not (self.path / each).exists())

    def remove(self, name: str) -> None:
        """Remove a file of this process."""
        if self.is_ours():
            with contextlib.suppress(OSError):
                (self.path / name).unlink()

    def close(self) -> None:
        """Remove it, if it has no more files, and let another process have it. To be called once."""
        self.remove(LOCK)
        with contextlib.suppress(OSError):
            self.path.rmdir()
        os.close(self._lock_file)
        self._lock_file = -1


def _locked(folder: Path, deadline: Deadline) -> int:
    """The descriptor of the locked file. Raises `ConnectError`."""
    while True:
        try:
            # Not with `parents`: those have the rights of the process.
            folder.parent.mkdir(mode=0o700, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            for each in (folder.parent, folder):
                check_folder(each)
            file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as cause:
            # A keeper that ends may just have removed its folder.
            if isinstance(cause, FileNotFoundError) and not deadline.expired:
                deadline.sleep(POLL_SECONDS)
                continue
            raise ConnectError(f"the keeper cannot use its folder {folder}: {cause.strerror}") from cause
        if _has_locked(file, deadline) and _is_there(folder / LOCK, file):
            return file
        # Otherwise the keeper that had it has ended, and removed it.
        os.close(file)
        if deadline.expired:
            raise ConnectError(f"another keeper has {folder}")


def _has_locked(file: int, deadline: Deadline) -> bool:
    """Wait until another process has unlocked the file, and lock it; False if that takes too long."""
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if deadline.expired:
                return False
            deadline.sleep(POLL_SECONDS)
        else:
            return True


def _is_there(path: Path, file: int) -> bool:
    """Whether the open file is still the one at `path`."""
    try:
        return os.path.samestat(path.stat(), os.fstat(file))
    except OSError:
        return False
