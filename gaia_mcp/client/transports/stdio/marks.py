"""Marks: a variable in the environment of a server that identifies all processes that it started (Linux).

A process may leave the process group and the session of its server, and outlive its parent, but keeps its environment.
A process that is meant to outlive the server is started without the variable.
"""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "GAIA_MCP_STARTED"
# The file system with a folder for each process.
PROCESSES = Path("/proc")
# Process ids do not wrap around within this time.
YOUNG_SECONDS = 2.0


def ids_begin_after(pid: int, age_seconds: float, processes: Path = PROCESSES) -> int:
    """A lower bound for the ids of the processes that `pid`, started `age_seconds` ago, can have started: its own id,
    unless ids may have wrapped around since. Zero if unknown.
    """
    try:
        newest = int((processes / "loadavg").read_bytes().split()[-1])
    except (OSError, ValueError, IndexError):
        return 0
    return pid if age_seconds < YOUNG_SECONDS and pid <= newest else 0


def marked(mark: str, after: int = 0, processes: Path = PROCESSES) -> list[int]:
    """The ids of the processes with `mark` in their environment; none if environments cannot be read. Checks only ids
    greater than `after`: there may be hundreds of processes.
    """
    wanted = f"{VARIABLE}={mark}\0".encode()
    found: list[int] = []
    try:
        names = os.listdir(processes)  # noqa: PTH208 (a Path for each takes longer than reading its file)
    except OSError:
        return found
    for name in names:
        if not name.isdecimal() or int(name) <= after:
            continue
        try:
            with open(f"{processes}/{name}/environ", "rb", buffering=0) as environment:  # noqa: PTH123
                is_marked = wanted in environment.read()
        except OSError:
            continue  # It has ended, or belongs to another user.
        if is_marked:
            found.append(int(name))
    return found
