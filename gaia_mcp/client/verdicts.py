"""What was learnt about the era of each server, so that the next start need not find out again.

A verdict expires: a server that has been updated would go on answering the old way for ever. It is never fatal, and a
cache that cannot be written is only a slower one.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gaia_mcp.config.entries import ServerEntry

# An update goes unnoticed for a week at most; until then both eras work all the same.
VERDICT_SECONDS = 7 * 24 * 3600


class Verdicts:
    """The remembered era of one server's entry, in a small file under `folder`."""

    def __init__(self, folder: Path, entry: ServerEntry, now: Callable[[], float] = time.time) -> None:
        # The names of its variables, not their values: a new token makes no new server.
        identity = [entry.command, entry.args or [], sorted(entry.env), entry.cwd or ""]
        digest = hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32]
        self._path = folder / "eras" / digest
        self._now = now

    def lookup(self) -> str | None:
        """The era, "handshake" or "stateless", None if unknown or too old to rely on."""
        try:
            era, written = self._path.read_text("ascii").split()
            age = self._now() - float(written)
        except (OSError, ValueError):
            return None
        return era if 0 <= age < VERDICT_SECONDS and era in ("handshake", "stateless") else None

    def remember(self, era: str) -> None:
        """Keep the verdict, if that is possible."""
        temporary = self._path.with_suffix(f".{os.getpid()}")
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary.write_text(f"{era} {int(self._now())}\n", "ascii")
            temporary.replace(self._path)
        except OSError:
            # A cache on a read-only or full disk: the next start asks again.
            with contextlib.suppress(OSError):
                temporary.unlink()

    def forget(self) -> None:
        """Drop the verdict: it has turned out wrong."""
        with contextlib.suppress(OSError):
            self._path.unlink()
