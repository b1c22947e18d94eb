"""What an import or an export would change: the entries of other hosts, converted to our format, or ours to theirs, and
compared with those that exist: which are new, which exist already, and which are in conflict.

The plan of an import reads files, but writes none; an export also writes the host's file. The file of a host that runs
handlers has a format of its own: it holds handlers in nearly our format, with secrets in a separate file.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.entries.building import anchored, is_relative, is_served, on_this_system
from gaia_mcp.cli.entries.targets import suggested_name
from gaia_mcp.cli.transfer import (
    NotExportedError,
    entry_for_host,
    home_alone,
    home_folder,
    host_or_file,
    working_folder,
)
from gaia_mcp.config.entries import ServerEntry, read_entry
from gaia_mcp.config.served import Served
from gaia_mcp.config.store import ConfigStore, ServersFile, in_own_format
from gaia_mcp.core.errors import ConfigError, ConfigFileError, EntryError, MCPError
from gaia_mcp.core.names import did_you_mean, tidy_name
from gaia_mcp.core.paths import is_there, shown
from gaia_mcp.hosts.conversion import entry_from
from gaia_mcp.hosts.dialects import NONE, NotCarriedError, UntranslatableError, Value, to_theirs
from gaia_mcp.hosts.dialects import OUR_NOTATION as REFERENCE
from gaia_mcp.hosts.files import Place, change_servers, folder_of, servers_of, switched_off
from gaia_mcp.hosts.masking import plain_secrets
from gaia_mcp.hosts.pasted import Pasted
from gaia_mcp.text.redaction import looks_secret
from gaia_mcp.toolspec.tool_filter import EXCLUDE, INCLUDE

if TYPE_CHECKING:
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.hosts.known import HostProgram

# The members that define the connection, which are replaced together.
_REACHED = ("command", "args", "cwd", "url", "type", "handler", "agent")
_REACHED_INSIDE = ("env", "headers", "settings")
# The members that filter tools, and those that restrict who may use them.
_CHOICE = (INCLUDE, EXCLUDE)
_SCOPE = ("stages", "agents")
# The name of standard input on a command line.
STDIN = Path("-")


class Found(NamedTuple):
    """A host's entry in our format; with `reason`, one that could not be converted. `theirs` is its name there."""

    name: str
    theirs: str
    place: Place
    entry: dict[str, Any]
    remarks: Sequence[str] = ()
    reason: str = ""


@dataclass
class Step:
    """The outcome for one name: "new", "same", "replaced", "conflict" or "left".

    `differs` are the members that conflict, `against` is the file that they conflict with.
    """

    name: str
    outcome: str
    sources: list[Found]
    entry: dict[str, Any] = field(default_factory=dict)
    differs: list[str] = field(default_factory=list)
    against: Path | None = None
    reason: str = ""

    @property
    def is_saved(self) -> bool:
        """Whether the import writes the entry."""
        return self.outcome in ("new", "replaced")


def plan(
    found: Sequence[Found],
    ours: Mapping[str, Any],
    path: Path,
    *,
    force: bool = False,
    which: Callable[[str], str | None] = lambda _: None,
    as_held_by: Callable[[Found, Any], Any] = lambda _, entry: entry,
) -> list[Step]:
    """A step for each name, in the order found. With `force` the first that was found replaces the others; members of
    ours that do not decide how the server is reached, and do not differ, stay, unless the new entry has them too.

    `ours` are the entries of `path`; `which` finds a program, so that `npx` and its full path are the same;
    `as_held_by` is an entry of ours as the host of another would hold it: what it has no place for is no difference.
    """

    def differing(entry: Any, one: Found) -> list[str]:
        differs = differences(entry, one.entry, which)
        return differs and differences(as_held_by(one, entry), one.entry, which)

    steps: dict[str, Step] = {}
    for one in found:
        step = steps.get(one.name)
        if one.reason:
            steps.setdefault(f"\0{one.place.path}\0{one.name}", Step(one.name, "left", [one], reason=one.reason))
        elif step is None:
            differs = differing(ours[one.name], one) if one.name in ours else []
            steps[one.name] = _first(one, ours, path, differs, force=force)
        elif step.outcome == "same" and (differs := differing(ours[one.name], one)) and not force:
            steps[one.name] = Step(one.name, "conflict", [one, *step.sources], one.entry, differs, path)
        else:
            if step.outcome == "new" and (differs := differing(step.entry, one)) and not force:
                step.outcome, step.differs, step.against = "conflict", differs, one.place.path
            step.sources.append(one)
    return list(steps.values())


