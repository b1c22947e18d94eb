"""What a server occupies in memory, and whether it grows without end. Linux only.

A program that runs takes more memory for a while: caches fill, a collector of garbage waits. So only growth counts that
goes on in each part of a run, is large, and is a good part of what the server occupied after the first part.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

PROCESSES = Path("/proc")
# Growth is measured from the end of the first of these parts of the calls of a tool.
PARTS = 4
# Fewer calls prove nothing.
LEAST_CALLS = 100
# A collector may leave tens of megabytes for later.
LEAST_BYTES = 64 << 20
LEAST_SHARE = 0.25
# Each part has to have at least this share of the growth, where an even one would be a third.
LEAST_PART = 0.2
# In /proc/PID/stat, counted behind the name of the program: the process group, and the pages in memory.
_GROUP, _PAGES = 2, 21


def occupied_bytes(group: int, processes: Path = PROCESSES) -> int | None:
    """The memory of all processes of a process group; None where the system does not say."""
    import resource

    pages = 0
    for process in processes.glob("[0-9]*/stat"):
        try:
            fields = process.read_text("utf-8", "replace").rpartition(")")[2].split()
        except OSError:
            continue  # It has ended meanwhile.
        if len(fields) > _PAGES and fields[_GROUP] == str(group):
            pages += int(fields[_PAGES])
    return pages * resource.getpagesize() if pages else None


def growth(measured: Sequence[int]) -> int:
    """The bytes by which a server has grown over measurements at the ends of the `PARTS`; 0 if that is no leak."""
    if len(measured) != PARTS:
        return 0
    whole = measured[-1] - measured[0]
    if whole < max(LEAST_BYTES, measured[0] * LEAST_SHARE):
        return 0
    steps = [after - before for before, after in pairwise(measured)]
    return whole if all(step >= whole * LEAST_PART for step in steps) else 0
