"""The outcome for a server in an import or an export, as both print it."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING

from gaia_mcp.paths import shown

if TYPE_CHECKING:
    from pathlib import Path


def outcome_word(outcome: str, *, dry_run: bool) -> str:
    """The printed word for an outcome."""
    if outcome == "replaced" and dry_run:
        return "replace"
    return "left out" if outcome == "left" else outcome


def difference(before: str, after: str, path: Path) -> str:
    """A unified diff of two versions of a file; empty if they are the same."""
    lines = unified_diff(before.splitlines(), after.splitlines(), shown(path), shown(path), lineterm="")
    return "\n".join(lines)