def differences(one: Any, other: Any, which: Callable[[str], str | None] = lambda _: None) -> list[str]:
    """The members in which two entries are not the same: those that decide how the server is reached, and those that
    choose among its tools, or restrict who may use them, if `other` has any of these. Not whether it is enabled, nor
    its timeout.
    """
    if not isinstance(one, dict) or not isinstance(other, dict):
        return ["everything"]
    scopes = [key for key in _SCOPE if key in other and one.get(key) != other[key]]
    one, other = _comparable(one, which), _comparable(other, which)
    compared = (*_REACHED, *_CHOICE) if any(other[key] is not None for key in _CHOICE) else _REACHED
    differs = [key for key in compared if one[key] != other[key]]
    for key in _REACHED_INSIDE:
        names = [name for name in {**one[key], **other[key]} if one[key].get(name) != other[key].get(name)]
        differs += [f"{key} {name}" for name in names]
    return differs + scopes


def with_replaced(held: Any, new: Mapping[str, Any], differs: Sequence[str]) -> dict[str, Any]:
    """The entry `new` in the place of `held`, whose members stay that do not decide how the server is reached, and do
    not differ, unless `new` has them too.
    """
    members = held if isinstance(held, dict) else {}
    replaced = {*_REACHED, *_REACHED_INSIDE, *differs}
    merged = {key: value for key, value in members.items() if key not in replaced} | dict(new)
    return {key: merged[key] for key in members if key in merged} | merged


def _first(one: Found, ours: Mapping[str, Any], path: Path, differs: list[str], *, force: bool) -> Step:
    if one.name not in ours:
        return Step(one.name, "new", [one], one.entry)
    if not differs:
        return Step(one.name, "same", [one], one.entry)
    if not force:
        return Step(one.name, "conflict", [one], one.entry, differs, path)
    return Step(one.name, "replaced", [one], with_replaced(ours[one.name], one.entry, differs), differs, path)


def _comparable(entry: dict[str, Any], which: Callable[[str], str | None]) -> dict[str, Any]:
    command, args = entry.get("command"), entry.get("args")
    if isinstance(command, str) and args is None and not which(command):
        # A command line in one text.
        command, *args = command.split() or [command]
    if isinstance(command, str):
        command = which(command) or command
    kind = entry.get("type")
    return {
        "command": command,
        "args": args or [],
        "cwd": entry.get("cwd"),
        "url": entry.get("url"),
        "type": "sse" if kind == "sse" else None,
        "env": entry.get("env") if isinstance(entry.get("env"), dict) else {},
        "headers": entry.get("headers") if isinstance(entry.get("headers"), dict) else {},
        "handler": entry.get("handler"),
        "agent": entry.get("agent"),
        "settings": entry.get("settings") if isinstance(entry.get("settings"), dict) else {},
        INCLUDE: _sorted_names(entry.get(INCLUDE)),
        EXCLUDE: _sorted_names(entry.get(EXCLUDE)) or None,
    }


def _sorted_names(held: Any) -> list[str] | None:
    return sorted({str(name) for name in held}) if isinstance(held, list) else None


def meant_places(words: list[str], errors: list[MCPError], *, project: bool) -> list[Place]:
    """The files of these hosts, and these files. An error about one is added to `errors`."""
    found: list[Place] = []
    for word in dict.fromkeys(words):
        try:
            candidates = host_or_file(word, project=project)
        except MCPError as error:
            errors.append(error)
            continue
        # A host stands for all its existing files, or for the default one if none exists.
        found += [place for place in candidates if is_there(place.path)] or candidates[:1]
    return found


