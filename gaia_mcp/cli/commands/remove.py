"""`gaia mcp remove`: forget servers."""

from __future__ import annotations

from typing import Annotated

import typer

from gaia_mcp.cli.completion.sources import server_names
from gaia_mcp.cli.options import ConfigOption, DebugOption, JsonOption
from gaia_mcp.cli.screen.output import done, speak

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="Servers to remove.", autocompletion=server_names)]


def remove(
    names: Names,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    debug: DebugOption = False,
) -> None:
    """Forget servers: all that are named, or none.

    Example: gaia mcp remove time
    """
    from gaia_mcp.cli.entries.stores import open_store
    from gaia_mcp.paths import shown

    speak(as_json=as_json, debug=debug)
    store = open_store(config)
    unique = list(dict.fromkeys(names))
    store.remove(unique)
    listed = ", ".join(repr(name) for name in unique)
    done(f"removed {listed} from {shown(store.path)}", removed=unique, path=str(store.path))
