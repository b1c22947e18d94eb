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


def marked(mark: str, processes: Path = PROCESSES) -> list[int]:
    """The ids of the processes that run with `mark` in their environment; none where no environment can be read."""
    wanted = f"{VARIABLE}={mark}\0".encode()
    found: list[int] = []
    try:
        names = os.listdir(processes)  # noqa: PTH208 (a Path for each takes longer than reading its file)
    except OSError:
        return found
    for name in filter(str.isdecimal, names):
        try:
            with open(f"{processes}/{name}/environ", "rb", buffering=0) as environment:  # noqa: PTH123
                is_marked = wanted in environment.read()
        except OSError:
            continue  # It has ended, or is another user's.
        if is_marked:
            found.append(int(name))
    return found
