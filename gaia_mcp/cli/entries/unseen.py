"""A remark on servers whose tools are not cached, with the command that caches them for completion and `search`.

No server is started for that automatically: an import may add thirty servers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gaia_mcp.cli.lines import to_type
from gaia_mcp.cli.screen.output import remark
from gaia_mcp.paths import cache_folder
from gaia_mcp.storage.server_cache import ServerCache

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry

# With more names, the command about all servers is shorter.
MAX_NAMED = 4


def remark_on_unseen(entries: Iterable[ServerEntry]) -> None:
    """Print a remark with the command that caches the tools of those servers that are enabled and were never asked."""
    folder = cache_folder()
    names = [entry.name for entry in entries if not entry.disabled and ServerCache(folder, entry).seen() is None]
    if names:
        whose = "its tools" if len(names) == 1 else "their tools"
        shown = to_type("tools", *(names if len(names) <= MAX_NAMED else ()))
        remark(f"completion and search include {whose} after: {shown}")
