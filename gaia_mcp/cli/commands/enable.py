"""`gaia mcp enable` and `gaia mcp disable`: which servers take part in commands about all of them."""

from __future__ import annotations

from typing import Annotated

import typer

from gaia_mcp.cli.completion.sources import server_names
from gaia_mcp.cli.options import CONFIG, JSON, Invocation
from gaia_mcp.cli.screen.output import done

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="The servers.", autocompletion=server_names)]

COMMON = (CONFIG, JSON)


def enable(invocation: Invocation, names: Names) -> None:
    """Have servers take part again in commands about all of them.

    Example: gaia mcp enable time
    """
    _set(invocation, names, disabled=False)


def disable(invocation: Invocation, names: Names) -> None:
    """Keep servers, but leave them out where nobody names them.

    A server that is named is used all the same.

    Example: gaia mcp disable time
    """
    _set(invocation, names, disabled=True)


def _set(invocation: Invocation, names: list[str], *, disabled: bool) -> None:
    from gaia_mcp.paths import shown

    store = invocation.open_store()
    unique = list(dict.fromkeys(names))
    store.set_disabled(unique, disabled=disabled)
    what = "disabled" if disabled else "enabled"
    listed = ", ".join(repr(name) for name in unique)
    done(f"{what} {listed} in {shown(store.path)}", **{what: unique, "path": str(store.path)})
