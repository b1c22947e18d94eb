"""Files of servers that are not saved: each has a file or a folder, and only the newest ones are kept."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from gaia_mcp.names import UNSAVED_MARK

if TYPE_CHECKING:
    from pathlib import Path

# More than a user tries in a week. A script that uses a new command each time must not fill the disk.
KEPT_SERVERS = 50


def make_room(path: Path) -> None:
    """Call before `path` is created: if it is for a server that is not saved, remove the oldest such files beside it.

    Never fails: files that cannot be removed stay.
    """
    if not path.name.startswith(UNSAVED_MARK) or path.exists():
        return
    with contextlib.suppress(OSError):
        beside = [each for each in path.parent.iterdir() if each.name.startswith(UNSAVED_MARK)]
        beside.sort(key=lambda each: each.stat().st_mtime)
        for each in beside[: max(len(beside) + 1 - KEPT_SERVERS, 0)]:
            if each.is_dir():
                import shutil

                shutil.rmtree(each, ignore_errors=True)
            else:
                each.unlink(missing_ok=True)
