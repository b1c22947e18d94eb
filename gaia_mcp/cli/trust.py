"""`gaia mcp trust` and `untrust`: say whether a project's own servers may be used."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gaia_mcp.cli.options import DebugOption, JsonOption
from gaia_mcp.cli.output import done, say, speak

if TYPE_CHECKING:
    from gaia_mcp.config.trust import ProjectFile

Folder = Annotated[
    Path | None,
    typer.Argument(metavar="[FOLDER]", help="The project's folder. Default: the working folder.", show_default=False),
]


def trust(folder: Folder = None, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """Approve the servers that a project brings along, as they are written now.

    They are shown first. A later change of the file has to be approved again.

    Example: gaia mcp trust
    """
    from gaia_mcp.cli.listing import described
    from gaia_mcp.config.entries import read_entry
    from gaia_mcp.config.files import parse_object
    from gaia_mcp.config.store import servers_in
    from gaia_mcp.config.trust import approve
    from gaia_mcp.paths import shown

    speak(as_json=as_json, debug=debug)
    project = _project(folder)
    # From the very bytes that are approved, not from the file as it may be a moment later.
    servers = servers_in(parse_object(project.data, project.path), project.path)
    rows = [described(read_entry(name, entry, project.path)) for name, entry in servers.items()]
    approve(project)
    if not as_json:
        for row in rows:
            say(f"  {row['name']}: {row['target']}")
    listed = f"{len(rows)} server" + ("" if len(rows) == 1 else "s")
    done(f"trusted {shown(project.path)} with {listed}", trusted=str(project.path), servers=rows)


def untrust(folder: Folder = None, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """Take the approval of a project's servers back.

    Example: gaia mcp untrust
    """
    from gaia_mcp.config.trust import withdraw
    from gaia_mcp.paths import PROJECT_FILES, shown

    speak(as_json=as_json, debug=debug)
    place = (folder or Path.cwd()).absolute()
    files = [place] if place.is_file() else [place / name for name in PROJECT_FILES]
    withdrawn = [str(path) for path in files if withdraw(path)]
    if withdrawn:
        done(f"no longer trusted: {', '.join(shown(Path(path)) for path in withdrawn)}", untrusted=withdrawn)
    else:
        done(f"nothing in {shown(place)} was trusted", untrusted=[])


def _project(folder: Path | None) -> ProjectFile:
    from gaia_mcp.config.trust import find_project_file
    from gaia_mcp.errors import ConfigFileError
    from gaia_mcp.paths import PROJECT_FILES

    place = (folder or Path.cwd()).absolute()
    project = find_project_file(place.parent if place.is_file() else place)
    if project is None:
        problem = f"holds no {' and no '.join(PROJECT_FILES)}"
        raise ConfigFileError(place, problem, hint="name the project's folder: gaia mcp trust FOLDER")
    return project
