"""`gaia mcp down`: end servers that are held."""

from __future__ import annotations

from typing import Annotated

import typer

from gaia_mcp.cli.completion.completers import held_servers
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, JSON

Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[NAME...]", help="Servers, as `ps` prints them.", autocompletion=held_servers, show_default=False
    ),
]
AllOption = Annotated[bool, typer.Option("--all", help="End all servers that are held.")]

COMMON = (CONFIG, JSON)


def down(invocation: Invocation, names: Names = None, every: AllOption = False) -> None:
    """End servers that are held.

    What they kept is lost. The keeper ends with the last of them.

    Example: gaia mcp down playwright
    """
    from gaia_mcp.cli.keeping.holding import keeper_of_user, place_of
    from gaia_mcp.cli.status import UsageError

    screen = invocation.screen
    if every == bool(names):
        hint = f"name one, or end all with: {screen.line.to_type('down', more='--all')}"
        raise UsageError("--all ends all servers, and some are named" if every else "no server is named", hint=hint)
    # By the name that the keeper has for each: as it is typed, and the file or the folder that it is of.
    typed, places = {}, {}
    for word in names or ():
        name, places[name] = place_of(word, invocation.config)
        typed[name] = word
    keeper = keeper_of_user()
    ended = keeper.release(None if every else list(typed), places) if keeper is not None else []
    if screen.as_json:
        screen.print_json({"ended": ended})
        return
    for name in ended:
        screen.print_line(f"ended {name!r}")
    for name, word in typed.items():
        if name not in ended:
            screen.remark(f"{word!r} is not held; see what is with: {screen.line.to_type('ps')}")
    if every and not ended:
        screen.remark("no server is held")
