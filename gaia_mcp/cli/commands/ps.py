"""`gaia mcp ps`: show the servers that are held."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.invocation import Invocation
from gaia_mcp.cli.options import CONFIG, JSON

if TYPE_CHECKING:
    from collections.abc import Mapping

COMMON = (CONFIG, JSON)
# The columns that a narrow terminal omits first.
PROCESS, MEMORY = 1, 4


def ps(invocation: Invocation) -> None:
    """Show the servers that are held.

    Each with its process, the calls so far, the time since the last one, and the memory that it takes.

    Example: gaia mcp ps
    """
    from gaia_mcp.cli.keeping.holding import keeper_of_user
    from gaia_mcp.cli.screen import columns
    from gaia_mcp.core.paths import shown

    screen = invocation.screen
    keeper = keeper_of_user()
    described = keeper.described() if keeper is not None else None
    described = described or {"keeper": None, "servers": []}
    if screen.as_json:
        screen.print_json(described)
        return
    rows = [_cells(server) for server in described["servers"]]
    names = Counter(name for name, *_ in rows)
    for row, server in zip(rows, described["servers"], strict=True):
        if names[row[0]] > 1 and "folder" in server:
            # They differ by their file or folder, or by the variables of the shell that has held them.
            row.append(f"from {shown(Path(server['source'] or server['folder']))}")
        elif len(names) < len(rows):
            row.append("")
    for line in columns(rows, spare=(MEMORY, PROCESS)):
        screen.print_line(line)
    if not rows:
        screen.remark(f"no server is held; hold one with: {screen.line.to_type('up', more='NAME')}")


def _cells(server: Mapping[str, Any]) -> list[str]:
    from gaia_mcp.cli.screen.output import counted
    from gaia_mcp.text import one_line

    name = one_line(f"{server['name']}@{server['instance']}" if server.get("instance") else server["name"])
    if "pid" not in server:
        return [name, "", str(server["state"]), "", ""]
    pid, memory = server["pid"], server["memory"]
    failed = f", {server['errors']} failed" if server["errors"] else ""
    calls = f"{counted(server['calls'], 'call')}{failed}"
    state = server["state"]
    if state == "open":
        state = "busy" if server["running"] else f"idle {_time(server['idle'])}"
    shown = f"{memory / (1 << 20):.0f} MB" if memory else ""
    return [name, f"process {pid}" if pid else "", state, calls, shown]


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 3600 else f"{seconds / 3600:.0f} h"
