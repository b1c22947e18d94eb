"""The tools of each server as they were last seen, for what never connects: `gaia mcp search`.

One file for each server, so that nobody reads more than is asked for. It is never fatal: a cache that cannot be read is
an empty one, and one that cannot be written stays as it was.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from gaia_mcp.config.entries import ServerEntry

# Servers change with the packages that they come in. Unless somebody asks them again, they are believed so long.
KEPT_SECONDS = 30 * 24 * 3600


class ToolCache:
    """The remembered definitions of tools, as servers sent them, in `folder`."""

    def __init__(self, folder: Path, now: Callable[[], float] = time.time) -> None:
        self._folder = folder / "tools"
        self._now = now

    def lookup(self, entry: ServerEntry) -> list[dict[str, Any]] | None:
        """The tools of a server; None if they are not known, were another entry's, or have become too old."""
        try:
            kept = json.loads(self._path(entry).read_bytes())
            age = self._now() - kept["written"]
            tools = kept["tools"]
            is_of_entry = kept["identity"] == _identity(entry)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        if not (is_of_entry and 0 <= age < KEPT_SECONDS and isinstance(tools, list)):
            return None
        return [tool for tool in tools if isinstance(tool, dict) and isinstance(tool.get("name"), str)]

    def keep(self, entry: ServerEntry, tools: Sequence[dict[str, Any]]) -> None:
        """Remember the tools of a server, if that is possible."""
        path = self._path(entry)
        temporary = path.with_suffix(f".{os.getpid()}")
        try:
            kept = {"identity": _identity(entry), "written": int(self._now()), "tools": list(tools)}
            text = json.dumps(kept, separators=(",", ":"))
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary.write_text(text, "ascii")
            temporary.replace(path)
        except (OSError, ValueError, TypeError, RecursionError):
            with contextlib.suppress(OSError):
                temporary.unlink()

    def _path(self, entry: ServerEntry) -> Path:
        # Whatever an old file calls its servers; and no longer than file systems allow.
        return self._folder / f"{quote(entry.name, safe='')[:200]}.json"


def _identity(entry: ServerEntry) -> list[Any]:
    # The names of its variables, not their values: a new token makes no new server, and belongs in no cache.
    return [entry.name, entry.command, list(entry.args or []), sorted(entry.env), entry.cwd or ""]
