"""Import and export of entries: finds other hosts' files, compares entries, and prints the results.

Hosts are found here as they are named on a command line: the files that hold their servers, and an entry in a host's
format, with a program path that works for the host.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.transports.stdio.launch import command_words, references
from gaia_mcp.config.entries import read_entry
from gaia_mcp.core.errors import ConfigError
from gaia_mcp.core.files import open_file
from gaia_mcp.core.names import did_you_mean
from gaia_mcp.core.paths import cache_folder, home_expanded, is_there
from gaia_mcp.hosts.conversion import BY_VALUE, entry_for
from gaia_mcp.hosts.dialects import NotCarriedError, choice_by_names, has_patterns
from gaia_mcp.hosts.files import Place, all_places, format_of, place_of, places, project_places, read_document
from gaia_mcp.hosts.known import HOSTS, HostProgram
from gaia_mcp.storage.server_cache import ServerCache

if TYPE_CHECKING:
    from gaia_mcp.hosts.dialects import Value

# The PATH of a desktop's programs on every system, where a launcher from a person's own folder has no interpreter.
_DESKTOP_PATH = ("/usr/bin", "/bin", "/usr/sbin", "/sbin")
# The first line of a script whose interpreter is searched on PATH, as npx is one.
_SEARCHED = re.compile(rb"#![ \t]*/usr/bin/env[ \t]+(?:-S[ \t]+)?([\w.+-]+)")
# As Linux reads of the first line.
MAX_LINE_BYTES = 256


class NotExportedError(ConfigError):
    """An entry that a host does not support."""

    def __init__(self, name: str, host: HostProgram, problem: str, *, hint: str = "") -> None:
        super().__init__(f"{name!r} cannot be exported to {host.title}: {problem}", hint=hint, case="not-exported")
        self.name = name


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


def home_alone(name: str, default: str | None) -> str | None:
    """The value of a variable that may be written to any file: only the home folder, which is not a secret."""
    return os.environ.get(name) or default if name in ("HOME", "USERPROFILE") else None


def whatever_is_set(name: str, default: str | None) -> str | None:
    """The value of any variable, as a shell would expand it; None if it is not set."""
    return os.environ.get(name) or default if default is not None else os.environ.get(name)


def _known_tools(name: str, raw: Mapping[str, Any]) -> list[str] | None:
    """The names of all cached tools of the server, including excluded ones; None if they are not cached."""
    tools = ServerCache(cache_folder(), read_entry(name, raw)).listed()
    return None if tools is None else [tool["name"] for tool in tools]


def _missing_folder(program: str) -> str | None:
    """The folder of the interpreter that a script needs and a desktop's program does not find; None for any other
    program.
    """
    try:
        with open_file(program) as file:
            match = _SEARCHED.match(file.read(MAX_LINE_BYTES))
    except OSError:
        return None  # Not there, or with a variable in its path.
    found = shutil.which(match[1].decode()) if match is not None else None
    folder = os.path.dirname(os.path.abspath(found)) if found is not None else ""  # noqa: PTH100, PTH120
    return folder if folder and folder not in _DESKTOP_PATH else None


def entry_for_host(
    name: str, raw: Mapping[str, Any], host: HostProgram, old: Any, variables: Value
) -> tuple[dict[str, Any], list[str]]:
    """The entry in the host's format, and remarks about it. `old` is the entry that it replaces, if any.

    Raises `ConfigError` for an entry that the host does not support.
    """
    entry = dict(raw)
    remarks: list[str] = []
    if isinstance(entry.get("command"), str):
        command, entry["args"] = command_words(name, entry["command"], entry.get("args"), references(os.environ))
        entry["command"] = os.path.expanduser(command)  # noqa: PTH111 (hosts take ~ for a name)
        if isinstance(entry.get("cwd"), str):
            entry["cwd"] = os.path.expanduser(entry["cwd"])  # noqa: PTH111
        if host.is_desktop and not os.path.dirname(command) and "$" not in command:  # noqa: PTH120
            found = shutil.which(command)
            if found is None:
                remarks.append(f"{command!r} is not on the PATH here, and may not be found there")
            else:
                entry["command"] = os.path.abspath(found)  # noqa: PTH100 (links lead out of a virtual environment)
                remarks.append(
                    f"{command!r} is written as {entry['command']}: {host.title} does not have the shell's PATH"
                )
        env = entry.get("env") or {}
        if host.is_desktop and "PATH" not in env and (needed := _missing_folder(entry["command"])) is not None:
            entry["env"] = {"PATH": os.pathsep.join([needed, *_DESKTOP_PATH]), **env}
            remarks.append(f"PATH is written with {needed}, whose interpreter {command!r} needs")
    if host.dialect.tools.is_known and has_patterns(entry) and (tools := _known_tools(name, raw)) is not None:
        entry |= choice_by_names(entry, tools)
        remarks.append("patterns of tools are written as the names that they match now, since the host takes names")
    try:
        theirs, told = entry_for(name, entry, host.dialect, old=old, value=variables)
    except NotCarriedError as problem:
        hint = "set its variables, and write their values with --expand" if str(problem).endswith(BY_VALUE) else ""
        raise NotExportedError(name, host, str(problem), hint=hint) from None
    expand = ", with --expand, if it is set"
    return theirs, [*remarks, *(text + expand if text.endswith(BY_VALUE) else text for text in told)]
