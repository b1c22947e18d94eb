"""The entry of a handler or an agent for other hosts: the command that serves it with this program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gaia_mcp.config.served import ORDERED, SHARED, Served, own_program

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry


def entry_to_export(entry: ServerEntry) -> Mapping[str, Any]:
    """The raw entry, or the command that serves its handler or agent. References to variables are kept.

    Its stages and agents stay members of the entry, because the host applies them.
    """
    target = entry.target
    if not isinstance(target, Served):
        return entry.raw
    program, *words = own_program()
    code = {*ORDERED, target.transport} - {*SHARED}
    kept = {key: held for key, held in entry.raw.items() if key not in code and held is not None}
    env = {**target.env, **(target.order_variable(entry.name) if target.order or target.hub_file else {})}
    return {**kept, "command": program, "args": [*words, "serve", target.anchored()], **({"env": env} if env else {})}
