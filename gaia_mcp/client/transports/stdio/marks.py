"""Marks: a variable in the environment of a server, by which all that it has started is found again (Linux).

A process may leave the group and the session of its server, and outlive its parent; its environment goes with it. A
process that is meant to outlive the server is started without the variable.
"""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "GAIA_MCP_STARTED"
# Where systems show their processes, a folder each.
PROCESSES = Path("/proc")
# In less time the ids of processes have not been handed out all around.
YOUNG_SECONDS = 2.0


def ids_begin_after(pid: int, age_seconds: float, processes: Path = PROCESSES) -> int:
    """The id that is below those of all processes which the process `pid`, started `age_seconds` ago, can have started:
    its own, unless ids have begun again from the lowest since. Zero where that is not known.
    """
    try:
        newest = int((processes / "loadavg").read_bytes().split()[-1])
    except (OSError, ValueError, IndexError):
        return 0
    return pid if age_seconds < YOUNG_SECONDS and pid <= newest else 0


def marked(mark: str, after: int = 0, processes: Path = PROCESSES) -> list[int]:
    """The ids of the processes that run with `mark` in their environment; none where no environment can be read. Looks
    only at ids greater than `after`: there may be hundreds of processes.
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
            continue  # It has ended, or is another user's.
        if is_marked:
            found.append(int(name))
    return found
