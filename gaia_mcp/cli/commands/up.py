"""`gaia mcp up`: hold servers open between commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gaia_mcp.cli.completion.completers import servers
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, JSON, TIMEOUT
from gaia_mcp.cli.typer_command import ServerCommand

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.core.errors import MCPError

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME...]", help="Servers: names, command lines, URLs or agents.", autocompletion=servers,
        show_default=False,
    ),
]  # fmt: skip
AllOption = Annotated[bool, typer.Option("--all", help="Hold all servers that are enabled.")]

SETTINGS = {"cls": ServerCommand}

COMMON = (CONFIG, JSON, TIMEOUT)


def up(invocation: Invocation, names: Names = None, every: AllOption = False) -> None:
    """Hold servers open between commands.

    A held server keeps what a call has opened, and answers the next one at once: call, tools and the other commands
    use it without being told, until `down`. NAME@INSTANCE holds one more of the same server. `ps` shows what is held.

    Example: gaia mcp up playwright
    """
    from gaia_mcp.cli.keeping.holding import hold_servers
    from gaia_mcp.cli.screen.inventory import enabled_names
    from gaia_mcp.cli.status import UsageError

    screen = invocation.screen
    store = invocation.open_store_for(invocation.typed(names or []))
    if every and names:
        raise UsageError("--all holds all servers, and some are named", hint="leave out one of the two")
    if not (every or names):
        hint = f"name one, or hold all with: {screen.line.to_type('up', '--all')}"
        raise UsageError("no server to hold is named", hint=hint)
    entries: list[ServerEntry]
    if every:
        entries = [store.entry(name) for name in enabled_names(screen, store)]
    else:
        entries = invocation.servers(store, invocation.typed(names or []))
    outcomes = hold_servers(screen, entries, invocation.deadline())
    rows: list[dict[str, Any]] = []
    errors: list[MCPError] = []
    for entry, (facts, error) in zip(entries, outcomes, strict=True):
        if error is not None:
            errors.append(error)
            rows.append({"name": entry.name, "error": screen.error_object(error)})
            continue
        rows.append(facts)
        if not screen.as_json:
            process = f", process {facts['pid']}" if facts.get("pid") else ""
            screen.print_line(f"holding {entry.name!r}{process}")
    if len(entries) == 1 and errors:
        raise errors[0]
    if screen.as_json:
        screen.print_json({"servers": rows})
    screen.fail_with(errors)
