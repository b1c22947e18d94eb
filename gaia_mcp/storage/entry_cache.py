"""What was learnt about the server of an entry, one small file for each server and kind of thing, so that nobody reads
more than is asked for.

It is never fatal: what cannot be read is not known, and what cannot be written stays as it was.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
import zlib
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gaia_mcp.config.entries import ServerEntry


class EntryCache:
    """Values by entry and kind, in `folder`; believed for `seconds`."""

    def __init__(self, folder: Path, seconds: float, now: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._seconds = seconds
        self._now = now

    def lookup(self, entry: ServerEntry, kind: str) -> Any:
        """What is known; None if nothing is, or it was another entry's, or it has become too old."""
        try:
            kept = json.loads(self._path(entry, kind).read_bytes())
            age = self._now() - kept["written"]
            value = kept[kind]
            is_of_entry = kept["identity"] == _identity(entry)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return value if is_of_entry and 0 <= age < self._seconds else None

    def keep(self, entry: ServerEntry, kind: str, value: Any) -> None:
        """Remember `value`, if that is possible."""
        path = self._path(entry, kind)
        temporary = path.with_suffix(f".{os.getpid()}")
        try:
            kept = {"identity": _identity(entry), "written": int(self._now()), kind: value}
            text = json.dumps(kept, separators=(",", ":"))
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary.write_text(text, "ascii")
            temporary.replace(path)
        except (OSError, ValueError, TypeError, RecursionError):
            with contextlib.suppress(OSError):
                temporary.unlink()

    def forget(self, entry: ServerEntry, kind: str) -> None:
        """Drop what is known."""
        with contextlib.suppress(OSError):
            self._path(entry, kind).unlink()

    def _path(self, entry: ServerEntry, kind: str) -> Path:
        # Whatever an old file calls its servers; and no longer than file systems allow.
        return self._folder / kind / f"{quote(entry.name, safe='')[:200]}.json"


def _identity(entry: ServerEntry) -> int:
    # The names of its variables, not their values: a new token makes no new server. A checksum, for arguments may hold
    # secrets; no better one, for two entries of one name that have the same are not to be expected.
    identity = [entry.name, entry.command, entry.args, sorted(entry.env), entry.cwd]
    return zlib.crc32(json.dumps(identity).encode("ascii"))
