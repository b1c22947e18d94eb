"""`gaia mcp import`: take over the servers of other hosts."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_mcp.cli.completion.sources import host_names
from gaia_mcp.cli.options import CONFIG, JSON, Invocation
from gaia_mcp.cli.screen.output import Form, counted, error_object, remark, report, say, say_json
from gaia_mcp.cli.screen.terminal import columns
from gaia_mcp.cli.status import UsageError
from gaia_mcp.safetext import one_line

if TYPE_CHECKING:
    from gaia_mcp.config.store import ConfigStore
    from gaia_mcp.errors import MCPError
    from gaia_mcp.hosts.merging import Found, Step
    from gaia_mcp.hosts.places import Place

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[{HOST | FILE}...]", help="Hosts such as cursor, or files of theirs.", autocompletion=host_names,
        show_default=False,
    ),
]  # fmt: skip
AllOption = Annotated[bool, typer.Option("--all", help="Import from every host that is found here.")]
ServerOption = Annotated[
    list[str] | None,
    typer.Option("--server", metavar="NAME", help="Only this server; may be repeated.", show_default=False),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show what would be saved, as a diff, and save nothing.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace servers of the same name that are different.")]
ProjectOption = Annotated[
    bool, typer.Option("--project", help="The hosts' files of the project in the working folder.")
]

COMMON = (CONFIG, JSON)


def import_servers(
    invocation: Invocation,
    words: Words = None,
    everything: AllOption = False,
    server: ServerOption = None,
    dry_run: DryRunOption = False,
    force: ForceOption = False,
    project: ProjectOption = False,
) -> None:
    """Take over the servers that other hosts have.

    Without HOST, shows which hosts are here and how many servers each has. A server whose name is taken by a
    different one is left, unless --force is given.

    Example: gaia mcp import cursor --dry-run
    """
    from gaia_mcp.cli.transfer.gathering import gathered, places_here, show_hosts
    from gaia_mcp.errors import MCPError
    from gaia_mcp.hosts.places import is_there

    if words and everything:
        raise UsageError("--all and a host's name exclude each other", hint="give one of the two")
    if not words and not everything:
        if server or dry_run or force:
            raise UsageError("import from where?", hint="name a host or a file, or write --all")
        raise typer.Exit(show_hosts())
    from gaia_mcp.cli.transfer.places import host_or_file

    errors: list[MCPError] = []
    places: list[Place] = []
    if everything:
        places = places_here(project=project)
    for word in dict.fromkeys(words or []):
        try:
            candidates = host_or_file(word, project=project)
        except MCPError as error:
            errors.append(error)
            continue
        # A name stands for all of the host's files that are there; for the usual one, if there is none.
        places += [place for place in candidates if is_there(place.path)] or candidates[:1]
    store = invocation.open_store(may_be_new=True)
    found = gathered(places, server or [], errors)
    steps = _planned(found, store, force=force)
    before = _own(store)
    saved = {step.name: step.entry for step in steps if step.is_saved}
    if saved and not dry_run:
        store.add_all(saved, replace=[step.name for step in steps if step.outcome == "replaced"])
    _tell(steps, store, before, saved, errors, dry_run=dry_run)
    conflicts = [step for step in steps if step.outcome == "conflict"]
    statuses = [report(error) for error in [*errors, *map(_conflict, conflicts)]]
    if statuses:
        raise typer.Exit(statuses[0])


def _own(store: ConfigStore) -> dict[str, Any]:
    """The entries of the file that is written to, without those that a project lays over them."""
    from gaia_mcp.config.store import ConfigStore

    return ConfigStore(store.path).servers()


def _planned(found: list[Found], store: ConfigStore, *, force: bool) -> list[Step]:
    from gaia_mcp.hosts.merging import plan

    return plan(found, _own(store), store.path, force=force, which=shutil.which, as_held_by=_as_held_by)


def _as_held_by(place: Place, entry: Any) -> Any:
    """An entry of ours after a journey to a host and back."""
    from gaia_mcp.cli.transfer.snippets import entry_for_host, home_alone
    from gaia_mcp.config.entries import read_entry
    from gaia_mcp.errors import ConfigError
    from gaia_mcp.hosts.dialects import NotCarriedError
    from gaia_mcp.hosts.reading import entry_from

    try:
        read_entry("", entry)
        return entry_from(entry_for_host("", entry, place.host, None, home_alone)[0], place.host.dialect)[0]
    except (ConfigError, NotCarriedError):
        return entry


def _tell(
    steps: list[Step],
    store: ConfigStore,
    before: dict[str, Any],
    saved: dict[str, Any],
    errors: list[MCPError],
    *,
    dry_run: bool,
) -> None:
    from gaia_mcp.cli.transfer.places import outcome_word
    from gaia_mcp.paths import shown

    if Form.as_json:
        say_json(
            {
                "path": str(store.path),
                "dry_run": dry_run,
                "servers": [_as_object(step) for step in steps],
                "errors": [error_object(error) for error in errors],
            }
        )
        return
    rows = [[outcome_word(step.outcome, dry_run=dry_run), one_line(step.name, 64), _about(step)] for step in steps]
    for line in columns(rows, names=2):
        say(line)
    for step in steps:
        if step.is_saved:
            for text in [*step.sources[0].remarks, *_plain_secrets(step)]:
                remark(f"{step.name}: {text}")
    if dry_run and saved:
        # Where only secrets differ, both sides look the same, and the line above has said it.
        if text := _diff(before, saved, store.path):
            say(text)
    elif saved:
        say(f"imported {counted(len(saved), 'server')} into {shown(store.path)}")
    elif not errors and not any(step.outcome == "conflict" for step in steps):
        remark("there is nothing to import")


def _about(step: Step) -> str:
    from gaia_mcp.paths import shown

    hosts = ", ".join(dict.fromkeys(f"{one.place.host.title} ({shown(one.place.path)})" for one in step.sources))
    if step.reason:
        return f"{hosts}: {one_line(step.reason)}"
    if step.differs:
        return f"differs in {one_line(', '.join(step.differs))}: {hosts}"
    return hosts


def _as_object(step: Step) -> dict[str, Any]:
    from gaia_mcp.cli.transfer.places import masked_entry

    return {
        "name": step.name,
        "outcome": step.outcome,
        "sources": [{"host": one.place.host.key, "path": str(one.place.path)} for one in step.sources],
        "entry": masked_entry(step.entry) if step.entry else None,
        "differs": step.differs,
        "against": str(step.against) if step.against is not None else None,
        "reason": step.reason,
        "remarks": [*step.sources[0].remarks, *_plain_secrets(step)],
    }


def _plain_secrets(step: Step) -> list[str]:
    """What to do about the secrets that stand in an entry as they are."""
    from gaia_mcp.cli.transfer.places import plain_secrets
    from gaia_mcp.names import typeable

    found = plain_secrets(step.entry)
    variables = [name.removeprefix("env ") for name in found if name.startswith("env ")]
    others = [name for name in found if not name.startswith("env ")]
    remarks = []
    if variables:
        options = " ".join(f"--env {typeable(name)}" for name in variables)
        edit = f"gaia mcp edit {step.name} {options}"
        remarks.append(f"holds {', '.join(variables)} in plain text; for references: {edit}")
    if others:
        remarks.append(f"holds plain text in: {', '.join(others)}; a reference such as ${{TOKEN}} can stand there")
    return remarks


def _diff(before: dict[str, Any], saved: dict[str, Any], path: Path) -> str:
    from gaia_mcp.cli.transfer.places import difference, masked_entry

    def text(servers: dict[str, Any]) -> str:
        hidden = {name: masked_entry(entry) for name, entry in servers.items()}
        return json.dumps({"mcpServers": hidden}, indent=2, ensure_ascii=False)

    return difference(text(before), text({**before, **saved}), path)


def _conflict(step: Step) -> MCPError:
    from gaia_mcp.errors import ConfigError
    from gaia_mcp.names import typeable
    from gaia_mcp.paths import shown

    one = step.sources[0]
    host = one.place.host
    against = shown(step.against) if step.against is not None else "?"
    again = f"gaia mcp import {_words_for(one.place)} --server {typeable(one.theirs)} --force"
    return ConfigError(
        f"{step.name!r} of {host.title} ({shown(one.place.path)}) is not the one of {against}: "
        f"it differs in {', '.join(step.differs)}",
        hint=f"take that of {host.title} with: {again}",
    )


def _words_for(place: Place) -> str:
    """What imports from this very place."""
    from gaia_mcp.names import typeable

    if place.scope == "user":
        return place.host.key
    return f"{place.host.key} --project" if place.scope == "local" else typeable(str(place.path))
