"""`gaia mcp lock`: approve the current tools of servers, and record them in a lock file."""

from __future__ import annotations

from typing import Annotated

import typer

from gaia_mcp.cli.completion.completers import servers
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, HEADER, JSON, TIMEOUT, LockFileOption
from gaia_mcp.cli.typer_command import ServerCommand

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME...]",
        help="Servers: names, command lines, URLs or agents.",
        autocompletion=servers,
        show_default=False,
    ),
]
AllOption = Annotated[bool, typer.Option("--all", help="Lock every enabled server, all at once.")]
CompatibleOption = Annotated[
    bool, typer.Option("--compatible", help="Approve changes that cannot break a caller, and no others.")
]
UpdateOption = Annotated[bool, typer.Option("--update", help="Approve the changes, and show them.")]

SETTINGS = {"cls": ServerCommand}

COMMON = (HEADER, CONFIG, JSON, TIMEOUT)


def lock(
    invocation: Invocation,
    names: Names = None,
    every: AllOption = False,
    lock_file: LockFileOption = None,
    compatible: CompatibleOption = False,
    update: UpdateOption = False,
) -> None:
    """Record the tools of servers in a lock file, for --locked.

    A name, title, description, schema or annotation that changes afterwards is shown and refused, until --update
    approves it, or --compatible, if no caller can break by it. Other servers in the file stay as they are.

    Example: gaia mcp lock time
    """
    screen = invocation.screen
    from gaia_mcp.cli.checks.locked import (
        LockedServer,
        error_of,
        lock_path,
        outcome_object,
        outcome_of,
        print_outcome,
        read_contract,
        read_lock,
        update_lock,
    )
    from gaia_mcp.cli.screen.inventory import enabled_names
    from gaia_mcp.cli.screen.session_view import asking
    from gaia_mcp.cli.status import UsageError
    from gaia_mcp.core.errors import ConfigError
    from gaia_mcp.fleet.parallel import ask_all

    if not names and not every:
        raise UsageError("no server given", hint=f"name one, or {screen.line.again('lock all of them', '--all')}")
    typed, path = invocation.typed(names or []), lock_path(lock_file)
    store = invocation.open_store_for(typed)
    if every:
        invocation.check_saved()
    entries = (
        [store.entry(name) for name in enabled_names(screen, store)] if every else invocation.servers(store, typed)
    )
    if not entries:
        raise ConfigError(f"no server to lock in {store.path}", hint=screen.line.how_to_add())
    # Read before any server starts, so that an invalid file is reported at once.
    before = read_lock(path) or {}

    with asking(screen, entries) as view:
        results = ask_all(entries, read_contract, view, invocation.deadline())
    outcomes = [
        outcome_of(result, before.get(result.entry.name), update=update, allows_compatible=compatible)
        for result in results
    ]
    approved = {
        outcome.result.entry.name: LockedServer(outcome.result.entry.target.summary(), outcome.result.value.contract)
        for outcome in outcomes
        if outcome.what in ("locked", "approved")
    }
    if approved:
        update_lock(path, approved)
    if screen.as_json:
        screen.print_json(
            {"path": str(path), "servers": [outcome_object(screen, outcome, path) for outcome in outcomes]}
        )
    else:
        for outcome in outcomes:
            print_outcome(screen, outcome, path)
    errors = [error for outcome in outcomes if (error := error_of(screen.line, outcome, path)) is not None]
    for result in results:
        for problem in result.value.problems if result.value is not None else ():
            screen.remark(f"{result.entry.name}: {problem}")
    screen.fail_with(errors)