def found_entries(
    places: list[Place], names: list[str], errors: list[MCPError], pasted: Sequence[Pasted] = ()
) -> list[Found]:
    """The entries in `places`, and the `pasted` ones, in our format, or with the reason why they cannot be converted;
    with `names`, only entries with these names.

    An error about a file or a name is added to `errors`, and the others are still read.
    """
    here = working_folder()
    found: list[Found] = []
    for place in places:
        try:
            is_ours = place.host.runs_handlers
            servers = entries_in(place) if is_ours else servers_of(place.path, place.layout, place.host.title)
        except MCPError as error:
            errors.append(error)
            continue
        folder = folder_of(place, here)
        off = switched_off(place, folder, os.environ, home_folder())
        for theirs, raw in servers.items():
            one = _found(place, theirs, raw, folder)
            if theirs in off and not one.reason:
                one.entry["disabled"] = True
            found.append(one)
    for each in pasted:
        place = Place(each.host, STDIN, each.host.layout, "stdin")
        raw = each.raw if isinstance(each.raw, dict) else {}
        found.append(_found(place, each.name or suggested_name(raw), each.raw, None))
    return _chosen(found, names, errors) if names else found


def _found(place: Place, theirs: str, raw: Any, folder: Path | None) -> Found:
    """The entry named `theirs` in our format. `folder` is the project's folder, if `place` is a project's file."""
    name = tidy_name(theirs)
    entry: dict[str, Any]
    remarks: list[str]
    try:
        if place.host.runs_handlers:
            entry, remarks = dict(raw), []
        elif is_served(raw):
            entry, remarks = dict(anchored(name, raw, place.path)), []
        else:
            entry, remarks = entry_from(raw, place.host.dialect, folder=str(folder) if folder else None)
        if not name:
            raise NotCarriedError("its name is not valid here")
        read_entry(name, entry)
        entry, more = on_this_system(entry)
    except NotCarriedError as problem:
        return Found(theirs, theirs, place, {}, reason=str(problem))
    except EntryError as problem:
        return Found(theirs, theirs, place, {}, reason=problem.message.partition(": ")[2])
    remarks = [*remarks, *more]
    if folder is not None:
        remarks += _settled(entry, folder)
    if name != theirs:
        remarks = [f"is named {theirs!r} there", *remarks]
    return Found(name, theirs, place, entry, tuple(remarks))


def planned(found: list[Found], ours: dict[str, Any], path: Path, *, force: bool) -> list[Step]:
    """The planned outcome for each entry, for the file `path` with the entries `ours`."""

    def as_held_by(one: Found, entry: Any) -> Any:
        return _as_held_by(one, anchored(one.name, entry, path))

    return plan(found, ours, path, force=force, which=shutil.which, as_held_by=as_held_by)


def _as_held_by(one: Found, entry: Any) -> Any:
    """Our entry converted to the format of the other entry's host and back, so that the two can be compared."""
    host = one.place.host
    if host.runs_handlers:
        return entry
    try:
        read_entry(one.name, entry)
        return entry_from(entry_for_host(one.name, entry, host, None, home_alone)[0], host.dialect)[0]
    except (ConfigError, NotCarriedError):
        return entry


def _settled(entry: dict[str, Any], folder: Path) -> list[str]:
    """Set the project's folder as working folder in `entry` if the entry refers to files there. Returns the remarks."""
    if "command" not in entry:
        return []
    if "cwd" in entry:
        if not entry["cwd"].startswith(("~", "${")):
            entry["cwd"] = str(folder / entry["cwd"])
        return []
    if not is_relative(entry["command"]) and not any(_is_file_in(folder, word) for word in entry.get("args") or ()):
        return []
    entry["cwd"] = str(folder)
    return [f"is started in {folder}, where its files are"]


def _is_file_in(folder: Path, argument: str) -> bool:
    try:
        return bool(argument) and not Path(argument).is_absolute() and (folder / argument).exists()
    except (OSError, ValueError):
        return False  # The argument is not a valid file name.


def _chosen(found: list[Found], names: list[str], errors: list[MCPError]) -> list[Found]:
    """The entries with these names, either the host's or ours. A name without an entry is added to `errors`."""
    chosen: list[Found] = []
    for name in names:
        hits = [one for one in found if one.theirs == name] or [one for one in found if one.name == name]
        chosen += hits
        if not hits:
            there = list(dict.fromkeys(one.theirs for one in found))
            hint = did_you_mean(name, there) or f"there are: {', '.join(there) or 'none'}"
            errors.append(ConfigError(f"no server {name!r} among those to be imported", hint=hint))
    return [one for one in found if one in chosen]


