"""`gaia mcp trust` and `untrust`: approve the servers of a project, or revoke the approval."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_mcp.cli.completion.file_names import folder_names
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import JSON
from gaia_mcp.cli.screen.output import counted
from gaia_mcp.text import one_line

if TYPE_CHECKING:
    from gaia_mcp.cli.lines import CommandLine
    from gaia_mcp.config.trust import ProjectFile

Folder = Annotated[
    Path | None,
    typer.Argument(
        metavar="[FOLDER]",
        help="The project's folder. Default: the working folder.",
        show_default=False,
        autocompletion=folder_names,
    ),
]

COMMON = (JSON,)


def trust(invocation: Invocation, folder: Folder = None) -> None:
    """Approve the servers of a project.

    Prints them as they are written now, and the files that handlers and agents can run: their own, and all that they
    could import from its folder. When one of these files changes, the servers have to be approved again.

    Example: gaia mcp trust
    """
    screen = invocation.screen
    from gaia_mcp.config.entries import read_entry, servers_in
    from gaia_mcp.config.trust import approve
    from gaia_mcp.core.paths import shown
    from gaia_mcp.storage.json_files import parse_object

    project = _project(screen.line, folder)
    # Parsed from the bytes that are approved, because the file may change after it was read.
    servers = servers_in(parse_object(project.data, project.path), project.path)
    for name, entry in servers.items():
        read_entry(name, entry, project.path)
        if not screen.as_json:
            # Unmasked and complete, because the approval covers all of it. Printed as JSON it stays on one line.
            screen.print_line(f"  {one_line(name)}: {json.dumps(entry, ensure_ascii=False)}")
    for file, digest in project.code.items():
        if not screen.as_json:
            screen.print_line(f"  {one_line(file)}: {f'sha256 {digest}' if digest else 'cannot be read'}")
    approve(project)
    with_code = f" and {counted(len(project.code), 'file')} of code" if project.code else ""
    screen.done(
        f"trusted {shown(project.path)} with {counted(len(servers), 'server')}{with_code}",
        trusted=str(project.path),
        servers=servers,
        **({"code": dict(project.code)} if project.code else {}),
    )


def untrust(invocation: Invocation, folder: Folder = None) -> None:
    """Revoke the approval of a project.

    Example: gaia mcp untrust
    """
    screen = invocation.screen
    from gaia_mcp.config.trust import revoke
    from gaia_mcp.core.paths import PROJECT_FILES, shown

    place = (folder or Path.cwd()).absolute()
    files = [place] if os.path.isfile(place) else [place / name for name in PROJECT_FILES]  # noqa: PTH113 (never raises)
    revoked = [str(path) for path in files if revoke(path)]
    if revoked:
        screen.done(f"no longer trusted: {', '.join(shown(Path(path)) for path in revoked)}", untrusted=revoked)
    else:
        screen.done(f"nothing in {shown(place)} was trusted", untrusted=[])


def _project(line: CommandLine, folder: Path | None) -> ProjectFile:
    from gaia_mcp.config.trust import find_project_file
    from gaia_mcp.core.errors import ConfigFileError
    from gaia_mcp.core.paths import PROJECT_FILES

    place = (folder or Path.cwd()).absolute()
    folder = place.parent if os.path.isfile(place) else place  # noqa: PTH113
    project = find_project_file(folder)
    if project is None:
        problem = f"contains no {' and no '.join(PROJECT_FILES)}"
        raise ConfigFileError(
            folder, problem, hint=f"name the project's folder: {line.to_type('trust', more='FOLDER')}"
        )
    if project.problem:
        if project.data:
            hint = "move the code that it runs into a folder of its own, and change its entries"
            raise ConfigFileError(project.path, project.problem, hint=hint)
        raise ConfigFileError(project.path, project.problem, case="unreadable-file")
    if place not in (folder, project.path):
        problem = f"is not the file that is used there; that is {project.path.name}"
        approve = line.to_type("trust", more="FOLDER")
        raise ConfigFileError(place, problem, hint=f"read that one, and approve it by its folder: {approve}")
    return project
