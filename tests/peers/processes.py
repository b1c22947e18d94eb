"""Which processes are left."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

PATIENCE_SECONDS = 5.0


def living_with(words: str) -> list[str]:
    """The processes that were started with `words` in their environment and still run."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if words.encode() in (folder / "environ").read_bytes():
                    found.append((folder / "cmdline").read_text().replace("\0", " "))
            except OSError:
                continue
    return found


def wait_until(happened: Callable[[], bool]) -> None:
    """Until it has happened. Fails when it does not."""
    pause = threading.Event()
    for _ in range(int(PATIENCE_SECONDS / 0.02)):
        if happened():
            return
        pause.wait(0.02)
    raise AssertionError("it did not happen")
