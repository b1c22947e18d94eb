"""Unix stream sockets between processes of one user: facts of the system that both ends check.

A socket lies in a folder that only its user can enter, and the other end of a connection is a process of that user.
Knows nothing of what is sent.
"""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING

from gaia_mcp.core.errors import ConnectError
from gaia_mcp.core.internals import bare_socket

if TYPE_CHECKING:
    import socket
    from pathlib import Path

    from gaia_mcp.core.deadline import Deadline

# Between two attempts, while the queue of the listening process is full. It is emptied within a moment.
RETRY_SECONDS = 0.01
# The option of macOS, of level 0, for the credentials of the other end. Not every Python there has a name for it.
LOCAL_PEERCRED = 1


def connect(path: str | Path, deadline: Deadline) -> socket.socket:
    """A socket that is connected to the one that listens at `path`, whose process is one of this user.

    Of the methods of `socket.socket` it has those that are calls of the system. Raises `OSError` as the system does,
    `BlockingIOError` if the queue of that process is full until the deadline, and as `check_peer` does.
    """
    bare = bare_socket()
    connected: socket.socket = bare.socket(bare.AF_UNIX, bare.SOCK_STREAM)
    try:
        # A full queue would block without regard to the deadline.
        connected.setblocking(False)
        while True:
            try:
                connected.connect(os.fspath(path))
                break
            except BlockingIOError:
                if deadline.expired:
                    raise
                deadline.sleep(RETRY_SECONDS)
        connected.setblocking(True)
        check_peer(connected)
    except BaseException:
        connected.close()
        raise
    return connected


def check_peer(connected: socket.socket) -> None:
    """Raise `ConnectError` if the other end is not a process of this user, or if that is unknown."""
    theirs, ours = peer_uid(connected), os.geteuid()
    if theirs != ours:
        raise ConnectError(f"the other end of the socket is a process of user {theirs}, not of user {ours}")


def peer_uid(connected: socket.socket, platform: str = sys.platform) -> int:
    """The id of the user whose process is the other end. Raises `OSError` as the system does, and `ConnectError` on a
    system that does not report it.
    """
    bare = bare_socket()
    if platform == "linux":
        found = connected.getsockopt(bare.SOL_SOCKET, bare.SO_PEERCRED, 12)
    elif platform == "darwin":
        found = connected.getsockopt(0, LOCAL_PEERCRED, 76)
    else:
        raise ConnectError(f"the user at the other end of a socket is unknown on {platform!r}")
    # The second of its 32-bit numbers: after the process id in the `struct ucred` of Linux, after the version in the
    # `struct xucred` of macOS.
    return int.from_bytes(found[4:8], sys.byteorder)


def check_folder(path: str | Path) -> None:
    """Raise `ConnectError` unless `path` is a folder of this user that no other can enter. Raises `OSError` as the
    system does if it does not exist.
    """
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        problem = "is a symbolic link"
    elif not stat.S_ISDIR(found.st_mode):
        problem = "is not a folder"
    elif found.st_uid != os.geteuid():
        problem = f"belongs to user {found.st_uid}, not to user {os.geteuid()}"
    elif found.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        problem = f"can be used by others: its mode is {stat.S_IMODE(found.st_mode):04o}"
    else:
        return
    raise ConnectError(
        f"the folder {os.fspath(path)!r} of the sockets {problem}",
        hint="remove it, so that it is created again with mode 0700",
    )
