"""With `--debug`, the names of the shell's variables that a server does not inherit. A server needs few of them, but a
missing variable is often among them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gaia_mcp.cli.screen.output import remark
from gaia_mcp.config.targets import Remote

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry


def remark_on_held_back(entry: ServerEntry) -> None:
    """Print a remark with the variables that the server of `entry` does not inherit, if it is a program that inherits
    only some.
    """
    from gaia_mcp.client.transports.stdio.environment import child_environment

    target = entry.target
    if isinstance(target, Remote) or target.inherit:
        return
    given = child_environment(dict.fromkeys(target.env, ""), os.environ)
    if names := sorted(name for name in os.environ if name not in given):
        remark(f"not passed on to {entry.name!r}: {', '.join(names)}")
