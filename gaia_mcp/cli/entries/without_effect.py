"""A remark on members of an entry that have no effect for the entry's kind of server. They are saved in any case."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.cli.screen.output import remark
from gaia_mcp.safetext import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gaia_mcp.config.entries import ServerEntry


def remark_on_oauth(entries: Iterable[ServerEntry]) -> None:
    """Print a remark for each entry whose `oauth` has members that are not read. They may be another program's, or
    misspelled.
    """
    from gaia_mcp.config.targets import KNOWN, unknown_members
    from gaia_mcp.names import did_you_mean

    for entry in entries:
        if names := unknown_members(entry.raw):
            listed = one_line(", ".join(map(repr, names)))
            meant = did_you_mean(names[0], KNOWN) if len(names) == 1 else ""
            told = f"not read in 'oauth' of {one_line(entry.name)!r}: {listed}"
            remark(f"{told}; {meant}" if meant else told)


def remark_on_retries(entries: Iterable[ServerEntry]) -> None:
    """Print a remark for each agent with `max_retries`: an agent's tool is called only once, because a failed call may
    have had effects.
    """
    for entry in entries:
        if entry.transport == "agent" and entry.raw.get("max_retries"):
            which = f"'max_retries' of {one_line(entry.name)!r} has no effect"
            remark(f"{which}: a tool of an agent is never called twice; only a handler repeats its own requests")
