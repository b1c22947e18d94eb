"""The Python files that the entries of a project's file would run, and their content.

They are approved together with the file that names them. The imports of an entry's code are known only while it runs,
and a new file may shadow a module of another package. So the approval includes all files that the code could import
from its folder, or from the entry's `PYTHONPATH`, inside the project. Installed packages and files elsewhere are not
included, nor are the files that a command of the project runs. Annotations are evaluated, for the same reason as in
`cli/grammar/model`.
"""

import errno
import hashlib
import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from gaia_mcp.config.entries import read_entry, servers_in
from gaia_mcp.errors import ConfigFileError, EntryError
from gaia_mcp.filebytes import read_file
from gaia_mcp.storage.json_files import parse_object

# An unreadable file cannot run. Once it is readable, it counts as changed.
UNREADABLE = ""
# Every command in the folder reads them: this many take a tenth of a second.
MAX_FILES = 2000
MAX_BYTES = 32 << 20
# The limit for files and folders of all kinds that are examined.
MAX_LOOKED_AT = 20_000
# The suffixes of files that Python imports.
_SUFFIXES = (".py", ".pyw", ".pyc", ".so", ".pyd")
# Installed packages are here. They are imported under other names, if at all.
_INSTALLED = ("site-packages", "dist-packages", "node_modules")


class Limits(NamedTuple):
    """How much code is read: files, bytes, and entries of folders of all kinds."""

    files: int = MAX_FILES
    size: int = MAX_BYTES
    entries: int = MAX_LOOKED_AT


LIMITS = Limits()


class TooMuchCodeError(Exception):
    """A folder has too much code to be read by every command. The message completes "FILE is not used, since it …"."""


def code_of(path: Path, data: bytes, environ: Mapping[str, str], *, limits: Limits = LIMITS) -> dict[str, str]:
    """The digests of the Python files that the entries in `data`, the content of the file `path`, could run, by the
    paths of the files.

    A file that does not exist, or cannot be read, is `UNREADABLE`. The files of a module are those from which it would
    be imported if they existed. Raises `TooMuchCodeError`.
    """
    try:
        servers = servers_in(parse_object(data, path), path)
    except ConfigFileError:
        return {}  # No entry is used.
    code = _Code(path.parent, limits)
    for name, raw in servers.items():
        code.add(name, raw, path, environ)
    return code.digests


class _Code:
    """The digests of the files that the entries of the project in `folder` could run."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        self.digests: dict[str, str] = {}
        self._limits = limits
        self._project = os.path.realpath(folder)
        self._bytes = 0
        self._looked_at = 0
        # Symbolic links may form a cycle.
        self._seen: set[tuple[int, int]] = set()

    def add(self, name: str, raw: Any, path: Path, environ: Mapping[str, str]) -> None:
        """Add the files that an entry could run."""
        if not isinstance(raw, dict) or not ("handler" in raw or "agent" in raw):
            return
        from gaia_mcp.config.served import Served

        try:
            target = read_entry(name, raw, path).target
        except EntryError:
            return  # The entry is invalid.
        if not isinstance(target, Served):
            return
        files, folders = target.source_files(name, environ, path.parent)
        for file in files:
            self._read(file)
        for folder in folders:
            if os.path.join(os.path.realpath(folder), "").startswith(os.path.join(self._project, "")):  # noqa: PTH118
                for file in self._importable(folder):
                    self._read(file)

    def _importable(self, beginning: str) -> Iterator[str]:
        """The files in a folder and below it that Python can import. A folder that cannot be read is one of them."""
        # Without recursion: a path may have two thousand parts.
        folders = [beginning]
        while folders:
            folder = folders.pop()
            entries = self._entries(folder)
            if entries is None:
                yield folder
            for entry in entries or ():
                if entry.name.endswith(_SUFFIXES) and not _is_folder(entry):
                    # `x.cpython-311.pyc` is compiled from a source file, and is not loaded on its own.
                    if not (entry.name.endswith(".pyc") and "." in entry.name[:-4]):
                        yield entry.path
                elif "." not in entry.name and entry.name not in _INSTALLED and _is_folder(entry):
                    folders.append(entry.path)

    def _entries(self, folder: str) -> list[os.DirEntry[str]] | None:
        """The entries of a folder, by name; empty if it was visited before, None if it cannot be read."""
        try:
            status = os.stat(folder)  # noqa: PTH116
            if (status.st_dev, status.st_ino) in self._seen:
                return []
            self._seen.add((status.st_dev, status.st_ino))
            with os.scandir(folder) as entries:
                found = sorted(islice(entries, self._limits.entries + 1), key=lambda entry: entry.name)
        except OSError:
            return None
        self._looked_at += len(found)
        if self._looked_at > self._limits.entries:
            raise TooMuchCodeError(
                f"runs code beside more than {self._limits.entries} files, such as those in {folder!r}"
            )
        return found

    def _read(self, file: str) -> None:
        if file in self.digests:
            return
        try:
            content = read_file(file, self._limits.size)
        except OSError as problem:
            self.digests[file] = UNREADABLE
            self._bytes += self._limits.size if problem.errno == errno.EFBIG else 0
        else:
            self.digests[file] = hashlib.sha256(content).hexdigest()
            self._bytes += len(content)
        if len(self.digests) > self._limits.files or self._bytes >= self._limits.size:
            is_small = self._bytes < self._limits.size
            limit = f"{self._limits.files} files" if is_small else f"{self._limits.size >> 20} MB"
            raise TooMuchCodeError(f"runs code that could import more than {limit}, such as {file!r}")


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False  # Such as a link to itself.
