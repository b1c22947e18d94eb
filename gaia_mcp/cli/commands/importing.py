"""`gaia mcp import`: import servers from other hosts."""

from __future__ import annotations

from typing import Annotated

import typer

from gaia_mcp.cli.completion.completers import host_names
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, JSON
from gaia_mcp.cli.status import UsageError

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[{HOST | FILE | -}...]", help="Hosts such as cursor, or their files; - is stdin.",
        autocompletion=host_names,
        show_default=False,
    ),
]  # fmt: skip
AllOption = Annotated[bool, typer.Option("--all", help="Import from every host that is found here.")]
ServerOption = Annotated[
    list[str] | None,
    typer.Option("--server", metavar="NAME", help="Import only this server.", show_default=False),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Show what would be saved, as a diff, and save nothing.")]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace servers of the same name that differ.")]
ProjectOption = Annotated[
    bool, typer.Option("--project", help="Use the hosts' files of the project in the working folder.")
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
    """Import servers from other hosts.

    Without HOST, shows which hosts are here and how many servers each has. A server whose name is taken by a
    different one is left out, unless --force is given.

    Example: gaia mcp import cursor --dry-run
    """
    screen = invocation.screen
    from gaia_mcp.cli.entries.given import is_stream, pasted_entries, pasted_text
    from gaia_mcp.cli.entries.remarks import remark_on_unseen
    from gaia_mcp.cli.transfer import places_here
    from gaia_mcp.cli.transfer.outcomes import conflict_error, print_import, show_hosts
    from gaia_mcp.cli.transfer.plans import found_entries, meant_places, planned
    from gaia_mcp.config.entries import read_entry
    from gaia_mcp.config.store import ConfigStore
    from gaia_mcp.core.errors import MCPError

    if words and everything:
        raise UsageError("--all and a host's name cannot be used together", hint="give one of the two")
    if not words and not everything:
        if server or dry_run or force:
            hint = f"name a host or a file, or {screen.line.again('import from all', '--all')}"
            raise UsageError("no host or file given", hint=hint)
        raise typer.Exit(show_hosts(screen))
    errors: list[MCPError] = []
    streams = [word for word in dict.fromkeys(words or []) if is_stream(word)]
    pasted = [entry for word in streams for entry in pasted_entries(screen, pasted_text(screen, word))]
    named = [word for word in words or [] if word not in streams]
    places = places_here(project=project) if everything else meant_places(named, errors, project=project)
    # Without the project's entries, which would hide those in the file to be written.
    store = ConfigStore(invocation.open_store(may_be_new=True).path)
    found, before = found_entries(places, server or [], errors, pasted), store.servers()
    steps = planned(found, before, store.path, force=force)
    saved = {step.name: step.entry for step in steps if step.is_saved}
    entries = [read_entry(name, raw) for name, raw in saved.items()] if not dry_run else []
    if entries:
        store.add(*entries, replace=[step.name for step in steps if step.outcome == "replaced"])
    print_import(screen, steps, store.path, before, saved, errors, dry_run=dry_run)
    remark_on_unseen(screen, entries)
    conflicts = [conflict_error(screen.line, step) for step in steps if step.outcome == "conflict"]
    screen.fail_with([*errors, *conflicts])
