"""What was learnt about the era of each server, so that the next start need not find out again.

A verdict expires: a server that has been updated would go on answering the old way for ever.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from gaia_mcp.storage.entry_cache import EntryCache

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gaia_mcp.config.entries import ServerEntry

# An update goes unnoticed for a week at most; until then both eras work all the same.
VERDICT_SECONDS = 7 * 24 * 3600


class EraCache:
    """The remembered era of one server's entry, under `folder`."""

    def __init__(self, folder: Path, entry: ServerEntry, now: Callable[[], float] = time.time) -> None:
        self._cache = EntryCache(folder, VERDICT_SECONDS, now)
        self._entry = entry

    def lookup(self) -> str | None:
        """The era, "handshake" or "stateless", None if unknown or too old to rely on."""
        era = self._cache.lookup(self._entry, "era")
        return era if era in ("handshake", "stateless") else None

    def remember(self, era: str) -> None:
        """Keep the verdict, if that is possible."""
        self._cache.keep(self._entry, "era", era)

    def forget(self) -> None:
        """Drop the verdict: it has turned out wrong."""
        self._cache.forget(self._entry, "era")
