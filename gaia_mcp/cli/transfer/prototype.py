"""az prototype as another host: its file holds handlers in nearly our format, with secrets in a separate file."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.entries.building import anchored
from gaia_mcp.cli.lines import to_type
from gaia_mcp.cli.transfer.export_plan import ExportStep
from gaia_mcp.config.entries import ServerEntry, read_entry
from gaia_mcp.config.prototype.files import PrototypeFiles
from gaia_mcp.config.prototype.listing import is_secret, same_name, split
from gaia_mcp.config.served import Served
from gaia_mcp.config.store import ConfigStore
from gaia_mcp.core.errors import ConfigError, ConfigFileError, MCPError
from gaia_mcp.core.paths import is_there, shown
from gaia_mcp.hosts.dialects import NONE, UntranslatableError, Value, to_theirs
from gaia_mcp.hosts.dialects import OUR_NOTATION as REFERENCE
from gaia_mcp.hosts.merging import differences, with_replaced
from gaia_mcp.text.redaction import looks_secret

if TYPE_CHECKING:
    from gaia_mcp.hosts.files import Place

# The key of this host in `HOSTS`.
PROTOTYPE = "prototype"


def entries_in(place: Place) -> dict[str, Any]:
    """The entries in the file, including its secrets file, in our format and with absolute paths.

    Raises `ConfigFileError`.
    """
    if not is_there(place.path):
        raise ConfigFileError(place.path, f"is not there (the file of {place.host.title})", case="host-file-missing")
    return {name: anchored(name, raw, place.path) for name, raw in PrototypeFiles(place.path).servers().items()}


def export_handlers(
    place: Place, entries: Mapping[str, ServerEntry], variables: Value, *, dry_run: bool, force: bool
) -> list[ExportStep]:
    """Write `entries` to the file of `place` and its secrets file, unless this is a `dry_run`. Returns the outcome for
    each.

    Raises `ConfigFileError` for a file that cannot be read or written.
    """
    store = ConfigStore(place.path)
    held = store.servers()
    steps: list[ExportStep] = []
    new: list[ServerEntry] = []
    for name, entry in entries.items():
        old_name = same_name(name, held) or name
        step, raw = _step(place, old_name, entry, held.get(old_name), variables, force=force)
        steps.append(step)
        if step.is_written:
            new.append(read_entry(old_name, raw))
    if new and not dry_run:
        store.add(*new, replace=list(held))
    return steps


def _step(
    place: Place, name: str, entry: ServerEntry, old: Any, variables: Value, *, force: bool
) -> tuple[ExportStep, dict[str, Any]]:
    files = PrototypeFiles(place.path)
    old_item = files.item(name, old) if isinstance(old, dict) else None
    try:
        raw, remarks = handler_for(place, entry, variables)
    except MCPError as error:
        return ExportStep(name, "left", old_item, error=error), {}
    differs = differences(anchored(name, old, place.path), raw, shutil.which) if old is not None else []
    merged = with_replaced(old, raw, differs) if old is not None else raw
    if secrets := _names(split(merged)[1]):
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
    """A handler's entry in az prototype's format, and remarks. Raises `ConfigError` for any other entry."""
    target = entry.target
    if not isinstance(target, Served) or target.transport != "handler":
        problem = f"{entry.name!r} cannot be exported to {place.host.title}: it is not a handler"
        raise ConfigError(problem, hint=f"see the entry with: {to_type('show', entry.name)}")
    remarks: list[str] = []
    raw = {**entry.raw, "handler": target.anchored()}
    if isinstance(settings := raw.get("settings"), dict):
        raw["settings"] = _with_values(settings, variables, remarks, "settings")
    files = PrototypeFiles(place.path)
    if "handler" in files.item(entry.name, raw):
        expected = place.path.parent / files.default_handler(entry.name)
        remarks.append(f"{place.host.title} finds its file only as {shown(expected)}; copy it there")
    return raw, remarks


def _with_values(value: Any, variables: Value, remarks: list[str], where: str) -> Any:
    """A setting with its variables replaced by their values, if these are to be written."""
    if isinstance(value, dict):
        return {key: _with_values(held, variables, remarks, f"{where}.{key}") for key, held in value.items()}
    if isinstance(value, list):
        return [_with_values(held, variables, remarks, where) for held in value]
    if not isinstance(value, str):
        return value
    try:
        new = to_theirs(value, NONE, value=variables)
    except UntranslatableError as problem:
        remarks.append(f"{where}: {problem}; it is written as it is, and --expand writes its value, if it is set")
        return value
    names = [match["shell"] for match in REFERENCE.finditer(value) if looks_secret(match["shell"])]
    if names and not is_secret(tuple(where.split(".")), new):
        # The main file would expose the secret, and by its name the setting does not belong in the secrets file.
        remarks.append(f"{where}: ${{{names[0]}}} is written as it is, for its value is a secret")
        return value
    return new


def _names(members: Mapping[str, Any], outer: str = "") -> list[str]:
    """The dotted names of the members that hold a value, such as `settings.api_key`."""
    names: list[str] = []
    for key, value in members.items():
        name = f"{outer}.{key}" if outer else key
        names += _names(value, name) if isinstance(value, dict) and value else [name]
    return names
