"""The approvals of projects' files, each for the exact content of one file.

A file in a working folder can name any program. It is used only after the user has read and approved it, and only until
it changes. Annotations are evaluated, for the same reason as in `cli/grammar/model`.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gaia_mcp.errors import ConfigFileError
from gaia_mcp.filebytes import read_file
from gaia_mcp.paths import PROJECT_FILES, approvals_file
from gaia_mcp.storage.atomic import locked, snapshot_of
from gaia_mcp.storage.json_files import parse_object, read_object, write_object

# Every command that is typed in the folder reads it. A thousand servers are a tenth of this.
MAX_PROJECT_BYTES = 4 << 20


class ProjectFile(NamedTuple):
    """A project's own servers: the file, its content, and whether that content is approved. One with a `problem`, why
    it cannot be read, has no content, and is not approved.
    """

    path: Path
    data: bytes
    approved: bool
    problem: str = ""


def find_project_file(cwd: Path, environ: Mapping[str, str] | None = None) -> ProjectFile | None:
    """The project's file in the working folder: the first that can be read, else one that cannot, None without any.

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
        return ProjectFile(path, data, _approvals(environ).get(os.path.realpath(path)) == _digest(data))
    return unreadable


def approve(project: ProjectFile, environ: Mapping[str, str] | None = None) -> None:
    """Approve this content of this file. Raises `ConfigFileError`."""
    _change(os.path.realpath(project.path), _digest(project.data), environ)


def revoke(path: Path, environ: Mapping[str, str] | None = None) -> bool:
    """Revoke the approval of a file; whether it had one. Raises `ConfigFileError`."""
    if not approvals_file(environ).exists():
        return False  # Its folder need not be made.
    return _change(os.path.realpath(path), None, environ)


def _change(project: str, digest: str | None, environ: Mapping[str, str] | None) -> bool:
    path = approvals_file(environ)
    with locked(path):
        before = snapshot_of(path)
        document = parse_object(before.data, path) if before.exists else {}
        approvals = _approvals_in(document, path)
        had = approvals.pop(project, None) is not None
        if digest is not None:
            approvals[project] = digest
        write_object(path, {**document, "approved": approvals}, before)
    return had


def _approvals(environ: Mapping[str, str] | None) -> dict[str, str]:
    path = approvals_file(environ)
    return _approvals_in(read_object(path) or {}, path)


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
