"""Reading files: without blocking, regular files only, and never more than a limit.

A folder may contain anything: a pipe blocks its reader, a device never ends, a huge file exhausts memory. No other
module opens a file to read it. Knows no file types: each caller passes its own limit.

Every failure is an `OSError`, whose `strerror` completes "FILE cannot be read: …".
"""

from __future__ import annotations

import errno
import os
import stat
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# The capacity of a pipe.
_PIECE_BYTES = 64 * 1024
# Windows opens files in text mode by default; opening one never blocks there.
_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_CLOEXEC", 0)
_AT_ONCE = getattr(os, "O_NONBLOCK", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_KINDS = (
    (stat.S_ISDIR, "folder"),
    (stat.S_ISFIFO, "pipe"),
    (stat.S_ISSOCK, "socket"),
)


def read_file(path: Path | str, most: int) -> bytes:
    """The content of a regular file of at most `most` bytes. Raises `OSError`, `FileNotFoundError` without the file."""
    with open_file(path) as file:
        return read_rest(file, most)


def read_typed(path: Path | str, most: int, remaining: Callable[[], float] | None = None) -> bytes:
    """As `read_file`, for a file that the user named for this one use: it may also be a device, or a pipe, such as
    `<(command)` or /dev/stdin, whose data is waited for as in `read_rest`.
    """
    with _opened(path, _READ) as file:
        return read_rest(file, most, remaining)


def open_typed(path: Path | str) -> BinaryIO:
    """A file as for `read_typed`, open for reading, and buffered. Raises `OSError`."""
    return _opened(path, _READ, buffering=-1)


def lines_of(file: BinaryIO, most: int) -> Iterator[bytes]:
    """The lines of an open file or pipe, each as soon as it has arrived. Raises `OSError` for one of more than `most`
    bytes.
    """
    while line := file.readline(most + 1):
        if len(line) > most:
            raise OSError(errno.EFBIG, f"a line is longer than {most >> 20} MB", file.name)
        yield line


def open_file(path: Path | str, folder: int | None = None) -> BinaryIO:
    """A regular file, open for reading, unbuffered. Raises `OSError` at once for anything else. With the descriptor of
    an open folder, `path` is a name in it, and a symlink is an error too.
    """
    file = _opened(path, _READ | _AT_ONCE | (_NO_LINK if folder is not None else 0), folder)
    # Checked on the open file: the name may refer to another one a moment later.
    mode = os.fstat(file.fileno()).st_mode
    if not stat.S_ISREG(mode):
        file.close()
        raise irregular(mode, path)
    return file


def read_rest(file: BinaryIO, most: int, remaining: Callable[[], float] | None = None) -> bytes:
    """The rest of an open file or pipe, unbuffered or not. Raises `OSError` for more than `most` bytes: a file that is
    too large is not read at all, and one that grows meanwhile only up to the limit.

    Raises `TimeoutError` once the seconds `remaining()` are over. Where pipes cannot be polled, as on Windows, the time
    is checked only when data has arrived.
    """
    # `read` of a buffered file continues until the end, which a user would have to type twice on a terminal.
    read: Callable[[int], bytes] = getattr(file, "read1", file.read)
    status = os.fstat(file.fileno())
    size = status.st_size if stat.S_ISREG(status.st_mode) else 0
    pieces: list[bytes] = []
    held = 0
    while size <= most:
        # One byte more than expected and allowed, so that the end, or an excess, is detected.
        if remaining is not None:
            _wait_for_data(file, remaining)
        piece = read(min(max(size - held, _PIECE_BYTES), most - held) + 1)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        held += len(piece)
        if held > most:
            break
    raise OSError(errno.EFBIG, f"it is larger than {most >> 20} MB", file.name)


def _wait_for_data(file: BinaryIO, remaining: Callable[[], float]) -> None:
    import select

    seconds = remaining()
    if seconds > 0 and hasattr(select, "poll"):
        waiting = select.poll()
        waiting.register(file, select.POLLIN)
        seconds = 1 if waiting.poll(1000 * seconds) else 0
    if seconds <= 0:
        raise TimeoutError(errno.ETIMEDOUT, "it did not end in time", file.name)


def irregular(mode: int, path: Path | str) -> OSError:
    """The error for a file of this mode, which is not a regular file."""
    kind = next((name for is_kind, name in _KINDS if is_kind(mode)), "device")
    return OSError(errno.EINVAL, f"it is a {kind}, not a regular file", str(path))


def _opened(path: Path | str, flags: int, folder: int | None = None, *, buffering: int = 0) -> BinaryIO:
    try:
        return open(path, "rb", buffering, opener=lambda name, _: os.open(name, flags, dir_fd=folder))
    except OSError as problem:
        if problem.errno == errno.ENXIO:
            raise irregular(stat.S_IFSOCK, path) from problem
        if isinstance(problem, IsADirectoryError):
            raise irregular(stat.S_IFDIR, path) from problem
        raise
    except ValueError as problem:  # A null byte, or a lone surrogate, in an entry or a form.
        raise OSError(errno.EINVAL, "no file can have this name", str(path)) from problem
