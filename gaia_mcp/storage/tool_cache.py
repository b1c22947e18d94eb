"""The tools of each server as they were last seen, for what never connects: `gaia mcp search`, and a TAB."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from gaia_mcp.storage.entry_cache import EntryCache

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from gaia_mcp.config.entries import ServerEntry

# Servers change with the packages that they come in. Unless somebody asks them again, they are believed so long.
KEPT_SECONDS = 30 * 24 * 3600


class ToolCache:
    """The remembered definitions of tools, as servers sent them, in `folder`. `kind` is "tools", or "prompts" or
    "resources", whose templates are among them.
    """

    def __init__(self, folder: Path, now: Callable[[], float] = time.time) -> None:
        self._cache = EntryCache(folder, KEPT_SECONDS, now)

    def lookup(self, entry: ServerEntry, kind: str = "tools") -> list[dict[str, Any]] | None:
        """The tools of a server; None if they are not known, were another entry's, or have become too old."""
        tools = self._cache.lookup(entry, kind)
        if not isinstance(tools, list):
            return None
        return [tool for tool in tools if isinstance(tool, dict) and isinstance(tool.get("name"), str)]

    def keep(self, entry: ServerEntry, tools: Sequence[dict[str, Any]], kind: str = "tools") -> None:
        """Remember the tools of a server, if that is possible."""
        self._cache.keep(entry, kind, list(tools))

    def forget(self, entry: ServerEntry, kind: str = "tools") -> None:
        """Drop what is known of a server: it has announced a change."""
        self._cache.forget(entry, kind)
