"""The built-in agent `filesystem`: reads, writes and lists files below one folder.

gaia mcp serve filesystem --kwarg root=~/notes
gaia mcp serve filesystem --kwarg root=~/notes --kwarg read_only=true

Its tools, their arguments and the format of lists are those of AgentVault's filesystem server.

No path leads out of the folder. Each folder of a path is opened relative to the previous one, without following links.
So it is safe if a link replaces a folder while the path is resolved. Where the system cannot open files relative to a
folder (Windows), each component is checked before the file is opened, which leaves a race with such a link.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from gaia_mcp._version import __version__
from gaia_mcp.agents.base.mcp_agent import MCPAgent
from gaia_mcp.agents.base.tools import tool
from gaia_mcp.core.errors import ConfigFileError
from gaia_mcp.core.files import irregular, open_file, read_rest
from gaia_mcp.core.paths import home_expanded
from gaia_mcp.text import clean, encodable

WRITE = "filesystem.writeFile"
_PATH = "Path below the root folder, with / between names"
# The root folder in the paths of AgentVault's clients: the folder of its server's container.
_DATA = "/data"
_MARKS = {"folder": "[DIR]", "file": "[FILE]", "link": "[LINK]", "other": "[OTHER]"}
# With JSON's escapes about the maximum size of a message.
MAX_FILE_BYTES = 16 << 20
MAX_ENTRIES = 10_000
_HAS_DESCRIPTORS = {os.open, os.stat, os.rename, os.unlink} <= os.supports_dir_fd and os.scandir in os.supports_fd
_WORDS = {
    errno.ENOENT: "it does not exist",
    errno.EACCES: "it may not be accessed",
    errno.EPERM: "it may not be accessed",
    errno.ELOOP: "it is a link, and links are not followed",
    errno.ENAMETOOLONG: "the name is too long",
}


class FilesystemAgent(MCPAgent):
    """The files below `root`, to which paths are relative. No path leads out of it, and links are not followed. An
    absolute path begins with `root`, or with `/data`, which stands for it.

    With `read_only` there is no tool to write. Raises `TypeError` for invalid arguments, and `ConfigFileError` if
    `root` is not a folder.
    """

    def __init__(self, root: str = "", read_only: bool = False) -> None:
        super().__init__()
        if not isinstance(root, str) or not root:
            raise TypeError("root is the folder to serve, and has to be given")
        if not isinstance(read_only, bool):
            raise TypeError(f"read_only is true or false, not {read_only!r}")
        given = home_expanded(Path(root)).absolute()
        folder = given.resolve()
        if not folder.is_dir():
            raise ConfigFileError(folder, "is not a folder")
        self._tree = Tree(folder, names=(str(given), _DATA))
        self._is_read_only = read_only

    @tool(name="filesystem.readFile", read_only=True, open_world=False)
    def read_file(self, path: Annotated[str, _PATH]) -> Any:
        """Read a text file in UTF-8."""
        try:
            return self._tree.read(path).decode("utf-8")
        except PathError as problem:
            return _failure(path, problem)
        except UnicodeDecodeError as problem:
            return _failure(path, f"it is not text in UTF-8: byte {problem.start + 1} does not fit")

    @tool(name=WRITE, read_only=False, destructive=True, idempotent=True, open_world=False)
    def write_file(self, path: Annotated[str, _PATH], content: str) -> Any:
        """Write a text file in UTF-8, in place of the one that may be there. Its folder must exist."""
        try:
            data = content.encode("utf-8")
            self._tree.write(path, data)
        except UnicodeEncodeError:
            return _failure(path, "half of a surrogate pair is not text")
        except PathError as problem:
            return _failure(path, problem)
        return f"wrote {len(data)} byte{'s' * (len(data) != 1)} to {path!r}"

    @tool(name="filesystem.listDirectory", read_only=True, open_world=False)
    def list_directory(self, path: Annotated[str, _PATH] = ".") -> Any:
        """List a folder, a line for each entry: [DIR], [FILE], [LINK] or [OTHER], and its name."""
        try:
            entries, is_all = self._tree.entries(path)
        except PathError as problem:
            return _failure(path, problem)
        lines = [f"{_MARKS[entry.kind]} {_shown(entry.name)}" for entry in entries]
        if not is_all:
            lines.append(f"(more than {MAX_ENTRIES}; the others are left out)")
        return "\n".join(lines) or f"{path!r} is empty"

    def get_mcp_tool_definitions(self) -> list[dict[str, Any]]:
        tools = super().get_mcp_tool_definitions()
        return [one for one in tools if not (self._is_read_only and one["name"] == WRITE)]

    def get_mcp_server_info(self) -> dict[str, Any]:
        return {"name": "filesystem", "title": "Files below one folder", "version": __version__}


def _failure(path: str, problem: object) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": f"{encodable(path)!r}: {problem}"}], "isError": True}


def _shown(name: str) -> str:
    """A name on one line. Bytes that are not UTF-8 are replaced, since they cannot be sent: such a file cannot be read
    by this name.
    """
    return encodable(clean(name)).replace("\n", "\\n").replace("\t", "\\t")


_OWN = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOCTTY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | _OWN | _NO_LINK | getattr(os, "O_DIRECTORY", 0)
# To open an existing file. Non-blocking, as opening a FIFO waits for its reader.
_TO_WRITE = os.O_WRONLY | _OWN | _NO_LINK | getattr(os, "O_NONBLOCK", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _OWN


class PathError(Exception):
    """The path is invalid or cannot be accessed. The message completes "'PATH': …"."""


class Entry(NamedTuple):
    """An entry of a folder. `kind` is "folder", "file", "link" or "other"."""

    name: str
    kind: str


class _Folder(NamedTuple):
    """An open folder. Where the system cannot open folders, `descriptor` is None and names are joined to the path."""

    path: Path
    descriptor: int | None

    def named(self, name: str) -> str:
        return name if self.descriptor is not None else str(self.path / name)

    def status(self, name: str) -> os.stat_result:
        """The status of an entry. Links are not followed."""
        return os.stat(self.named(name), dir_fd=self.descriptor, follow_symlinks=False)


class Tree:
    """The files below `root`, an absolute path without links. May be used from several threads.

    An absolute path is accepted if it begins with `root` or one of `names`, other paths that stand for the root folder.
    `in_open_folders` is false where the system cannot open files relative to a folder.
    """

    def __init__(
        self,
        root: Path,
        *,
        names: Iterable[str] = (),
        max_entries: int = MAX_ENTRIES,
        in_open_folders: bool = _HAS_DESCRIPTORS,
    ) -> None:
        self._root = root
        self._names = [_slashes(name).rstrip("/") for name in (str(root), *names)]
        self._max_entries = max_entries
        self._in_open_folders = in_open_folders

    def read(self, path: str) -> bytes:
        """The content of a regular file. Raises `PathError`."""
        with self._file(path) as (folder, name), open_file(folder.named(name), folder.descriptor) as file:
            return read_rest(file, MAX_FILE_BYTES)

    def write(self, path: str, data: bytes) -> None:
        """Replace the content of a file atomically: concurrent readers get either the old or the new content.

        Raises `PathError`, and then leaves the old content.
        """
        with self._file(path) as (folder, name):
            mode = _mode_to_keep(folder, name)
            # Not derived from the file's name, which may already have the maximum length.
            new = folder.named(f".{secrets.token_hex(8)}.tmp")
            descriptor = os.open(new, _NEW, 0o666, dir_fd=folder.descriptor)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    if mode is not None and hasattr(os, "fchmod"):
                        os.fchmod(descriptor, mode)
                    file.write(data)
                old, at = folder.named(name), folder.descriptor
                os.replace(new, old, src_dir_fd=at, dst_dir_fd=at)
            except BaseException:
                with suppress(OSError):
                    os.unlink(new, dir_fd=folder.descriptor)
                raise

    def entries(self, path: str) -> tuple[list[Entry], bool]:
        """Up to `max_entries` entries of a folder, sorted by name, and whether these are all. Raises `PathError`."""
        with self._folder(self._parts(path)) as folder:
            place = folder.path if folder.descriptor is None else folder.descriptor
            with os.scandir(place) as found:
                entries = [Entry(one.name, _kind(one)) for one in islice(found, self._max_entries + 1)]
        return sorted(entries[: self._max_entries]), len(entries) <= self._max_entries

    def _parts(self, path: str) -> list[str]:
        """The components of a path below the root folder. Raises `PathError` for one that could lead out of it."""
        if "\0" in path:
            raise PathError("no file can have a zero byte in its name")
        below = _slashes(path)
        for root in self._names:
            rest = below.removeprefix(root)
            if below.startswith("/" if root == "" else root) and rest[:1] in ("", "/"):
                below = rest.removeprefix("/")
                break
        if below.startswith("/") or os.path.isabs(below) or os.path.splitdrive(below)[0]:  # noqa: PTH117 (a text)
            raise PathError("it is absolute, and not below the root folder")
        names = [name for name in below.split("/") if name not in ("", ".")]
        if ".." in names:
            raise PathError("with '..' it could lead out of the root folder")
        if os.name == "nt" and any(":" in name for name in names):
            raise PathError("with ':' it could name a device or a stream")
        return names

    @contextmanager
    def _file(self, path: str) -> Iterator[tuple[_Folder, str]]:
        """The open folder that contains the file, and the file's name."""
        *folders, name = self._parts(path) or [""]
        if not name:
            raise PathError("it is the root folder, not a file")
        with self._folder(folders) as folder:
            with suppress(FileNotFoundError):
                if _is_link(folder.status(name)):
                    raise PathError(_WORDS[errno.ELOOP])
            yield folder, name

    @contextmanager
    def _folder(self, names: list[str]) -> Iterator[_Folder]:
        try:
            descriptor = os.open(self._root, _FOLDER) if self._in_open_folders else None
        except OSError as problem:
            raise PathError(f"the root folder cannot be opened: {problem.strerror}") from problem
        folder = _Folder(self._root, descriptor)
        try:
            for name in names:
                folder = _below(folder, name)
            yield folder
        except OSError as problem:
            raise PathError(_WORDS.get(problem.errno or 0) or problem.strerror or str(problem)) from problem
        finally:
            if folder.descriptor is not None:
                os.close(folder.descriptor)


