"""Which processes are left."""

from __future__ import annotations

from pathlib import Path


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


def workers() -> list[str]:
    """The processes of this one that check a value and still run."""
    found = []
    for path in Path("/proc/self/task").glob("*/children"):
        for number in path.read_text().split():
            try:
                words = Path("/proc", number, "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
            found += [words] if "gaia_mcp.checking" in words else []
    return found
