"""Files that are replaced as a whole: locks, what stands there, and the step itself."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
import tempfile
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from gaia_mcp.core.errors import ConfigFileError
from gaia_mcp.storage.atomic import Snapshot, locked, read_bytes, snapshot_of, write_bytes
from tests.processes import PERSON, as_a_person
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "servers.json"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_an_endless_file_is_an_error() -> None:
    """Ours: `--config /dev/zero` is a typing mistake that must not fill the memory."""
    with pytest.raises(ConfigFileError, match="it is a device, not a regular file"):
        read_bytes(Path("/dev/zero"))
    with pytest.raises(ConfigFileError, match="larger than 64 MB"):
        read_bytes(Path("/dev/zero"), may_be_pipe=True)


def test_a_snapshot_follows_symbolic_links(tmp_path: Path, path: Path) -> None:
    """Ours: the path, content and mode of the target; empty and private if there is none yet."""
    real = tmp_path.resolve() / "real.json"
    path.symlink_to("real.json")
    assert snapshot_of(path) == Snapshot(real, b"", 0o600, exists=False)
    real.write_bytes(b"{}")
    real.chmod(0o640)
    assert snapshot_of(path) == Snapshot(real, b"{}", 0o640, exists=True)


@pytest.mark.parametrize("kind", ["a folder", "a link to itself", "read-only"])
def test_a_folder_a_link_loop_and_a_read_only_file_are_rejected(path: Path, kind: str) -> None:
    """Ours: a rename would get past a mode, and past a link."""
    if kind == "a folder":
        path.mkdir()
    elif kind == "a link to itself":
        path.symlink_to(path)
    else:
        path.write_text("{}")
        path.chmod(0o444)
    with pytest.raises(ConfigFileError) as caught:
        snapshot_of(path)
    assert caught.value.path == path


def test_a_file_is_replaced_with_content_and_mode(path: Path) -> None:
    """Ours: and nothing else is left in its folder."""
    path.write_bytes(b"old")
    write_bytes(path, snapshot_of(path), b"new", 0o640)
    assert (path.read_bytes(), mode_of(path)) == (b"new", 0o640)
    assert list(path.parent.iterdir()) == [path]


def test_temporary_files_of_a_killed_writer_are_removed(path: Path) -> None:
    """Ours: it has the secrets of the file in it. Another file's, and another program's that may be writing, stay."""
    stays = [f".{path.name}.abcdefgh.tmp", f".{path.name}.gaia-abc.tmp", ".other.json.gaia-abcdefgh.tmp"]
    old = path.with_name(f".{path.name}.12345678.tmp")
    for name in (*stays, old.name, f".{path.name}.gaia-a_c4efgh.tmp"):
        path.with_name(name).write_bytes(b"secret")
    os.utime(old, (time.time() - 3700,) * 2)

    write_bytes(path, snapshot_of(path), b"new", 0o600)

    assert {entry.name for entry in path.parent.iterdir()} == {*stays, path.name}


def test_a_file_keeps_its_owner(path: Path) -> None:
    """Ours: what the administrator changes for a person stays the person's. Without rights there is only one owner."""
    owner = (4321, 1234) if os.getuid() == 0 else (os.getuid(), os.getgid())
    path.write_bytes(b"old")
    os.chown(path, *owner)
    write_bytes(path, snapshot_of(path), b"new", 0o640)
    assert (path.stat().st_uid, path.stat().st_gid, mode_of(path)) == (*owner, 0o640)


def test_group_rights_are_dropped_if_the_group_cannot_be_preserved() -> None:
    """Ours: here as a person who is not in the file's group. Without rights there is only the one group."""
    is_root = os.getuid() == 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(b"old")
        if is_root:
            path.parent.chmod(0o777)
            os.chown(path, PERSON, 0)
        with as_a_person():
            write_bytes(path, snapshot_of(path), b"new", 0o664)
        assert (path.read_bytes(), mode_of(path)) == (b"new", 0o604 if is_root else 0o664)


def test_a_concurrent_change_is_not_overwritten(path: Path) -> None:
    """Ours: it knows nothing of our lock."""
    for there in (b"theirs", None):
        path.write_bytes(b"old")
        before = snapshot_of(path)
        path.unlink()
        if there is not None:
            path.write_bytes(there)
        with pytest.raises(ConfigFileError, match="changed by another program"):
            write_bytes(path, before, b"ours", 0o600)
        assert [file.read_bytes() for file in path.parent.iterdir()] == [there] * (there is not None)


