"""A remark on members of an entry that have no effect on a server of its kind. They are kept all the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gaia_mcp.cli.screen.output import remark
from gaia_mcp.safetext import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gaia_mcp.config.entries import ServerEntry


def remark_on_retries(entries: Iterable[ServerEntry]) -> None:
    """Remark on each agent with `max_retries`: a tool of an agent is called once, for it may have run."""
    for entry in entries:
        if entry.transport == "agent" and entry.raw.get("max_retries"):
            which = f"'max_retries' of {one_line(entry.name)!r} has no effect"
            remark(f"{which}: a tool of an agent is never called twice; only a handler repeats its own requests")
