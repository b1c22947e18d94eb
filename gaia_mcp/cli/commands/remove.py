"""`gaia mcp remove`: remove servers."""

from __future__ import annotations

from typing import Annotated

import typer

from gaia_mcp.cli.completion.completers import server_names
from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, JSON
from gaia_mcp.cli.screen.output import done

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Servers to remove.", autocompletion=server_names)]

COMMON = (CONFIG, JSON)


def remove(invocation: Invocation, names: Names) -> None:
    """Remove servers from the configuration.

    If one of them does not exist, none is removed.

    Example: gaia mcp remove time
    """
    from gaia_mcp.paths import shown

    store = invocation.open_store()
    unique = list(dict.fromkeys(names))
    store.remove(unique)
    listed = ", ".join(repr(name) for name in unique)
    done(f"removed {listed} from {shown(store.path)}", removed=unique, path=str(store.path))
