"""Other hosts, as named on a command line, and the files that hold their servers."""

from __future__ import annotations

import os
from pathlib import Path

from gaia_mcp.errors import ConfigError
from gaia_mcp.hosts.files import read_document
from gaia_mcp.hosts.known import HOSTS, HostProgram
from gaia_mcp.hosts.places import Place, all_places, format_of, place_of, places, project_places
from gaia_mcp.names import did_you_mean
from gaia_mcp.paths import home_expanded, is_there


def known_host(word: str) -> HostProgram:
    """The host with this name. Raises `ConfigError` with a suggestion."""
    if word not in HOSTS:
        hint = did_you_mean(word, HOSTS) or f"the hosts are {', '.join(HOSTS)}"
        raise ConfigError(f"{word!r} is not a known host", hint=hint)
    return HOSTS[word]


def host_or_file(word: str, *, project: bool) -> list[Place]:
    """The files of the host named `word`, or the file `word`, whether they exist or not.

    Raises `ConfigError` for a word that is neither, `ConfigFileError` for a file that cannot be read.
    """
    if word in HOSTS:
        host = HOSTS[word]
        if not project and host.user:
            return places(host, os.environ, home_folder())
        found = project_places(host, project_folder(), os.environ, home_folder())
        if not found:
            raise ConfigError(f"{host.title} has no file of servers in a project", hint="leave --project out")
        return found
    path = home_expanded(Path(word))
    if not is_there(path) and not path.is_symlink() and not path.suffix and "/" not in word:
        names = did_you_mean(word, HOSTS) or f"the hosts are {', '.join(HOSTS)}"
        raise ConfigError(f"{word!r} is neither a known host nor a file", hint=names)
    document = read_document(path, format_of(path)) if is_there(path) else {}
    return [place_of(path, document, os.environ, home_folder())]


def places_here(*, project: bool) -> list[Place]:
    """The hosts' files that exist: the user's, or the project's. Raises `ConfigError`."""
    found = all_places(os.environ, home_folder(), project_folder() if project else None)
    return [place for place in found if (place.scope != "user") is project]


def home_folder() -> Path:
    """The user's home folder. Raises `ConfigFileError` if it is unknown."""
    return home_expanded(Path("~"))


def working_folder() -> Path | None:
    """The working folder; None if it was removed."""
    try:
        return Path.cwd()
    except OSError:
        return None


def project_folder() -> Path:
    """The working folder, as the project's folder. Raises `ConfigError` if it was removed."""
    folder = working_folder()
    if folder is None:
        raise ConfigError("the working folder no longer exists", hint="change to the project's folder")
    return folder
