"""The approvals of project files, each for the exact content of one file and of the code that it runs.

A file in a working folder can run any program. It is used only after the user has approved it, and only until it
changes. Annotations are evaluated, for the same reason as in `cli/grammar/model`.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gaia_mcp.config.command import NOTHING
from gaia_mcp.errors import ConfigFileError
from gaia_mcp.filebytes import read_file
from gaia_mcp.paths import PROJECT_FILES, approvals_file
from gaia_mcp.storage.atomic import locked, snapshot_of
from gaia_mcp.storage.json_files import parse_object, read_object, write_object

# Every command in the folder reads the file. A thousand servers take a tenth of this.
MAX_PROJECT_BYTES = 4 << 20


# The member of the approvals with the digests of code, by project and file.
_CODE = "code"


class ProjectFile(NamedTuple):
    """A project's own servers: the file, its content, and whether that content is approved. One with a `problem` cannot
    be approved; if it cannot be read, it has no content.

    `code` are the digests of the Python files that its entries could run, as `project_code` defines. If the file itself
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
    from gaia_mcp.config.project_code import TooMuchCodeError, code_of

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
