"""Figures of a gateway: what it adds to a call, in time and of the processor, and the memory of a long result."""

from __future__ import annotations

import itertools
import os
import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.figures import GAIA, PROGRAMS, SERVE_DEMO, Effort, Figure, Pipe, greet, line, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

MEGABYTE = 1 << 20
# As for the figures of calls.
BLOCK_CALLS = 250
_TICKS = os.sysconf("SC_CLK_TCK")


def gateway(effort: Effort) -> list[Figure]:
    """A call of a tool through a gateway and without one, in turns; the processor time of the gateway, and of the
    server behind it.
    """
    numbers = itertools.count(1)
    direct, through = Pipe(SERVE_DEMO), Pipe([GAIA, "mcp", "serve", "--server", " ".join(SERVE_DEMO)])
    try:
        for pipe in (direct, through):
            pipe.ask(line(0, "server/discover", {}))
            for _ in range(BLOCK_CALLS):
                pipe.ask(greet(next(numbers)))
        behind = _child(through.pid)
        found: list[list[float]] = [[], []]
        spent = [_spent(through.pid), _spent(behind)]
        for _ in range(max(1, effort.calls // BLOCK_CALLS)):
            for times, pipe in zip(found, (direct, through), strict=True):
                asked = [greet(next(numbers)) for _ in range(min(BLOCK_CALLS, effort.calls))]
                times += [seconds(lambda pipe=pipe, one=one: pipe.ask(one)) for one in asked]  # type: ignore[misc]
        own, served = _spent(through.pid) - spent[0], _spent(behind) - spent[1]
    finally:
        direct.close()
        through.close()
    alone, behind_it = (statistics.median(times) for times in found)
    added = (behind_it - alone) * 1000
    calls = len(found[1])
    remark = f"{own / calls * 1e6:.0f} / {served / calls * 1e6:.0f} us"
    return [
        Figure("a call through a gateway, less one without", added, 1, "ms", remark=f"{behind_it * 1e6:.0f} us"),
        # In a quick run the clock has hardly moved.
        Figure(
            "processor time of a gateway / of the server behind it", own / max(served, 1 / _TICKS), 2.5, remark=remark
        ),
    ]


def long_result(effort: Effort) -> list[Figure]:
    """The memory of a gateway that passes on a long text."""
    bulk = " ".join([sys.executable, str(PROGRAMS / "bulk_server.py"), str(effort.megabytes), "0", "0"])
    pipe = Pipe([GAIA, "mcp", "serve", "--server", bulk])
    try:
        asked = line(1, "tools/call", {"name": "big", "arguments": {}})
        size = len(pipe.ask(asked))
        if size < effort.megabytes * MEGABYTE:
            raise SystemExit(f"the gateway has sent {size} bytes only")
        peak = _peak(pipe.pid)
    finally:
        pipe.close()
    name = f"memory of a gateway for a text of {effort.megabytes} MB / its size"
    return [Figure(name, peak / (effort.megabytes * MEGABYTE), 3, remark=f"{peak / MEGABYTE:.0f} MB")]


def _child(pid: int) -> int:
    """The server that a gateway has started; beside it there is the shell that watches over it."""
    children = [int(word) for task in Path(f"/proc/{pid}/task").iterdir() for word in _words(task / "children")]
    return next(child for child in children if b"serve" in Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0"))


def _words(file: Path) -> Sequence[str]:
    return file.read_text().split()


def _spent(pid: int) -> float:
    """The processor time of a process so far, in seconds."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / _TICKS


def _peak(pid: int) -> int:
    return int(Path(f"/proc/{pid}/status").read_text().partition("VmHWM:")[2].split()[0]) * 1024
