"""The outcome for a server in an import or an export, as both print it."""

from __future__ import annotations

from difflib import unified_diff
from typing import TYPE_CHECKING

from gaia_mcp.paths import is_there, shown
from gaia_mcp.safetext import one_line

if TYPE_CHECKING:
    from pathlib import Path

# As long as a path may be on Linux.
MAX_PATH_CHARS = 4096


def outcome_word(outcome: str, *, dry_run: bool) -> str:
    """The printed word for an outcome."""
    if outcome == "replaced" and dry_run:
        return "replace"
    return "left out" if outcome == "left" else outcome


def difference(before: str, after: str, path: Path) -> str:
    """A unified diff of two versions of a file; empty if they are the same. A file that does not exist is /dev/null, as
    in the diffs of other programs.
    """
    name = one_line(shown(path), MAX_PATH_CHARS)
    is_new = not is_there(path)
    old = [] if is_new else before.splitlines()
    return "\n".join(unified_diff(old, after.splitlines(), "/dev/null" if is_new else name, name, lineterm=""))
