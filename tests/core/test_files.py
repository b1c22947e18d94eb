"""Files that are read for a person: regular ones alone, at once, and never more than a limit."""

from __future__ import annotations

import contextlib
import os
import socket
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pytest

from gaia_mcp.core.files import lines_of, open_file, open_typed, read_file, read_rest, read_typed

if TYPE_CHECKING:
    from collections.abc import Iterator

MB = 1 << 20
MAKERS = {
    "folder": Path.mkdir,
    "link to a folder": lambda path: path.symlink_to("/tmp"),
    "pipe": os.mkfifo,
    "link to a device": lambda path: path.symlink_to("/dev/zero"),
    "link to an empty device": lambda path: path.symlink_to(os.devnull),
}


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a short name: that of a socket has a hundred characters at most."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


def test_a_file_of_exactly_the_limit_is_read(tmp_path: Path) -> None:
    """Ours: the limit is the largest size that is read, whatever the size of a single read."""
    path = tmp_path / "x"
    wrong = []
    for size in (0, 1, 64 * 1024, 64 * 1024 + 1, MB):
        path.write_bytes(b"x" * size)
        if not read_file(path, MB) == read_typed(path, MB) == b"x" * size:
            wrong.append(size)

    assert not wrong


@pytest.mark.parametrize("read", [read_file, read_typed])
def test_a_larger_file_is_not_read_at_all(tmp_path: Path, read: type) -> None:
    """Ours: three gigabytes are refused as fast as one byte too many."""
    path = tmp_path / "x"
    for size in (MB + 1, 3 << 30):
        with path.open("wb") as file:
            file.truncate(size)
        with pytest.raises(OSError, match="it is larger than 1 MB"):
            read(path, MB)
        with path.open("rb", buffering=0) as opened:
            with pytest.raises(OSError, match="it is larger"):
                read_rest(opened, MB)
            assert opened.tell() == 0


def test_a_growing_file_is_read_up_to_the_limit(tmp_path: Path) -> None:
    """Ours: its size is what it was when it was asked for; a file of the kernel has none."""

    class Growing:
        """As long as one likes, although it was empty."""

        name = "growing"
        taken = 0

        def __init__(self, file: BinaryIO) -> None:
            self.fileno = file.fileno

        def read(self, size: int) -> bytes:
            self.taken += size
            return b"x" * size

    (tmp_path / "x").touch()
    with (tmp_path / "x").open("rb") as file:
        growing = Growing(file)
        with pytest.raises(OSError, match="it is larger"):
            read_rest(growing, MB)  # type: ignore[arg-type]
    assert growing.taken <= MB + 64 * 1024

    assert b"Name:" in read_file("/proc/self/status", MB)


def test_only_a_regular_file_is_opened(tmp_path: Path) -> None:
    """Ours: a pipe without a writer would keep its reader waiting, and a device never ends."""
    wrong = []
    for kind, make in MAKERS.items():
        path = tmp_path / kind
        make(path)
        problem = f"it is a {kind.split()[-1]}, not a regular file"
        for read in (open_file, lambda path: read_file(path, MB)):
            try:
                read(path)
            except OSError as error:
                if problem not in str(error):
                    wrong.append((kind, error))
            else:
                wrong.append((kind, None))

    assert not wrong


def test_a_socket_is_not_a_regular_file(short: Path) -> None:
    """Ours: it cannot be opened, for a reason that the system calls another."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(short / "s"))
        for read in (read_file, read_typed):
            with pytest.raises(OSError, match="it is a socket, not a regular file"):
                read(short / "s", MB)


def test_a_missing_file_is_a_file_not_found_error(tmp_path: Path) -> None:
    """Ours: most files need not exist. A link that leads nowhere is the same."""
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("missing", "link", "missing/x"):
        with pytest.raises(FileNotFoundError):
            read_file(tmp_path / name, MB)


def test_an_impossible_file_name_is_an_os_error(tmp_path: Path) -> None:
    """Ours: also where Python raises a ValueError, so that a caller catches one class."""
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    names = ["x" * 300, "a\0b", "a\ud800b", "loop", "file/x"]

    wrong = []
    for name in names:
        for read in (read_file, read_typed):
            try:
                read(tmp_path / name, MB)
            except OSError as error:
                if error.strerror:
                    continue
            wrong.append((name, read))

    assert not wrong


def test_a_file_named_by_the_user_may_be_a_pipe(tmp_path: Path) -> None:
    """Ours: `<(command)` and /dev/stdin are; it is waited for, and has the same limit."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    for data, is_small in ((b"hello", True), (b"x" * (MB + 1), False)):

        def write(data: bytes = data) -> None:
            with contextlib.suppress(BrokenPipeError):
                path.write_bytes(data)

        writer = threading.Thread(target=write)
        writer.start()
        if is_small:
            assert read_typed(path, MB) == data
        else:
            with pytest.raises(OSError, match="it is larger than 1 MB"):
                read_typed(path, MB)
        writer.join()
    with pytest.raises(OSError, match="it is larger"):
        read_typed("/dev/zero", MB)
    with pytest.raises(OSError, match="it is a folder"):
        read_typed(tmp_path, MB)
    assert read_typed(os.devnull, MB) == b""


def test_end_of_file_is_read_once_from_a_terminal() -> None:
    """Ours: at a terminal it is typed once."""
    ours, theirs = os.openpty()
    with os.fdopen(ours, "wb", buffering=0) as keyboard, os.fdopen(theirs, "rb") as terminal:
        keyboard.write(b"one\ntwo\n\x04three\n")
        assert read_rest(terminal, MB) == b"one\ntwo\n"


def test_the_end_of_a_pipe_is_waited_for_as_long_as_there_is_time(tmp_path: Path) -> None:
    """Ours: its writer may hang. A file is read at once, and a pipe that ends in time whole."""
    ours, theirs = os.pipe()
    with os.fdopen(theirs, "wb", buffering=0) as writer, os.fdopen(ours, "rb") as pipe:
        writer.write(b"begun")
        left = iter([5.0, 0.01])
        with pytest.raises(TimeoutError):
            read_rest(pipe, MB, lambda: next(left))
        writer.write(b"and ended")
        writer.close()
        assert read_rest(pipe, MB, lambda: 5.0) == b"and ended"
    (tmp_path / "file").write_bytes(b"a")
    assert read_typed(tmp_path / "file", MB, lambda: 5.0) == b"a"
    with pytest.raises(TimeoutError):
        read_typed(tmp_path / "file", MB, lambda: 0.0)


@pytest.mark.parametrize("ending", [b"\n", b""])
def test_lines_are_read_up_to_a_limit(tmp_path: Path, ending: bytes) -> None:
    path = tmp_path / "lines"
    path.write_bytes(b"a\n\n" + b"b" * 9 + ending)

    with open_typed(path) as file:
        assert list(lines_of(file, 10)) == [b"a\n", b"\n", b"b" * 9 + ending]
    with open_typed(path) as file, pytest.raises(OSError, match="a line is longer than 0 MB"):
        list(lines_of(file, 8))


def test_a_line_of_a_pipe_is_there_before_the_next() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as file, os.fdopen(writer, "wb", buffering=0) as pipe:
        lines = lines_of(file, 10)
        for line in (b"a\n", b"b\n"):
            pipe.write(line)
            assert next(lines) == line
