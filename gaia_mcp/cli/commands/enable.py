"""`gaia mcp enable` and `gaia mcp disable`: select the servers that commands about all servers include."""

from __future__ import annotations

from typing import Annotated

import typer

from gaia_mcp.cli.completion.completers import server_names
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, JSON

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="The servers.", autocompletion=server_names)]

COMMON = (CONFIG, JSON)


def enable(invocation: Invocation, names: Names) -> None:
    """Enable servers.

    Commands about all servers include them again.

    Example: gaia mcp enable time
    """
    _set(invocation, names, disabled=False)


def disable(invocation: Invocation, names: Names) -> None:
    """Disable servers.

    Commands about all servers leave them out. A command that names one still uses it.

    Example: gaia mcp disable time
    """
    _set(invocation, names, disabled=True)


def _set(invocation: Invocation, names: list[str], *, disabled: bool) -> None:
    from gaia_mcp.core.paths import shown

    store = invocation.open_store()
    unique = list(dict.fromkeys(names))
    store.set_disabled(unique, disabled=disabled)
    what = "disabled" if disabled else "enabled"
    listed = ", ".join(repr(name) for name in unique)
    invocation.screen.done(f"{what} {listed} in {shown(store.path)}", **{what: unique, "path": str(store.path)})
    if not disabled:
        from gaia_mcp.cli.entries.remarks import remark_on_unseen

        remark_on_unseen(invocation.screen, [store.entry(name) for name in unique])
