"""What the processes of a server use: their memory and their processor time.

A server is the leader of its process group, so the group is the server with what it has started. Read from the file
system that Linux has for processes; other systems have none, and there nothing is known.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PROCESSES = Path("/proc")
# The fields of `stat` after the name of the program: the process group; the time in the program and in the kernel, of
# the process itself and of its children that have ended; the resident pages.
_GROUP, _TIMES, _PAGES = 2, slice(11, 15), 21


class Usage(NamedTuple):
    """The resident memory of a process group, and the processor time that it has taken since its start."""

    memory_bytes: int
    processor_seconds: float


def usage_of(group: int, processes: Path = PROCESSES) -> Usage | None:
    """What the processes of a group use; None if there are none, or the system has no folder of `processes`."""
    pages = ticks = 0
    for process in processes.glob("[0-9]*"):
        with suppress(OSError):
            # The name of the program, which may contain anything, ends with the last bracket.
            fields = (process / "stat").read_bytes().rpartition(b")")[2].split()
            if int(fields[_GROUP]) == group:
                pages += int(fields[_PAGES])
                ticks += sum(map(int, fields[_TIMES]))
    if not pages:
        return None
    return Usage(pages * os.sysconf("SC_PAGESIZE"), ticks / os.sysconf("SC_CLK_TCK"))


def memory_of(group: int, processes: Path = PROCESSES) -> int | None:
    """The resident memory of the processes of a group, in bytes; None as for `usage_of`."""
    usage = usage_of(group, processes)
    return usage.memory_bytes if usage is not None else None
