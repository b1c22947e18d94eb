"""The servers of other hosts: shown, and gathered for an import."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.screen.output import Form, counted, error_object, remark, report, say, say_json
from gaia_mcp.cli.screen.terminal import columns
from gaia_mcp.cli.transfer.places import home_folder, project_folder, working_folder

if TYPE_CHECKING:
    from gaia_mcp.errors import MCPError
    from gaia_mcp.hosts.merging import Found
    from gaia_mcp.hosts.places import Place


def show_hosts() -> int:
    """Show which hosts are here, and how many servers each has; the exit code."""
    from gaia_mcp.errors import MCPError
    from gaia_mcp.hosts.files import servers_of
    from gaia_mcp.hosts.places import all_places
    from gaia_mcp.paths import shown

    rows: list[dict[str, Any]] = []
    errors: list[MCPError] = []
    for place in all_places(os.environ, home_folder(), working_folder()):
        row: dict[str, Any] = {"host": place.host.key, "title": place.host.title, "scope": place.scope}
        row |= {"path": str(place.path), "servers": None}
        try:
            row["servers"] = list(servers_of(place.path, place.layout, place.host.title))
        except MCPError as error:
            row["error"] = error_object(error)
            errors.append(error)
        if row["servers"] != [] or place.scope != "local":
            rows.append(row)
    if Form.as_json:
        say_json({"hosts": rows})
    else:
        for line in columns([_cells(row, shown(Path(row["path"]))) for row in rows]):
            say(line)
        if not rows:
            remark("no file of another host was found here; name one: gaia mcp import FILE")
        elif any(row["servers"] for row in rows):
            remark("import from one with: gaia mcp import HOST, or from all with: gaia mcp import --all")
    return max([int(report(error)) for error in errors], default=0)


def _cells(row: dict[str, Any], path: str) -> list[str]:
    count = "cannot be read" if row["servers"] is None else counted(len(row["servers"]), "server")
    return [row["host"], count, path if row["scope"] == "user" else f"{path} ({row['scope']})"]


def places_here(*, project: bool) -> list[Place]:
    """The hosts' files that are here: the person's own, or the project's. Raises `ConfigError`."""
    from gaia_mcp.hosts.places import all_places

    found = all_places(os.environ, home_folder(), project_folder() if project else None)
    return [place for place in found if (place.scope != "user") is project]


def gathered(places: list[Place], names: list[str], errors: list[MCPError]) -> list[Found]:
    """The entries in `places`, in our format, or with the reason why not; with `names`, only those. What goes wrong is
    added to `errors`, and stops nobody else.
    """
    from gaia_mcp.config.entries import read_entry
    from gaia_mcp.errors import EntryError, MCPError
    from gaia_mcp.hosts.dialects import NotCarriedError
    from gaia_mcp.hosts.files import servers_of
    from gaia_mcp.hosts.merging import Found, tidy_name
    from gaia_mcp.hosts.places import folder_of
    from gaia_mcp.hosts.reading import entry_from
    from gaia_mcp.hosts.switches import switched_off

    here = working_folder()
    found: list[Found] = []
    for place in places:
        try:
            servers = servers_of(place.path, place.layout, place.host.title)
        except MCPError as error:
            errors.append(error)
            continue
        folder = folder_of(place, here)
        off = switched_off(place, folder, os.environ, home_folder())
        for theirs, raw in servers.items():
            name = tidy_name(theirs)
            try:
                entry, remarks = entry_from(raw, place.host.dialect, folder=str(folder) if folder else None)
                if not name:
                    raise NotCarriedError("its name cannot be one here")
                read_entry(name, entry)
            except NotCarriedError as problem:
                found.append(Found(theirs, theirs, place, {}, reason=str(problem)))
            except EntryError as problem:
                found.append(Found(theirs, theirs, place, {}, reason=problem.message.partition(": ")[2]))
            else:
                if folder is not None:
                    remarks += _settled(entry, folder)
                if theirs in off:
                    entry["disabled"] = True
                if name != theirs:
                    remarks = [f"is called {theirs!r} there", *remarks]
                found.append(Found(name, theirs, place, entry, tuple(remarks)))
    return _chosen(found, names, errors) if names else found


def _settled(entry: dict[str, Any], folder: Path) -> list[str]:
    """Make what is named as seen from a project's folder be found from everywhere; the remarks about that."""
    from gaia_mcp.cli.entries.command_line import is_relative

    if "command" not in entry:
        return []
    if "cwd" in entry:
        if not entry["cwd"].startswith(("~", "${")):
            entry["cwd"] = str(folder / entry["cwd"])
        return []
    if not is_relative(entry["command"]) and not any(_is_file_in(folder, word) for word in entry["args"]):
        return []
    entry["cwd"] = str(folder)
    return [f"is started in {folder}, where its files are"]


def _is_file_in(folder: Path, argument: str) -> bool:
    try:
        return bool(argument) and not Path(argument).is_absolute() and (folder / argument).exists()
    except (OSError, ValueError):
        return False  # No name of a file at all.


def _chosen(found: list[Found], names: list[str], errors: list[MCPError]) -> list[Found]:
    """What was asked for, as it is called there or else here; a name that nobody has is an error."""
    from gaia_mcp.errors import ConfigError
    from gaia_mcp.names import did_you_mean

    chosen: list[Found] = []
    for name in names:
        hits = [one for one in found if one.theirs == name] or [one for one in found if one.name == name]
        chosen += hits
        if not hits:
            there = list(dict.fromkeys(one.theirs for one in found))
            hint = did_you_mean(name, there) or f"there are: {', '.join(there) or 'none'}"
            errors.append(ConfigError(f"no server {name!r} among those to be imported", hint=hint))
    return [one for one in found if one in chosen]
