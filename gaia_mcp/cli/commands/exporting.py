"""`gaia mcp export`: export servers to another host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_mcp.cli.completion.completers import host_names, server_names
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, JSON
from gaia_mcp.cli.status import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.config.store import ConfigStore
    from gaia_mcp.hosts.known import HostProgram

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[NAME...]", help="The servers.", autocompletion=server_names, show_default=False),
]
AllOption = Annotated[bool, typer.Option("--all", help="Export every server that is enabled.")]
ToOption = Annotated[
    list[str] | None,
    typer.Option(
        "--to", metavar="{HOST | FILE}", help="Write into this host's file; may be repeated.",
        autocompletion=host_names, show_default=False,
    ),
]  # fmt: skip
AsOption = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="HOST", help="Print what to paste into this host's file.", autocompletion=host_names,
        show_default=False,
    ),
]  # fmt: skip
ProjectOption = Annotated[
    bool, typer.Option("--project", help="Use the host's file of the project in the working folder.")
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show what would be written, as a diff.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace servers of the same name that differ.")]
ExpandOption = Annotated[
    bool, typer.Option("--expand", help="Write the values of variables that the host does not look up.")
]
HeldOption = Annotated[
    bool, typer.Option("--held", help="Write the URL of the server that `up` holds open, for VS Code.")
]
SecretsOption = Annotated[bool, typer.Option("--show-secrets", help="With --as: print secrets rather than ****.")]

COMMON = (CONFIG, JSON)


def export(
    invocation: Invocation,
    names: Names = None,
    everything: AllOption = False,
    to: ToOption = None,
    as_host: AsOption = None,
    project: ProjectOption = False,
    dry_run: DryRunOption = False,
    force: ForceOption = False,
    expand: ExpandOption = False,
    held: HeldOption = False,
    show_secrets: SecretsOption = False,
) -> None:
    """Export servers to another host, in its own format.

    Only these entries of the host's file change. A variable that the host does not look up is left out with a note,
    unless --expand is given. With --held, the host uses the very server that `up` holds open, with what it has opened.

    Example: gaia mcp export time --to cursor
    """
    screen = invocation.screen
    from gaia_mcp.cli.screen.inventory import enabled_names
    from gaia_mcp.cli.transfer import home_alone, host_or_file, known_host, whatever_is_set
    from gaia_mcp.cli.transfer.outcomes import Export, entry_to_export, print_entries, print_exports, print_handlers
    from gaia_mcp.cli.transfer.plans import export_entries, export_handlers
    from gaia_mcp.core.errors import ConfigError, MCPError
    from gaia_mcp.hosts.files import chosen_place

    if names and everything:
        raise UsageError("--all and the name of a server cannot be used together", hint="give one of the two")
    if not names and not everything:
        raise UsageError("no server given", hint=f"name one, or {screen.line.again('export all of them', '--all')}")
    if bool(to) is (as_host is not None):
        raise UsageError("give one of --to and --as", hint="--to HOST writes its file, --as HOST prints the entry")
    if as_host is not None and (dry_run or force):
        raise UsageError("--as writes nothing", hint="leave --dry-run and --force out, or use --to")
    if to and show_secrets:
        raise UsageError("--show-secrets is for --as", hint="leave it out: a file is always written with its secrets")
    store = invocation.open_store()
    chosen = enabled_names(screen, store) if everything else names or []
    if not chosen:
        raise ConfigError(f"no server to export in {store.path}", hint=screen.line.how_to_add())
    entries = {name: _entry(store, name, held=held) for name in dict.fromkeys(chosen)}
    variables = whatever_is_set if expand else home_alone

    def commands_for(host: HostProgram) -> dict[str, Mapping[str, Any]]:
        if held:
            return {name: _entry_of_held(screen, entry, host) for name, entry in entries.items()}
        return {name: entry_to_export(entry) for name, entry in entries.items()}

    if as_host is not None:
        host = known_host(as_host)
        if host.runs_handlers and not held:
            print_handlers(screen, host, entries, variables, show_secrets=show_secrets)
            return
        print_entries(screen, host, commands_for(host), variables, show_secrets=show_secrets)
        return
    # All are looked up before the first is written.
    places = [chosen_place(host_or_file(host, project=project)) for host in dict.fromkeys(to or ())]
    exports = []
    for place in places:
        try:
            if place.host.runs_handlers and not held:
                steps = export_handlers(place, entries, variables, dry_run=dry_run, force=force)
            else:
                commands = commands_for(place.host)
                steps = export_entries(screen, place, commands, variables, dry_run=dry_run, force=force)
        except MCPError as error:
            if len(places) == 1:
                raise
            exports.append(Export(place, [], error))
        else:
            exports.append(Export(place, steps))
    print_exports(screen, exports, dry_run=dry_run)
    screen.fail_with(error for each in exports for error in each.errors)


def _entry_of_held(screen: Screen, entry: ServerEntry, host: HostProgram) -> dict[str, Any]:
    """The entry, in our format, by which `host` uses the held server of `entry`.

    Raises `NotExportedError` for a host that takes no such URL, and `ConnectError` for a server that is not held.
    """
    from gaia_mcp.cli.keeping import REACH_SECONDS, address_of
    from gaia_mcp.cli.keeping.holding import keeper_of_user
    from gaia_mcp.cli.transfer import NotExportedError
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.core.errors import ConnectError
    from gaia_mcp.fleet.keeper.over_http import url_of

    if not host.opens_sockets:
        gateway = screen.line.to_type("serve", more=f"--server {entry.name} --held --print-config {host.key}")
        hint = f"print an entry that uses the held server by a command: {gateway}"
        raise NotExportedError(entry.name, host, "it does not take the URL of a Unix socket", hint=hint)
    keeper, address = keeper_of_user(), address_of(entry, screen.line.config)
    found = keeper.socket_of(address, Deadline(REACH_SECONDS)) if keeper is not None and address is not None else None
    if found is None:
        again = screen.line.to_type("up", entry.name)
        raise ConnectError(f"server {entry.name!r} is not held", hint=f"hold it: {again}", server=entry.name)
    return {"type": "http", "url": url_of(found)}


def _entry(store: ConfigStore, name: str, *, held: bool) -> ServerEntry:
    """The saved entry; of a held server that may be one instance of it. Raises as `ConfigStore.entry`."""
    if held:
        from gaia_mcp.cli.entries.targets import instance_entry

        if not store.find(name) and (entry := instance_entry(store, name)) is not None:
            return entry
    return store.entry(name)
