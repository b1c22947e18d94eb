"""The approvals of project files, each for the exact content of one file and of the code that its entries would run.

A file in a working folder can run any program: it is used only after the user has approved it, and only until it, or
that code, changes.

Annotations are evaluated, for the same reason as in `cli/grammar`.
"""

import errno
import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from gaia_mcp.config.command import NOTHING
from gaia_mcp.config.entries import read_entry, servers_in
from gaia_mcp.core.errors import ConfigFileError, EntryError
from gaia_mcp.core.files import read_file
from gaia_mcp.core.paths import PROJECT_FILES, approvals_file
from gaia_mcp.storage.atomic import locked, snapshot_of
from gaia_mcp.storage.json_files import parse_object, read_object, write_object

# Every command in the folder reads the file. A thousand servers take a tenth of this.
MAX_PROJECT_BYTES = 4 << 20


# The member of the approvals with the digests of code, by project and file.
_CODE = "code"
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


class ProjectFile(NamedTuple):
    """A project's own servers: the file, its content, and whether that content is approved. One with a `problem` cannot
    be approved; if it cannot be read, it has no content.

    `code` are the digests of the Python files that its entries could run, as `code_of` finds them. If the file itself
    is approved, and one of these has changed since, has been added or removed, that is `changed`.
    """

    path: Path
    data: bytes
    approved: bool
    problem: str = ""
    code: Mapping[str, str] = NOTHING
    changed: str = ""


def find_project_file(cwd: Path, environ: Mapping[str, str] | None = None) -> ProjectFile | None:
    """The project's file in the working folder: the first readable one, else an unreadable one, None without any.

    Raises `ConfigFileError` for approvals that cannot be read.
    """
    unreadable: ProjectFile | None = None
    for name in PROJECT_FILES:
        path = cwd / name
        try:
            data = read_file(path, MAX_PROJECT_BYTES)
        except FileNotFoundError:
            continue
        except OSError as cause:
            unreadable = unreadable or ProjectFile(path, b"", False, f"cannot be read: {cause.strerror}")
            continue
        return _judged(path, data, environ)
    return unreadable


def _judged(path: Path, data: bytes, environ: Mapping[str, str] | None) -> ProjectFile:
    """Whether this content is approved, with the code that it runs."""
    # Most folders have no file of servers.

    place, document = os.path.realpath(path), read_object(approvals_file(environ)) or {}
    try:
        code = code_of(path, data, os.environ if environ is None else environ)
    except TooMuchCodeError as error:
        return ProjectFile(path, data, False, str(error))
    if _approvals_in(document, approvals_file(environ)).get(place) != _digest(data):
        return ProjectFile(path, data, False, code=code)
    approved = _code_in(document, place)
    changed = next((file for file in {**code, **approved} if approved.get(file) != code.get(file)), "")
    return ProjectFile(path, data, not changed, code=code, changed=changed)


def approve(project: ProjectFile, environ: Mapping[str, str] | None = None) -> None:
    """Approve this content of this file, and of the code that it runs. Raises `ConfigFileError`."""
    _change(os.path.realpath(project.path), _digest(project.data), project.code, environ)


def revoke(path: Path, environ: Mapping[str, str] | None = None) -> bool:
    """Revoke the approval of a file. Returns whether it had one. Raises `ConfigFileError`."""
    if not approvals_file(environ).exists():
        return False  # Without creating its folder.
    return _change(os.path.realpath(path), None, {}, environ)


def _change(project: str, digest: str | None, code: Mapping[str, str], environ: Mapping[str, str] | None) -> bool:
    path = approvals_file(environ)
    with locked(path):
        before = snapshot_of(path)
        document = parse_object(before.data, path) if before.exists else {}
        approvals = _approvals_in(document, path)
        had = approvals.pop(project, None) is not None
        if digest is not None:
            approvals[project] = digest
        known = document.get(_CODE)
        others = {key: value for key, value in known.items() if key != project} if isinstance(known, dict) else {}
        by_project = {**others, **({project: dict(code)} if code else {})}
        document = {key: value for key, value in document.items() if key != _CODE}
        write_object(path, {**document, "approved": approvals, **({_CODE: by_project} if by_project else {})}, before)
    return had


def _code_in(document: dict[str, Any], project: str) -> dict[str, Any]:
    """The approved code of a project; none if it was approved by a version that could not run any."""
    by_project = document.get(_CODE)
    code = by_project.get(project) if isinstance(by_project, dict) else None
    return code if isinstance(code, dict) else {}


def _approvals_in(document: dict[str, Any], path: Path) -> dict[str, str]:
    approved = document.get("approved", {})
    if not isinstance(approved, dict):
        raise ConfigFileError(
            path, "'approved' is not an object", hint="delete the file, and approve the projects again"
        )
    return {key: value for key, value in approved.items() if isinstance(value, str)}


def _digest(data: bytes) -> str:
    import hashlib

    return hashlib.sha256(data).hexdigest()


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
            self.digests[file] = _digest(content)
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