def _slashes(path: str) -> str:
    return path.replace(os.sep, "/")


def _below(folder: _Folder, name: str) -> _Folder:
    """Open the folder `name` in `folder`, and close `folder`."""
    try:
        status = folder.status(name)
        if _is_link(status):
            raise PathError(f"{name!r} is a link, and links are not followed")
        if not stat.S_ISDIR(status.st_mode):
            raise PathError(f"{name!r} is not a folder")
        if folder.descriptor is None:
            return _Folder(folder.path / name, None)
        # Fails if a link has replaced the folder in the meantime.
        descriptor = os.open(name, _FOLDER, dir_fd=folder.descriptor)
    except FileNotFoundError as problem:
        raise PathError(f"there is no folder {name!r}") from problem
    os.close(folder.descriptor)
    return _Folder(folder.path / name, descriptor)


def _is_link(status: os.stat_result) -> bool:
    # On Windows a junction or mount point leads out of the root folder as a link does.
    return stat.S_ISLNK(status.st_mode) or bool(getattr(status, "st_reparse_tag", 0))


def _mode_to_keep(folder: _Folder, name: str) -> int | None:
    """The permissions of an existing file, or None if it does not exist. Raises `OSError` if it is not a writable
    regular file.
    """
    try:
        mode = folder.status(name).st_mode
        if not stat.S_ISREG(mode):
            raise irregular(mode, name)
        # The file is replaced, not written to, but a file without write permission must not be replaced either.
        os.close(os.open(folder.named(name), _TO_WRITE, dir_fd=folder.descriptor))
    except FileNotFoundError:
        return None
    return stat.S_IMODE(mode)


def _kind(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_symlink():
            return "link"
        if entry.is_dir(follow_symlinks=False):
            return "folder"
        return "file" if entry.is_file(follow_symlinks=False) else "other"
    except OSError:  # Deleted in the meantime.
        return "other"
