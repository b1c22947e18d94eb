"""A file of lines that several processes add to."""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.storage.audit_file import AuditFile
from tests.protocol_support import check_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

WRITE_MANY = """
import sys
from pathlib import Path
from gaia_mcp.storage.audit_file import AuditFile
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
