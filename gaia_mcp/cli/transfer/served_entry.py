"""The entry of code that this program serves, as the command that serves it: no other host knows another way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gaia_mcp.config.served import ORDERED, SHARED, Served, own_program

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry


def entry_to_export(entry: ServerEntry) -> Mapping[str, Any]:
    """The entry as it is in its file, or the command that serves its handler or agent. Variables stay references.

    Its stages and agents are kept beside the command: they are a matter of the host.
    """
    target = entry.target
    if not isinstance(target, Served):
        return entry.raw
    program, *words = own_program()
    code = {*ORDERED, target.transport} - {*SHARED}
    kept = {key: held for key, held in entry.raw.items() if key not in code and held is not None}
    env = {**target.env, **(target.order_variable(entry.name) if target.order or target.hub_file else {})}
    return {**kept, "command": program, "args": [*words, "serve", target.anchored()], **({"env": env} if env else {})}
