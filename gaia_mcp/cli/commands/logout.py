"""`gaia mcp logout`: revoke and delete the tokens of a login."""

from __future__ import annotations

from typing import Annotated

import typer

from gaia_mcp.cli.completion.completers import server_names
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, JSON, TIMEOUT

LOGOUT_SECONDS = 30.0
Names = Annotated[
    list[str], typer.Argument(metavar="NAME...", help="Servers: names or URLs.", autocompletion=server_names)
]

COMMON = (CONFIG, JSON, TIMEOUT)


def logout(invocation: Invocation, names: Names) -> None:
    """Log out of servers.

    Forgets their tokens and this program's registration, and has the authorization server end them if it can.

    Example: gaia mcp logout github
    """
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.fleet.authorization import log_out

    store = invocation.open_store()
    entries = [invocation.server(name, has_item=False, store=store)[0] for name in dict.fromkeys(names)]
    deadline = Deadline(invocation.timeout or LOGOUT_SECONDS)
    ended = [entry.name for entry in entries if log_out(entry, deadline)]
    listed = ", ".join(map(repr, ended))
    invocation.screen.done(f"logged out of {listed}" if ended else "not logged in", logged_out=ended)