def handlers_file(place: Place) -> ServersFile:
    """The file of a host that runs handlers. Raises `ConfigError` if no system reads such files."""
    if (found := in_own_format(place.path)) is None:
        raise ConfigError(f"the file of {place.host.title} cannot be read here", hint="name a file of another host")
    return found


def entries_in(place: Place) -> dict[str, Any]:
    """The entries in the file, including its secrets file, in our format and with absolute paths.

    Raises `ConfigFileError`.
    """
    if not is_there(place.path):
        raise ConfigFileError(place.path, f"is not there (the file of {place.host.title})", case="host-file-missing")
    return {name: anchored(name, raw, place.path) for name, raw in handlers_file(place).servers().items()}


def export_handlers(
    place: Place, entries: Mapping[str, ServerEntry], variables: Value, *, dry_run: bool, force: bool
) -> list[ExportStep]:
    """Write `entries` to the file of `place` and its secrets file, unless this is a `dry_run`. Returns the outcome for
    each.

    Raises `ConfigFileError` for a file that cannot be read or written.
    """
    store = ConfigStore(place.path)
    held = store.servers()
    files = handlers_file(place)
    steps: list[ExportStep] = []
    new: list[ServerEntry] = []
    for name, entry in entries.items():
        old_name = files.same_name(name, held) or name
        step, raw = _handler_step(place, old_name, entry, held.get(old_name), variables, force=force)
        steps.append(step)
        if step.is_written:
            new.append(read_entry(old_name, raw))
    if new and not dry_run:
        store.add(*new, replace=list(held))
    return steps


def _handler_step(
    place: Place, name: str, entry: ServerEntry, old: Any, variables: Value, *, force: bool
) -> tuple[ExportStep, dict[str, Any]]:
    files = handlers_file(place)
    old_item = files.item(name, old) if isinstance(old, dict) else None
    try:
        raw, remarks = handler_for(place, entry, variables)
    except MCPError as error:
        return ExportStep(name, "left", old_item, error=error), {}
    differs = differences(anchored(name, old, place.path), raw, shutil.which) if old is not None else []
    merged = with_replaced(old, raw, differs) if old is not None else raw
    if secrets := _names(files.split(merged)[1]):
        into = f"into {files.secrets_path.name}, which should not be committed"
        remarks.append(f"{', '.join(secrets)} is written {into}")
    step = ExportStep(name, "new", old_item, files.item(name, merged), differs, remarks)
    if old is None:
        return step, raw
    if not differs:
        return step._replace(outcome="same"), raw
    if force:
        return step._replace(outcome="replaced"), merged
    problem = f"{place.host.title} has another {name!r} already: it differs in {', '.join(differs)}"
    return step._replace(outcome="conflict", error=ConfigError(problem, hint="replace it with --force")), raw


def handler_for(place: Place, entry: ServerEntry, variables: Value) -> tuple[dict[str, Any], list[str]]:
    """A handler's entry in the format of its host, and remarks. Raises `ConfigError` for any other entry."""
    target = entry.target
    if not isinstance(target, Served) or target.transport != "handler":
        raise NotExportedError(entry.name, place.host, "it is not a handler")
    files = handlers_file(place)
    remarks: list[str] = []
    raw = {**entry.raw, "handler": target.anchored()}
    if isinstance(settings := raw.get("settings"), dict):
        raw["settings"] = _with_values(settings, variables, files, remarks, "settings")
    if "handler" in files.item(entry.name, raw):
        expected = place.path.parent / files.default_handler(entry.name)
        remarks.append(f"{place.host.title} finds its file only as {shown(expected)}; copy it there")
    return raw, remarks


