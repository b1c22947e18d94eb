"""The hosts' files on this machine: where they are, and the host of a given file; read, and changed atomically, with
their mode, symbolic links, byte order mark and line endings kept; and the servers that a host has disabled outside
their entries.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from gaia_mcp.core.errors import ConfigFileError
from gaia_mcp.core.files import read_file
from gaia_mcp.core.paths import is_there
from gaia_mcp.hosts import Layout, parsed, read_servers, with_server
from gaia_mcp.hosts.dialects import COMMAND_KEYS, URL_KEYS
from gaia_mcp.hosts.known import BY_KEY, HOSTS, HostProgram
from gaia_mcp.storage.atomic import MAX_BYTES, locked, snapshot_of, write_bytes
from gaia_mcp.text.strict_json import TextProblemError, place_in

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


class Place(NamedTuple):
    """One file of one host."""

    host: HostProgram
    path: Path
    layout: Layout
    scope: str


def places(host: HostProgram, environ: Mapping[str, str], home: Path, platform: str = sys.platform) -> list[Place]:
    """The files with the user's servers in `host`, the default one first, whether they exist or not."""
    paths = (_filled(template, environ, home, platform) for template in host.user)
    return [Place(host, path, host.layout, "user") for path in paths if path is not None]


def project_places(host: HostProgram, folder: Path, environ: Mapping[str, str], home: Path) -> list[Place]:
    """The files with `host`'s servers of the project in `folder`."""
    found = []
    if host.project is not None:
        found.append(Place(host, folder / host.project, host.layout, "project"))
    if host.key == "claude-code":
        # Where `claude mcp add` writes by default: servers of the project, private to this user.
        (own,) = places(host, environ, home)
        root = ("projects", str(folder), "mcpServers")
        found.append(Place(host, own.path, Layout("json", root), "local"))
    return found


def folder_of(place: Place, here: Path | None) -> Path | None:
    """The folder of the project whose servers are in `place`; `here` for a local place, None for a user's own file."""
    if place.scope == "local":
        return here
    if place.scope != "project" or place.host.project is None:
        return None
    return place.path.absolute().parents[len(Path(place.host.project).parts) - 1]


def chosen_place(candidates: list[Place]) -> Place:
    """The file to write: the first one that exists, else the default."""
    return next((place for place in candidates if is_there(place.path)), candidates[0])


def _filled(template: str, environ: Mapping[str, str], home: Path, platform: str) -> Path | None:
    system = {"darwin": "mac", "win32": "win"}.get(platform, "linux")
    limit, colon, rest = template.partition(":")
    if colon and limit in ("mac", "win", "linux"):
        if limit != system:
            return None
        template = rest
    base, _, below = template.partition("/")
    name, colon, default = base.strip("{}").partition(":")
    if colon:
        return Path(environ.get(name) or home / default) / below
    folders = {"home": home, "dot": Path(environ.get("XDG_CONFIG_HOME") or home / ".config")}
    if system == "mac":
        folders["config"] = home / "Library" / "Application Support"
        folders["dot"] = home / ".config"
    elif system == "win":
        folders["config"] = Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
        folders["local"] = Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        folders["config"] = folders["dot"]
    return folders[name] / below


def all_places(environ: Mapping[str, str], home: Path, folder: Path | None) -> Iterator[Place]:
    """Every existing file of every host: the user's, and those of the project in `folder`."""
    seen: set[tuple[Path, tuple[str, ...]]] = set()
    for host in HOSTS.values():
        candidates = places(host, environ, home)
        if folder is not None:
            candidates += project_places(host, folder, environ, home)
        for place in candidates:
            if (place.path, place.layout.root) not in seen and is_there(place.path):
                seen.add((place.path, place.layout.root))
                yield place


def place_of(path: Path, document: Any, environ: Mapping[str, str], home: Path) -> Place:
    """The place that a given file is: identified by its path, else by its name, else by its content."""
    whole = path.absolute()
    for host in HOSTS.values():
        for place in places(host, environ, home):
            if place.path == whole:
                return place
    for host in HOSTS.values():
        if host.project is not None and whole.parts[-len(Path(host.project).parts) :] == Path(host.project).parts:
            return Place(host, path, host.layout, "project")
    host, layout = layout_of(document, format_of(path))
    return Place(host, path, layout, "file")


def layout_of(document: Any, kind: str) -> tuple[HostProgram, Layout]:
    """The host whose format `document`, parsed from the format `kind`, probably has, and its layout."""
    keys = document if isinstance(document, dict) else {}
    key = next((key for key in BY_KEY if key in keys and not is_entry(keys[key])), None)
    if key is None and any(map(is_entry, keys.values())):
        return HOSTS["mcpm"], HOSTS["mcpm"].layout
    if key == "mcp" and isinstance(keys[key], dict) and isinstance(keys[key].get("servers"), dict):
        return HOSTS["vscode"], Layout(kind, ("mcp", "servers"))  # Its settings, their former location.
    if key == "mcp" and isinstance(keys[key], dict) and isinstance(keys[key].get("servers"), list):
        return HOSTS["prototype"], HOSTS["prototype"].layout._replace(format=kind)
    usual = {"toml": "codex", "yaml": "goose"}.get(kind, "claude-code")
    host = HOSTS[BY_KEY[key] if key is not None else usual]
    if isinstance(keys.get("mcpServers"), list):
        host = HOSTS["continue"]
    return host, host.layout._replace(format=kind)


def is_entry(value: Any) -> bool:
    """Whether a value is the entry of a server, rather than entries by their names, one of which may be `url`."""
    if not isinstance(value, dict):
        return False
    of_zed = value.get("command")
    return (isinstance(of_zed, dict) and "path" in of_zed) or any(
        isinstance(value.get(key), (str, list)) for key in (*COMMAND_KEYS, *URL_KEYS)
    )


def format_of(path: Path) -> str:
    """The format of a file, by its name."""
    return {".toml": "toml", ".yaml": "yaml", ".yml": "yaml"}.get(path.suffix.lower(), "json")


def switched_off(place: Place, folder: Path | None, environ: Mapping[str, str], home: Path) -> set[str]:
    """The names of the servers of `place` that are disabled by another key, or in another file. `folder` is that of the
    project.
    """
    if place.host.key == "gemini":
        return _names(_document(place.path), ("mcp", "excluded"))
    if place.host.key == "claude-code" and place.scope != "user":
        (own,) = places(place.host, environ, home)
        key = "disabledMcpjsonServers" if place.scope == "project" else "disabledMcpServers"
        return _names(_document(own.path), ("projects", str(folder), key))
    return set()


def _document(path: Path) -> Any:
    try:
        return read_document(path, "json")
    except ConfigFileError:
        return None  # Reading its servers reports the error.


def _names(document: Any, keys: tuple[str, ...]) -> set[str]:
    for key in keys:
        document = document.get(key) if isinstance(document, dict) else None
    return {name for name in document if isinstance(name, str)} if isinstance(document, list) else set()
