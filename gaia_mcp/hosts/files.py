"""Reads a host's file, and changes it atomically; keeps its mode, symbolic links, byte order mark and line endings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from gaia_mcp.errors import ConfigFileError
from gaia_mcp.filebytes import read_file
from gaia_mcp.hosts.documents import Layout, parsed, read_servers, with_server
from gaia_mcp.jsontext import TextProblemError, place_in
from gaia_mcp.storage.atomic import MAX_BYTES, locked, snapshot_of, write_bytes

if TYPE_CHECKING:
    from pathlib import Path

T = TypeVar("T")

_MARK = b"\xef\xbb\xbf"


def read_document(path: Path, kind: str) -> Any:
    """The content of a file as a plain value. Raises `ConfigFileError`."""
    return _told(path, "", lambda: parsed(_text(path, ""), kind))


def servers_of(path: Path, layout: Layout, title: str = "") -> dict[str, Any]:
    """The entries in a host's file, by name, in the host's format.

    Raises `ConfigFileError` with the host's `title`, and with line and column if known.
    """
    return _told(path, title, lambda: read_servers(_text(path, title), layout))


def change_servers(
    path: Path, layout: Layout, title: str, change: Callable[[dict[str, Any]], dict[str, dict[str, Any]]]
) -> None:
    """Set entries in a host's file, which is created if missing. `change` is called with its entries under the write
    lock, and returns the entries to set.

    Raises `ConfigFileError`, and as `change` does; the file is unchanged then.
    """
    with locked(path):
        before = snapshot_of(path)
        text, mark = _decoded(path, title, before.data)

        def changed() -> str:
            new = text
            for name, entry in change(read_servers(text, layout)).items():
                new = with_server(new, layout, name, entry)
            return new

        new = _told(path, title, changed)
        if new != text:
            write_bytes(path, before, mark + new.encode(), before.mode)


def _text(path: Path, title: str) -> str:
    try:
        data = read_file(path, MAX_BYTES)
    except FileNotFoundError as cause:
        raise ConfigFileError(path, f"does not exist{_of(title)}", case="host-file-missing") from cause
    except OSError as cause:
        problem = f"cannot be read{_of(title)}: {cause.strerror}"
        raise ConfigFileError(path, problem, case="unreadable-file") from cause
    return _decoded(path, title, data)[0]


def _decoded(path: Path, title: str, data: bytes) -> tuple[str, bytes]:
    """The text, and the byte order mark that preceded it."""
    mark = _MARK if data.startswith(_MARK) else b""
    try:
        return data[len(mark) :].decode(), mark
    except UnicodeDecodeError as cause:
        line, column = place_in(data.decode("latin-1"), cause.start + len(mark))
        raise ConfigFileError(path, f"is not UTF-8{_of(title)}", line=line, column=column) from cause


def _told(path: Path, title: str, act: Callable[[], T]) -> T:
    try:
        return act()
    except TextProblemError as problem:
        raise ConfigFileError(
            path, f"{problem.problem}{_of(title)}", line=problem.line, column=problem.column
        ) from problem


def _of(title: str) -> str:
    return f" (the file of {title})" if title else ""
