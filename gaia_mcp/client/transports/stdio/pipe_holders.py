"""Who holds a pipe open: the processes that a server has left and that cannot be found otherwise (Linux)."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from gaia_mcp.client.transports.stdio.marks import PROCESSES
from gaia_mcp.safetext import clean

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

# Of a link in the folder `fd` of a process: what its descriptor may be used for.
_WRITES = 0o200


def pipe_holders(inodes: Collection[int], processes: Path = PROCESSES) -> dict[int, str]:
    """The names of the processes that can write to a pipe with one of `inodes`, by their ids. Without their arguments,
    which may be secret.
    """
    wanted = {f"pipe:[{inode}]" for inode in inodes}
    found = {}
    for folder in processes.glob("[0-9]*"):
        with contextlib.suppress(OSError):  # It has ended, or is another user's.
            if any(_writes_to(wanted, link) for link in (folder / "fd").iterdir()):
                found[int(folder.name)] = clean((folder / "comm").read_text(errors="replace").rstrip("\n"))
    return found


def _writes_to(wanted: Collection[str], link: Path) -> bool:
    # A process that was forked from us may hold the end that is read.
    return str(link.readlink()) in wanted and bool(link.lstat().st_mode & _WRITES)
