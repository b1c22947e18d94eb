"""`gaia mcp enable` and `gaia mcp disable`: which servers take part in commands about all of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gaia_mcp.cli.completion.sources import server_names
from gaia_mcp.cli.options import ConfigOption, DebugOption, JsonOption
from gaia_mcp.cli.screen.output import done, speak

Names = Annotated[list[str], typer.Argument(metavar="NAME...", help="The servers.", autocompletion=server_names)]


def enable(names: Names, config: ConfigOption = None, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """Have servers take part again in commands about all of them.

    Example: gaia mcp enable time
    """
    speak(as_json=as_json, debug=debug)
    _set(names, config, disabled=False)


def disable(names: Names, config: ConfigOption = None, as_json: JsonOption = False, debug: DebugOption = False) -> None:
    """Keep servers, but leave them out where nobody names them.

    A server that is named is used all the same.

    Example: gaia mcp disable time
    """
    speak(as_json=as_json, debug=debug)
    _set(names, config, disabled=True)


def _set(names: list[str], config: Path | None, *, disabled: bool) -> None:
    from gaia_mcp.cli.entries.stores import open_store
    from gaia_mcp.paths import shown

    store = open_store(config)
    unique = list(dict.fromkeys(names))
    store.set_disabled(unique, disabled=disabled)
    what = "disabled" if disabled else "enabled"
    listed = ", ".join(repr(name) for name in unique)
    done(f"{what} {listed} in {shown(store.path)}", **{what: unique, "path": str(store.path)})
