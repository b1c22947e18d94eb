"""Sockets between processes of one user, in real folders; another user is what the system reports of one."""

from __future__ import annotations

import os
import socket
import struct
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import ConnectError
from gaia_mcp.core.local_sockets import check_folder, check_peer, connect, peer_uid
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS, deadline_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    """A socket that listens, with room for one connection that is not accepted."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        listener.listen(0)
        yield listener


def test_a_connected_socket_carries_bytes(listener: socket.socket, tmp_path: Path) -> None:
    """Ours: it blocks, as any other, until its user changes that."""
    ours = connect(tmp_path / "s", Deadline(ENOUGH_SECONDS))
    theirs, _ = listener.accept()

    theirs.sendall(b"hello")

    assert (ours.recv(5), ours.gettimeout()) == (b"hello", None)
    assert peer_uid(ours) == peer_uid(theirs) == os.geteuid()
    ours.close()
    theirs.close()


def test_a_socket_without_a_process_is_an_error_of_the_system(tmp_path: Path) -> None:
    """Ours: the caller starts one, or does without."""
    with pytest.raises(FileNotFoundError):
        connect(tmp_path / "s", Deadline(ENOUGH_SECONDS))
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "s"))
    with pytest.raises(ConnectionRefusedError):
        connect(str(tmp_path / "s"), Deadline(ENOUGH_SECONDS))


def test_a_full_queue_is_waited_for_until_the_deadline(listener: socket.socket, tmp_path: Path) -> None:
    """Ours: many commands may connect in one moment; a process that accepts none hangs."""
    waiting = connect(tmp_path / "s", Deadline(ENOUGH_SECONDS))
    with pytest.raises(BlockingIOError):
        connect(tmp_path / "s", Deadline(0))

    looks: list[None] = []
    accepted: list[socket.socket] = []

    def accept() -> None:
        accepted.extend(listener.accept()[0] for _ in range(2))

    def look() -> bool:
        looks.append(None)
        if len(looks) == 3:
            thread.start()
        return False

    thread = threading.Thread(target=accept)
    late = connect(tmp_path / "s", deadline_until(look))
    thread.join(PATIENCE_SECONDS)

    assert len(accepted) == 2
    for one in (waiting, late, *accepted):
        one.close()


class OfAnother:
    """A socket whose other end the system reports as a process of another user, in the form of Linux or macOS."""

    def __init__(self, credentials: bytes) -> None:
        self._credentials = credentials

    def getsockopt(self, _level: int, _option: int, size: int) -> bytes:
        return self._credentials[:size]


def test_a_process_of_another_user_is_refused() -> None:
    """Ours: it may be a program that waits for the secrets of this user."""
    of_another: Any = OfAnother(struct.pack("=iII", 4711, 12345, 100))

    with pytest.raises(ConnectError, match=f"of user 12345, not of user {os.geteuid()}"):
        check_peer(of_another)


def test_credentials_are_read_as_the_system_stores_them() -> None:
    """macOS: `struct xucred` begins with a version. Elsewhere the other end cannot be checked, and is refused."""
    of_another: Any = OfAnother(struct.pack("=IIhxxI60x", 0, 501, 1, 20))

    assert peer_uid(of_another, "darwin") == 501
    with pytest.raises(ConnectError, match="is unknown on 'win32'"):
        peer_uid(of_another, "win32")


def test_a_folder_of_this_user_alone_is_accepted(tmp_path: Path) -> None:
    """Ours: a socket in it is as private as the folder."""
    tmp_path.chmod(0o700)

    check_folder(tmp_path)
    check_folder(str(tmp_path))


def test_another_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: another user could have put the socket there, or could connect to it."""
    shared, file, link = tmp_path / "shared", tmp_path / "file", tmp_path / "link"
    shared.mkdir()
    shared.chmod(0o710)
    file.touch(0o600)
    link.symlink_to(tmp_path)

    refused = {}
    for path in (shared, file, link):
        with pytest.raises(ConnectError) as caught:
            check_folder(path)
        assert (str(path) in caught.value.message, "0700" in caught.value.hint) == (True, True)
        refused[path.name] = caught.value.message.partition("of the sockets ")[2]

    assert refused == {
        "shared": "can be used by others: its mode is 0710",
        "file": "is not a folder",
        "link": "is a symbolic link",
    }
    with pytest.raises(FileNotFoundError):
        check_folder(tmp_path / "none")
    # The system's own function: a test cannot be run as two users.
    ours = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: ours + 1)
    with pytest.raises(ConnectError, match=f"belongs to user {ours}, not to user {ours + 1}"):
        check_folder(tmp_path)


def test_a_failed_check_closes_the_socket(
    listener: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: nothing is sent to a process of another user."""
    monkeypatch.setattr(os, "geteuid", lambda: 12345)

    with pytest.raises(ConnectError):
        connect(tmp_path / "s", Deadline(ENOUGH_SECONDS))
    theirs, _ = listener.accept()

    assert theirs.recv(1) == b""
    theirs.close()