def _with_values(value: Any, variables: Value, files: ServersFile, remarks: list[str], where: str) -> Any:
    """A setting with its variables replaced by their values, if these are to be written."""
    if isinstance(value, dict):
        return {key: _with_values(held, variables, files, remarks, f"{where}.{key}") for key, held in value.items()}
    if isinstance(value, list):
        return [_with_values(held, variables, files, remarks, where) for held in value]
    if not isinstance(value, str):
        return value
    try:
        new = to_theirs(value, NONE, value=variables)
    except UntranslatableError as problem:
        remarks.append(f"{where}: {problem}; it is written as it is, and --expand writes its value, if it is set")
        return value
    names = [match["shell"] for match in REFERENCE.finditer(value) if looks_secret(match["shell"])]
    if names and not _is_for_secrets(files, where, new):
        # The main file would expose the secret, and by its name the setting does not belong in the secrets file.
        remarks.append(f"{where}: ${{{names[0]}}} is written unexpanded, because its value is a secret")
        return value
    return new


def _is_for_secrets(files: ServersFile, where: str, value: str) -> bool:
    """Whether a value at this path of an entry belongs in the file with secrets."""
    members: dict[str, Any] = {}
    *outer, last = where.split(".")
    inner = members
    for name in outer:
        inner = inner.setdefault(name, {})
    inner[last] = value
    return bool(files.split(members)[1])


def _names(members: Mapping[str, Any], outer: str = "") -> list[str]:
    """The dotted names of the members that hold a value, such as `settings.api_key`."""
    names: list[str] = []
    for key, value in members.items():
        name = f"{outer}.{key}" if outer else key
        names += _names(value, name) if isinstance(value, dict) and value else [name]
    return names


class ExportStep(NamedTuple):
    """The outcome for one server: "new", "same", "replaced", "conflict" or "left".

    `old` is its entry in the host's file, `new` the converted entry; either may be None. `error` is the reason why it
    is not written.
    """

    name: str
    outcome: str
    old: Any
    new: dict[str, Any] | None = None
    differs: Sequence[str] = ()
    remarks: Sequence[str] = ()
    error: MCPError | None = None

    @property
    def is_written(self) -> bool:
        """Whether the export writes this entry."""
        return self.outcome in ("new", "replaced")


def export_entries(
    screen: Screen,
    place: Place,
    entries: Mapping[str, Mapping[str, Any]],
    variables: Value,
    *,
    dry_run: bool,
    force: bool,
) -> list[ExportStep]:
    """Write `entries` to the file of `place`, unless this is a `dry_run`. Returns the outcome for each.

    Raises `ConfigFileError` for a file that cannot be read or written.
    """
    steps: list[ExportStep] = []

    def change(held: dict[str, Any]) -> dict[str, dict[str, Any]]:
        steps[:] = [_export_step(name, raw, place.host, held, variables, force=force) for name, raw in entries.items()]
        return {step.name: step.new for step in steps if step.is_written and step.new is not None}

    is_new = not is_there(place.path)
    if dry_run or is_new:
        held = {} if is_new else servers_of(place.path, place.layout, place.host.title)
        if not change(held) or dry_run:
            return steps
    if not is_there(place.path.parent):
        screen.remark(f"{place.host.title} has no folder here yet; {shown(place.path.parent)} is created")
    # Compared again, now that the file is locked.
    change_servers(place.path, place.layout, place.host.title, change)
    return steps


def _export_step(
    name: str, raw: Mapping[str, Any], host: HostProgram, held: Mapping[str, Any], variables: Value, *, force: bool
) -> ExportStep:
    old = held.get(name)
    try:
        new, remarks = entry_for_host(name, raw, host, old, variables)
    except MCPError as error:
        return ExportStep(name, "left", old, error=error)
    if plain := plain_secrets(new, host.dialect.notation.pattern):
        remarks.append(f"is written with secrets in plain text: {', '.join(plain)}")
    if name not in held:
        return ExportStep(name, "new", old, new, remarks=remarks)
    try:
        # Both are converted to our format, so that members the host does not support are no difference.
        ours = [entry_from(entry, host.dialect)[0] for entry in (old, new)]
        differs = differences(ours[0], ours[1], shutil.which)
    except NotCarriedError:
        differs = ["everything"]
    step = ExportStep(name, "same", old, new, differs, remarks)
    if not differs:
        return step
    if force:
        return step._replace(outcome="replaced")
    problem = f"{host.title} has another {name!r} already: it differs in {', '.join(differs)}"
    return step._replace(outcome="conflict", error=ConfigError(problem, hint="replace it with --force"))
