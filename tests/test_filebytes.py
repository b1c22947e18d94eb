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

from gaia_mcp.filebytes import open_file, read_file, read_rest, read_typed

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


@pytest.mark.parametrize("size", [0, 1, 64 * 1024, 64 * 1024 + 1, MB])
def test_a_file_is_read_up_to_the_limit_itself(tmp_path: Path, size: int) -> None:
    """Ours."""
    path = tmp_path / "x"
    path.write_bytes(b"x" * size)

    assert read_file(path, MB) == read_typed(path, MB) == b"x" * size


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


def test_a_file_that_grows_meanwhile_is_read_no_further(tmp_path: Path) -> None:
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


@pytest.mark.parametrize("kind", MAKERS)
def test_only_a_regular_file_is_opened(tmp_path: Path, kind: str) -> None:
    """Ours: a pipe without a writer would keep its reader waiting, and a device never ends."""
    path = tmp_path / "x"
    MAKERS[kind](path)

    with pytest.raises(OSError, match=f"it is a {kind.split()[-1]}, not a regular file"):
        read_file(path, MB)
    with pytest.raises(OSError, match="not a regular file"):
        open_file(path)


def test_a_socket_is_no_file(short: Path) -> None:
    """Ours: it cannot be opened, for a reason that the system calls another."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(short / "s"))
        for read in (read_file, read_typed):
            with pytest.raises(OSError, match="it is a socket, not a regular file"):
                read(short / "s", MB)


def test_a_file_that_is_not_there_has_an_error_of_its_own(tmp_path: Path) -> None:
    """Ours: most files need not exist. A link that leads nowhere is the same."""
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("missing", "link", "missing/x"):
        with pytest.raises(FileNotFoundError):
            read_file(tmp_path / name, MB)


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "a\ud800b", "loop", "file/x"])
def test_a_name_that_no_file_has_is_an_error_of_the_system(tmp_path: Path, name: str) -> None:
    """Ours: whatever Python makes of it."""
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "file").touch()
    for read in (read_file, read_typed):
        with pytest.raises(OSError) as caught:
            read(tmp_path / name, MB)
        assert caught.value.strerror


def test_what_was_named_for_this_use_may_be_a_pipe(tmp_path: Path) -> None:
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


def test_the_end_of_a_buffered_file_is_read_once() -> None:
    """Ours: at a terminal it is typed once."""
    ours, theirs = os.openpty()
    with os.fdopen(ours, "wb", buffering=0) as keyboard, os.fdopen(theirs, "rb") as terminal:
        keyboard.write(b"one\ntwo\n\x04three\n")
        assert read_rest(terminal, MB) == b"one\ntwo\n"
