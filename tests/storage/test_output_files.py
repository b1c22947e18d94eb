"""The files that commands write because they were asked to: whole, or not at all."""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.storage.output_files import AuditFile, append_to_file, put_file, put_new_file
from tests.processes import as_a_person
from tests.protocol_support import check_each, check_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LIMIT = 8192


@contextmanager
def full_disk() -> Iterator[None]:
    """No file may become longer than `LIMIT`, as on a disk that is nearly full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out"


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("put", [put_file, put_new_file, append_to_file])
def test_a_new_file_has_the_usual_mode(path: Path, put: Callable[[Path, bytes], None]) -> None:
    """Ours: that of every file that a person makes, and nothing lies beside it."""
    for umask, mode in ((0o022, 0o644), (0o077, 0o600)):
        before = os.umask(umask)
        try:
            put(path, b"data")
        finally:
            os.umask(before)
        assert (path.read_bytes(), mode_of(path)) == (b"data", mode)
        assert list(path.parent.iterdir()) == [path]
        path.unlink()


def test_a_file_that_is_replaced_keeps_its_mode_and_its_links(tmp_path: Path, path: Path) -> None:
    """Ours: as if it had been opened and written."""
    path.write_bytes(b"old and long")
    path.chmod(0o640)
    (tmp_path / "link").symlink_to("out")
    put_file(tmp_path / "link", b"new")
    assert (path.read_bytes(), mode_of(path)) == (b"new", 0o640)
    assert (tmp_path / "link").is_symlink()

    (tmp_path / "dangling").symlink_to("made")
    put_file(tmp_path / "dangling", b"new")
    assert (tmp_path / "made").read_bytes() == b"new"


@pytest.mark.parametrize("before", [b"old", None])
def test_a_full_disk_leaves_the_old_file(path: Path, before: bytes | None) -> None:
    """Ours: not half of it, and not a file of no bytes."""
    if before is not None:
        path.write_bytes(before)
    puts = [put_file, append_to_file] if before is not None else [put_file, put_new_file]
    for put in puts:
        with full_disk(), pytest.raises(OSError) as caught:
            put(path, b"x" * (LIMIT + 1))
        assert caught.value.errno == errno.EFBIG
        assert caught.value.filename == str(path)
        assert [file.read_bytes() for file in path.parent.iterdir()] == ([before] if before is not None else [])


def test_a_new_file_does_not_replace_an_existing_one(tmp_path: Path, path: Path) -> None:
    """Ours: where we choose the name. A link that leads nowhere is there too."""
    path.write_bytes(b"theirs")
    (tmp_path / "link").symlink_to("nowhere")
    for there in (path, tmp_path / "link"):
        with pytest.raises(FileExistsError):
            put_new_file(there, b"ours")
    assert path.read_bytes() == b"theirs"
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["link", "out"]


def test_an_unwritable_path_is_an_error(tmp_path: Path) -> None:
    """Ours: about the file that was named, and nothing is left."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()

    def check(place: str, put: Callable[[Path, bytes], None]) -> None:
        with pytest.raises(OSError) as caught:
            put(tmp_path / place, b"data")
        assert caught.value.filename == str(tmp_path / place)
        assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder", "loop"]

    check_each(check, ["folder", "missing/x", "loop", "x" * 300, "file/x"], [put_file, put_new_file, append_to_file])


def test_a_name_of_the_maximum_length_can_be_written(tmp_path: Path) -> None:
    """Ours: although the temporary file beside it has a name too."""
    for name in ("x" * 255, "é" * 127):
        put_file(tmp_path / name, b"1")
        put_file(tmp_path / name, b"2")
        assert (tmp_path / name).read_bytes() == b"2"


def test_a_pipe_or_a_device_is_written_to(path: Path) -> None:
    """Ours: `-o >(command)`, `-o /dev/null`."""
    os.mkfifo(path)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    put_file(path, b"data")
    reader.join()
    assert read == [b"data"]
    assert path.is_fifo()

    put_file(Path(os.devnull), b"data")
    with pytest.raises(OSError, match="No space left on device"):
        put_file(Path("/dev/full"), b"data")
    for what in (path, Path(os.devnull)):
        with pytest.raises(OSError):
            append_to_file(what, b"data")


def test_dev_fd_writes_to_the_open_file(path: Path) -> None:
    """Ours: `--junit /dev/stdout > FILE`. What else is written to it would be lost if another took its name."""
    with path.open("wb") as file:
        put_file(Path(f"/dev/fd/{file.fileno()}"), b"data")
        assert os.fstat(file.fileno()).st_ino == path.stat().st_ino
    assert path.read_bytes() == b"data"


def test_a_file_in_a_read_only_folder_is_overwritten() -> None:
    """Ours: there is no room for another beside it. One that is read-only is left."""
    with tempfile.TemporaryDirectory() as folder:
        taken, closed = Path(folder, "open"), Path(folder, "closed")
        for path, mode in ((taken, 0o666), (closed, 0o444)):
            path.write_bytes(b"old and long")
            path.chmod(mode)
        Path(folder).chmod(0o555)

        with as_a_person():
            put_file(taken, b"new")
            for path in (closed, Path(folder, "missing")):
                with pytest.raises(PermissionError):
                    put_file(path, b"new")

        assert (taken.read_bytes(), closed.read_bytes()) == (b"new", b"old and long")