def test_a_failed_rename_removes_its_temporary_file(tmp_path: Path) -> None:
    """Ours: also when it fails at the very last step."""
    taken = tmp_path / "taken"
    (taken / "inside").mkdir(parents=True)
    with pytest.raises(ConfigFileError, match="cannot be written"):
        write_bytes(taken, Snapshot(taken, b"", 0o600, exists=True), b"{}", 0o600)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["taken"]


def test_a_new_folder_is_private(tmp_path: Path) -> None:
    """Ours: folder 0700."""
    path = tmp_path / "a" / "b" / "servers.json"
    with locked(path):
        assert mode_of(path.parent) == 0o700
    assert list(path.parent.iterdir()) == []


def test_an_old_folder_keeps_its_mode(tmp_path: Path) -> None:
    """Ours: its owner chose it."""
    tmp_path.chmod(0o755)
    with locked(tmp_path / "servers.json"):
        pass
    assert mode_of(tmp_path) == 0o755


def test_a_folder_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    """Ours: about the file that was wanted."""
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "servers.json"
    with pytest.raises(ConfigFileError, match="folder cannot be made") as caught, locked(path):
        raise AssertionError("not reached")
    assert caught.value.path == path


def test_a_folder_that_cannot_be_read_or_locked_is_an_error(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: such as one of another person, or one of a file system without locks."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o300)
        with pytest.raises(ConfigFileError, match="folder cannot be opened"), as_a_person(), locked(Path(folder, "x")):
            raise AssertionError("not reached")

    def without_locks(handle: int, kind: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", without_locks)  # The system itself.
    with pytest.raises(ConfigFileError, match="folder cannot be locked: No locks available"), locked(path):
        raise AssertionError("not reached")


def test_on_windows_a_file_is_locked_beside_the_one_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: a folder can be neither locked nor synced there, since it cannot be opened. The file stays."""
    held: set[int] = set()

    def locking(file: int, kind: str, count: int) -> None:
        number = os.fstat(file).st_ino
        if kind == "unlock":
            held.remove(number)
        elif number in held:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        else:
            held.add(number)

    # In place of the module, which no other system has.
    windows = SimpleNamespace(LK_NBLCK="lock", LK_UNLCK="unlock", locking=locking)
    monkeypatch.setitem(sys.modules, "msvcrt", windows)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "servers.json")
        path.parent.chmod(0o333)
        with as_a_person():
            for _ in range(2):
                with locked(path, system="nt"):
                    write_bytes(path, snapshot_of(path), b"new", 0o600, system="nt")
                    with (
                        pytest.raises(ConfigFileError, match=r"was locked for 0\.05 s"),
                        locked(path, 0.05, system="nt"),
                    ):
                        raise AssertionError("not reached")
        path.parent.chmod(0o700)
        assert path.read_bytes() == b"new"
        assert {entry.name for entry in path.parent.iterdir()} == {path.name, f"{path.name}.lock"}


def test_waiting_for_a_lock_times_out(path: Path) -> None:
    """Ours: every wait has an end."""
    with locked(path), pytest.raises(ConfigFileError, match=r"was locked for 0\.05 s"), locked(path, 0.05):
        raise AssertionError("not reached")
    with locked(path, 0.05):
        pass


def test_a_second_writer_waits_for_the_first(path: Path) -> None:
    """Ours: a moment's work of another program is waited for."""
    order: list[str] = []
    waiting = threading.Event()

    def second() -> None:
        waiting.set()
        with locked(path):
            order.append("second")

    thread = threading.Thread(target=second)
    with locked(path):
        thread.start()
        assert waiting.wait(PATIENCE_SECONDS)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_an_exception_releases_the_lock(path: Path) -> None:
    """Ours: the next one must not wait for nothing."""
    with pytest.raises(ZeroDivisionError), locked(path):
        raise ZeroDivisionError
    with locked(path, 0.05):
        pass


def test_two_names_of_one_file_share_a_lock(tmp_path: Path) -> None:
    """Ours: through a link and directly, it is the same file that is written."""
    real = tmp_path / "dotfiles" / "mcp.json"
    real.parent.mkdir()
    real.write_text("{}")
    link = tmp_path / "servers.json"
    link.symlink_to(real)
    with locked(real), pytest.raises(ConfigFileError), locked(link, 0.05):
        raise AssertionError("not reached")
