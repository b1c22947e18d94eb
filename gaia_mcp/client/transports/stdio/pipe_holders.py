"""The processes that hold a pipe open: left behind by a server, and not found in another way (Linux)."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from gaia_mcp.client.transports.stdio.process_groups import PROCESSES
from gaia_mcp.safetext import clean

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

# The mode bit of a link in the folder `fd` of a process: its descriptor is open for writing.
_WRITES = 0o200


def pipe_holders(inodes: Collection[int], processes: Path = PROCESSES) -> dict[int, str]:
    """The names of the processes that can write to a pipe with one of `inodes`, by process id. Without their arguments,
    which may contain secrets.
    """
    wanted = {f"pipe:[{inode}]" for inode in inodes}
    found = {}
    for folder in processes.glob("[0-9]*"):
        with contextlib.suppress(OSError):  # It has ended, or belongs to another user.
            if any(_writes_to(wanted, link) for link in (folder / "fd").iterdir()):
                found[int(folder.name)] = clean((folder / "comm").read_text(errors="replace").rstrip("\n"))
    return found


def _writes_to(wanted: Collection[str], link: Path) -> bool:
    # A process forked from us may hold the read end.
    return str(link.readlink()) in wanted and bool(link.lstat().st_mode & _WRITES)