def test_a_new_file_needs_no_hard_links(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: some file systems have none; there too a name that exists is left."""

    def without_links(*paths: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", without_links)  # The system itself.
    put_new_file(path, b"data")
    with pytest.raises(FileExistsError):
        put_new_file(path, b"other")

    assert path.read_bytes() == b"data"
    assert list(path.parent.iterdir()) == [path]


def test_temporary_files_of_a_killed_writer_are_removed(path: Path) -> None:
    """Ours: by the next that writes this file, unless it may still be written."""
    old, new = (path.with_name(f".out.gaia-out-{random}.tmp") for random in ("01234567", "89abcdef"))
    for temporary in (old, new):
        temporary.touch()
    os.utime(old, (0, 0))

    put_file(path, b"data")

    assert sorted(path.parent.iterdir()) == [new, path]


WRITE_MANY = """
import sys
from pathlib import Path
from gaia_mcp.storage.output_files import AuditFile
file = AuditFile(Path(sys.argv[1]))
for number in range(200):
    file.add(sys.argv[2].encode() * 5000 + b"\\n")
"""


@contextmanager
def room_of(size: int) -> Iterator[None]:
    """No file of this process grows beyond this size, as on a disk that is almost full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    earlier = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, earlier)


def test_lines_are_appended_to_a_private_file(tmp_path: Path) -> None:
    """Ours: what is there already stays, and so does the mode of a file that exists."""
    new, old = tmp_path / "new", tmp_path / "old"
    old.write_bytes(b"first\n")
    old.chmod(0o640)

    for path in (new, old):
        AuditFile(path).check()
        AuditFile(path).add(b"line\n")

    assert (new.read_bytes(), stat.S_IMODE(new.stat().st_mode)) == (b"line\n", 0o600)
    assert (old.read_bytes(), stat.S_IMODE(old.stat().st_mode)) == (b"first\nline\n", 0o640)


def test_a_rotated_file_is_created_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: as programs do that rotate logs; wherever the process works by then."""
    monkeypatch.chdir(tmp_path)
    file = AuditFile(type(tmp_path)("log"))
    file.add(b"one\n")
    monkeypatch.chdir("/")

    (tmp_path / "log").rename(tmp_path / "log.1")
    file.add(b"two\n")

    assert (tmp_path / "log.1").read_bytes() == b"one\n"
    assert (tmp_path / "log").read_bytes() == b"two\n"


@pytest.mark.story
def test_lines_of_several_processes_are_not_mixed(tmp_path: Path) -> None:
    """Ours: each is one write."""
    path = tmp_path / "log"
    processes = [subprocess.Popen([sys.executable, "-c", WRITE_MANY, path, letter]) for letter in "ab"]

    assert [process.wait(60) for process in processes] == [0, 0]

    lines = path.read_text().splitlines()
    assert sorted(set(lines)) == ["a" * 5000, "b" * 5000]
    assert len(lines) == 400


@pytest.mark.parametrize(
    ("name", "number"), [("folder", errno.EISDIR), ("none/log", errno.ENOENT), ("/dev/full", errno.EINVAL)]
)
def test_a_file_that_cannot_be_appended_to_is_an_error(tmp_path: Path, name: str, number: int) -> None:
    """Ours: before anything is served."""
    (tmp_path / "folder").mkdir()

    with pytest.raises(OSError) as caught:
        AuditFile(tmp_path / name).check()

    assert caught.value.errno == number


@pytest.mark.parametrize("is_read", [False, True])
def test_a_pipe_is_an_error(tmp_path: Path, is_read: bool) -> None:
    """Ours: its reader could keep every call waiting."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK) if is_read else None

    with pytest.raises(OSError, match="it is a pipe, not a regular file"):
        AuditFile(path).check()

    if reader is not None:
        os.close(reader)


def is_added(file: AuditFile, line: bytes) -> bool:
    try:
        file.add(line)
    except OSError as problem:
        number = problem.errno
    else:
        return True
    assert number == errno.EFBIG
    return False


def test_a_line_cut_by_a_full_disk_is_written_again_before_the_next(tmp_path: Path) -> None:
    """Ours: a line that was cut is ended, and written again as a whole."""
    cases = [
        (0, [False, False], b"one\ntwo\n"),
        (2, [False, False], b"on\none\ntwo\n"),
        (4, [True, False], b"one\ntwo\n"),
        (6, [True, False], b"one\ntw\ntwo\n"),
        (8, [True, True], b"one\ntwo\n"),
    ]

    def check(size: int, added: list[bool], left: bytes) -> None:
        file = AuditFile(tmp_path / str(size))
        with room_of(size):
            assert [is_added(file, line) for line in (b"one\n", b"two\n")] == added

        file.check()
        assert file.path.read_bytes() == left
        file.add(b"end\n")
        assert file.path.read_bytes() == left + b"end\n"

    check_rows(check, cases)


def test_a_line_that_is_written_again_may_be_cut_again(tmp_path: Path) -> None:
    """Ours: lines that have been written whole are not repeated."""
    file = AuditFile(tmp_path / "log")
    for size in (2, 9):
        with room_of(size):
            assert not is_added(file, b"one\n" if size == 2 else b"two\n")

    file.check()

    assert file.path.read_bytes() == b"on\none\ntw\ntwo\n"


def test_threads_can_append_concurrently(tmp_path: Path) -> None:
    """Ours: the calls of one server run in several."""
    file = AuditFile(tmp_path / "log")
    threads = [threading.Thread(target=file.add, args=(b"line\n",)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert file.path.read_bytes() == b"line\n" * 8
