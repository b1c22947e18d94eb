"""The output of imports and exports: the outcome for each server, the difference between two versions of a file, and,
for `gaia mcp import` without a host, the hosts that have files here; and entries in another host's format, printed
for a person to paste into that host's file.

One of these is the entry of this program itself, which serves a handler or an agent for another host.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.cli.screen import columns
from gaia_mcp.cli.screen.output import (
    counted,
)
from gaia_mcp.cli.serving import target_name
from gaia_mcp.cli.transfer import NotExportedError, entry_for_host, home_folder, host_or_file, working_folder
from gaia_mcp.cli.transfer.plans import handler_for, handlers_file
from gaia_mcp.config.served import ORDERED, SHARED, Served, own_program
from gaia_mcp.core.errors import ConfigError, MCPError
from gaia_mcp.core.names import typeable
from gaia_mcp.core.paths import is_there, shown
from gaia_mcp.hosts import with_server
from gaia_mcp.hosts.files import all_places, places, servers_of
from gaia_mcp.hosts.masking import masked_entry, plain_secrets
from gaia_mcp.text import one_line
from gaia_mcp.text.strict_json import TextProblemError

if TYPE_CHECKING:
    from gaia_mcp.cli.lines import CommandLine
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.cli.transfer.plans import ExportStep, Step
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.hosts.dialects import Value
    from gaia_mcp.hosts.files import Place
    from gaia_mcp.hosts.known import HostProgram

# As long as a path may be on Linux.
MAX_PATH_CHARS = 4096


def outcome_word(outcome: str, *, dry_run: bool) -> str:
    """The printed word for an outcome."""
    if outcome == "replaced" and dry_run:
        return "replace"
    return "left out" if outcome == "left" else outcome


def difference(before: str, after: str, path: Path) -> str:
    """A unified diff of two versions of a file; empty if they are the same. A file that does not exist is /dev/null, as
    in the diffs of other programs.
    """
    name = one_line(shown(path), MAX_PATH_CHARS)
    is_new = not is_there(path)
    old = [] if is_new else before.splitlines()
    return "\n".join(unified_diff(old, after.splitlines(), "/dev/null" if is_new else name, name, lineterm=""))


def print_import(
    screen: Screen,
    steps: list[Step],
    path: Path,
    before: dict[str, Any],
    saved: dict[str, Any],
    errors: list[MCPError],
    *,
    dry_run: bool,
) -> None:
    """Print the outcome for each server; for a `dry_run` the planned outcome, and the changes as a diff.

    `before` are the entries of the file `path` before the import, `saved` the imported ones.
    """
    if screen.as_json:
        screen.print_json(
            {
                "path": str(path),
                "dry_run": dry_run,
                "servers": [_as_object(screen.line, step) for step in steps],
                "errors": [screen.error_object(error) for error in errors],
            }
        )
        return
    rows = [[outcome_word(step.outcome, dry_run=dry_run), one_line(step.name, 64), _about(step)] for step in steps]
    for line in columns(rows, names=2):
        screen.print_line(line)
    for step in steps:
        if step.is_saved:
            for text in [*step.sources[0].remarks, *_plain_secrets(screen.line, step)]:
                screen.remark(f"{step.name}: {text}")
    if dry_run and saved:
        # If only secrets differ, the masked sides are equal; the line above has reported it.
        if text := _diff(before, saved, path):
            screen.print_line(text)
    elif saved:
        screen.print_line(f"imported {counted(len(saved), 'server')} into {shown(path)}")
    elif not errors and not any(step.outcome == "conflict" for step in steps):
        screen.remark("there is nothing to import")


def _about(step: Step) -> str:
    hosts = ", ".join(dict.fromkeys(_where(one.place) for one in step.sources))
    if step.reason:
        return f"{hosts}: {one_line(step.reason)}"
    if step.differs:
        return f"differs in {one_line(', '.join(step.differs))}: {hosts}"
    return hosts


def _as_object(line: CommandLine, step: Step) -> dict[str, Any]:
    return {
        "name": step.name,
        "outcome": step.outcome,
        "sources": [{"host": one.place.host.key, "path": str(one.place.path)} for one in step.sources],
        "entry": masked_entry(step.entry) if step.entry else None,
        "differs": step.differs,
        "against": str(step.against) if step.against is not None else None,
        "reason": step.reason,
        "remarks": [*step.sources[0].remarks, *_plain_secrets(line, step)],
    }


def _plain_secrets(line: CommandLine, step: Step) -> list[str]:
    """Remarks on the plain-text secrets in an entry, with the command that replaces them."""
    found = plain_secrets(step.entry)
    variables = [name.removeprefix("env ") for name in found if name.startswith("env ")]
    others = [name for name in found if not name.startswith("env ")]
    remarks = []
    if variables:
        options = " ".join(f"--env {typeable(name)}" for name in variables)
        edit = line.to_type("edit", step.name, more=options)
        remarks.append(f"contains {', '.join(variables)} in plain text; for references: {edit}")
    if others:
        remarks.append(f"contains plain text in: {', '.join(others)}; use a reference such as ${{TOKEN}}")
    return remarks


def _diff(before: dict[str, Any], saved: dict[str, Any], path: Path) -> str:
    def text(servers: dict[str, Any]) -> str:
        hidden = {name: masked_entry(entry) for name, entry in servers.items()}
        return json.dumps({"mcpServers": hidden}, indent=2, ensure_ascii=False)

    return difference(text(before), text({**before, **saved}), path)


def conflict_error(line: CommandLine, step: Step) -> MCPError:
    """The error for a server whose entry differs from an existing one; the hint is the command that replaces it."""
    one = step.sources[0]
    against = shown(step.against) if step.against is not None else "?"
    again = line.to_type("import", more=f"{_words_for(one.place)} --server {typeable(one.theirs)} --force")
    how = ", with the same input" if one.place.scope == "stdin" else " with"
    return ConfigError(
        f"{step.name!r} of {_where(one.place)} differs from the one of {against} in {', '.join(step.differs)}",
        hint=f"import the one from {_title(one.place)}{how}: {again}",
    )


def _title(place: Place) -> str:
    return "standard input" if place.scope == "stdin" else place.host.title


def _where(place: Place) -> str:
    return _title(place) if place.scope == "stdin" else f"{place.host.title} ({shown(place.path)})"


def _words_for(place: Place) -> str:
    if place.scope == "stdin":
        return "-"
    if place.scope == "user":
        return place.host.key
    return f"{place.host.key} --project" if place.scope == "local" else typeable(str(place.path))


class Export(NamedTuple):
    """The outcome of an export to `place`: for each server, or the `error` that prevented all of it."""

    place: Place
    steps: Sequence[ExportStep]
    error: MCPError | None = None

    @property
    def errors(self) -> list[MCPError]:
        """The errors, in order."""
        found = [self.error, *(step.error for step in self.steps)]
        return [error for error in found if error is not None]


def print_exports(screen: Screen, exports: Sequence[Export], *, dry_run: bool) -> None:
    """Print the outcome of each export; for a `dry_run` the planned outcome, and the changes as a diff. The JSON of
    several is a list of what it is for one.
    """
    if screen.as_json:
        objects = [_export_as_object(screen, each, dry_run=dry_run) for each in exports]
        screen.print_json(objects[0] if len(objects) == 1 else {"exports": objects})
        return
    for each in exports:
        if dry_run and len(exports) > 1:
            screen.print_line(f"{each.place.host.title}: {shown(each.place.path)}")
        _print(screen, each, dry_run=dry_run)


def _print(screen: Screen, export: Export, *, dry_run: bool) -> None:
    place, steps = export.place, export.steps
    written = [step for step in steps if step.is_written]
    for step in written:
        for text in step.remarks:
            screen.remark(f"{step.name}: {text}")
    rows = [_row(step, dry_run=dry_run) for step in steps if dry_run or not step.is_written]
    for line in columns(rows, names=2):
        screen.print_line(line)
    if dry_run:
        # If only secrets differ, the masked sides are equal; the line above has reported it.
        if text := _export_diff(written, place):
            screen.print_line(text)
    elif written:
        listed = ", ".join(repr(step.name) for step in written)
        screen.print_line(f"exported {listed} to {shown(place.path)}")


def _export_as_object(screen: Screen, export: Export, *, dry_run: bool) -> dict[str, Any]:
    return {
        "host": export.place.host.key,
        "path": str(export.place.path),
        "dry_run": dry_run,
        "servers": [_server_as_object(step, export.place) for step in export.steps],
        "errors": [screen.error_object(error) for error in export.errors],
    }


def _server_as_object(step: ExportStep, place: Place) -> dict[str, Any]:
    return {
        "name": step.name,
        "outcome": step.outcome,
        "differs": list(step.differs),
        "remarks": list(step.remarks),
        "entry": _masked(step.new, place) if step.new is not None else None,
    }


def _row(step: ExportStep, *, dry_run: bool) -> list[str]:
    differs = one_line(f"differs in {', '.join(step.differs)}") if step.differs else ""
    return [outcome_word(step.outcome, dry_run=dry_run), one_line(step.name, 64), differs]


def _export_diff(written: Sequence[ExportStep], place: Place) -> str:
    old = {step.name: _masked(step.old, place) for step in written if isinstance(step.old, dict)}
    new = {step.name: _masked(step.new, place) for step in written}
    return difference(snippet(place.host, old), snippet(place.host, new), place.path)


def _masked(entry: Any, place: Place) -> Any:
    return masked_entry(entry, place.host.dialect.notation.pattern)


def show_hosts(screen: Screen) -> int:
    """Print the hosts that have files here, and their numbers of servers. Returns the exit code."""
    rows: list[dict[str, Any]] = []
    errors: list[MCPError] = []
    for place in all_places(os.environ, home_folder(), working_folder()):
        row: dict[str, Any] = {"host": place.host.key, "title": place.host.title, "scope": place.scope}
        row |= {"path": str(place.path), "servers": None}
        try:
            row["servers"] = list(servers_of(place.path, place.layout, place.host.title))
        except MCPError as error:
            row["error"] = screen.error_object(error)
            errors.append(error)
        if row["servers"] != [] or place.scope != "local":
            rows.append(row)
    if screen.as_json:
        screen.print_json({"hosts": rows})
    else:
        for line in columns([_cells(row, shown(Path(row["path"]))) for row in rows]):
            screen.print_line(line)
        if not rows:
            screen.remark(
                f"no file of another host was found here; name one: {screen.line.to_type('import', more='FILE')}"
            )
        elif any(row["servers"] for row in rows):
            screen.remark(
                f"import from one by its name, or from all with: {screen.line.to_type('import', more='--all')}"
            )
    return max([int(screen.report(error)) for error in errors], default=0)


def _cells(row: dict[str, Any], path: str) -> list[str]:
    count = "cannot be read" if row["servers"] is None else counted(len(row["servers"]), "server")
    return [row["host"], count, path if row["scope"] == "user" else f"{path} ({row['scope']})"]


def print_entries(
    screen: Screen, host: HostProgram, entries: Mapping[str, Any], variables: Value, *, show_secrets: bool
) -> None:
    """Print entries in the format of `host`, with secrets shown as `****` unless `show_secrets`.

    Raises `ConfigError` for an entry that the host does not support.
    """
    theirs: dict[str, dict[str, Any]] = {}
    remarks: list[str] = []
    for name, raw in entries.items():
        entry, told = entry_for_host(name, raw, host, None, variables)
        masked = masked_entry(entry, host.dialect.notation.pattern)
        if masked != entry and not show_secrets:
            entry, told = masked, [*told, "what is hidden as **** is printed with --show-secrets"]
        theirs[name] = entry
        remarks += [f"{name}: {text}" for text in told]
    text = snippet(host, theirs)
    path = places(host, os.environ, home_folder())[0].path
    if screen.as_json:
        facts = {"host": host.key, "title": host.title, "path": str(path), "format": host.layout.format}
        screen.print_json({**facts, "snippet": text, "servers": theirs, "remarks": remarks})
        return
    screen.write_text(text)
    for line in remarks:
        screen.remark(line)
    screen.remark(f"paste this into {shown(path)}")


def print_handlers(
    screen: Screen, host: HostProgram, entries: Mapping[str, ServerEntry], variables: Value, *, show_secrets: bool
) -> None:
    """Print entries for a host that runs handlers. Secrets belong in a separate file, and are printed separately with
    `show_secrets`.

    Raises `ConfigError` for an entry that is not a handler.
    """
    (place,) = host_or_file(host.key, project=True)
    files = handlers_file(place)
    seen: dict[str, dict[str, Any]] = {}
    hidden: dict[str, dict[str, Any]] = {}
    remarks: list[str] = []
    for name, entry in entries.items():
        raw, told = handler_for(place, entry, variables)
        seen[name], secrets = files.split(files.item(name, raw))
        remarks += [f"{name}: {text}" for text in told]
        if secrets:
            hidden[name] = {"name": name, **secrets}
    text, secret_text = snippet(place.host, seen), snippet(place.host, hidden)
    if screen.as_json:
        facts = {"host": place.host.key, "title": place.host.title, "path": str(place.path), "format": "yaml"}
        apart = {"secrets_path": str(files.secrets_path), "secrets_snippet": secret_text} if show_secrets else {}
        screen.print_json({**facts, "snippet": text, "servers": seen, **apart, "remarks": remarks})
        return
    screen.write_text(text)
    if hidden and show_secrets:
        screen.write_text(f"# {files.secrets_path.name}\n{secret_text}")
    elif hidden:
        remarks.append(f"the secrets for {files.secrets_path.name} are printed with --show-secrets")
    for line in remarks:
        screen.remark(line)
    screen.remark(f"paste this into {shown(place.path)}")


def own_entry(screen: Screen, target: str, words: list[str]) -> tuple[str, dict[str, Any]]:
    """A name, and an entry that serves `target` with this program from any folder. `words` are options of `serve`."""
    place, colon, kind = target.rpartition(":")
    found = os.path.abspath(os.path.expanduser(place or target))  # noqa: PTH100, PTH111
    name = target_name(target)
    if colon and (place.endswith(".py") or os.path.dirname(place)):  # noqa: PTH120
        target = f"{found}:{kind}"
    elif colon:
        screen.remark(
            f"the host has to be able to import {place}; a path such as ./file.py:{kind} works from everywhere"
        )
    elif target.endswith(".py") or os.path.isdir(found):  # noqa: PTH112
        target = found
    command, *start = own_program()
    return name, {"command": command, "args": [*start, "serve", target, *words]}


def snippet(host: HostProgram, entries: dict[str, dict[str, Any]]) -> str:
    """The entries as text in the host's format. Raises `ConfigError`."""
    text = ""
    for name, entry in entries.items():
        try:
            text = with_server(text, host.layout, name, entry)
        except TextProblemError as problem:
            raise NotExportedError(name, host, str(problem)) from problem
    return text


def entry_to_export(entry: ServerEntry) -> Mapping[str, Any]:
    """The raw entry, or the command that serves its handler or agent. References to variables are kept.

    Its stages and agents stay members of the entry, because the host applies them.
    """
    target = entry.target
    if not isinstance(target, Served):
        return entry.raw
    program, *words = own_program()
    code = {*ORDERED, target.transport} - {*SHARED}
    kept = {key: held for key, held in entry.raw.items() if key not in code and held is not None}
    env = {**target.env, **(target.order_variable(entry.name) if target.order or target.defaults else {})}
    return {**kept, "command": program, "args": [*words, "serve", target.anchored()], **({"env": env} if env else {})}
