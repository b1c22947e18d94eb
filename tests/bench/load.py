"""Figures of `test-client --load`: what a call costs the program that measures, and how many there are in a second,
beside a loop of `MCPClient.call`.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING

from gaia_mcp.client import MCPClient
from tests.bench.calls import ARGUMENTS, blocks_of
from tests.bench.figures import SERVE_DEMO, Effort, Figure

if TYPE_CHECKING:
    from collections.abc import Callable

# A number of callers with which a server has always something to do.
AT_ONCE = 16


def load(effort: Effort) -> list[Figure]:
    """Blocks of calls in turns: one at a time, many at a time, and in a loop; each on a server of its own."""
    from gaia_mcp.cli.checks.load import LoadWanted
    from gaia_mcp.cli.checks.load_runs import LoadRun

    command, *words = SERVE_DEMO
    blocks, size = blocks_of(effort)
    spent: list[list[float]] = [[], [], []]
    took: list[list[float]] = [[], [], []]
    clients = [MCPClient.from_config("bench", {"command": command, "args": words}) for _ in spent]
    with clients[0] as one, clients[1] as many, clients[2] as looped:

        def loop() -> None:
            for _ in range(size):
                looped.call("greet", ARGUMENTS)

        def calls(client: MCPClient, at_once: int) -> Callable[[], None]:
            made = client.engine.pipeline(
                "tools/call", {"name": "greet", "arguments": ARGUMENTS}, at_once, client.deadline
            )

            def run() -> None:
                run = LoadRun(dict, made, LoadWanted(size, None, at_once))
                run.run()
                if run.problem is not None or run.load.errors or run.load.calls != size:
                    raise SystemExit(f"not all calls were answered: {run.problem or run.load.parts()}")

            return run

        for block in range(blocks):
            for number, work in enumerate((calls(one, 1), calls(many, AT_ONCE), loop)):
                began, before = time.perf_counter(), time.process_time()
                work()
                if block:  # The first block warms up.
                    spent[number].append((time.process_time() - before) / size)
                    took[number].append((time.perf_counter() - began) / size)
    micro = [statistics.median(found) * 1e6 for found in spent]
    rates = [1 / statistics.median(found) for found in took]
    name = "processor time of a call of test-client --load, which makes it"
    beside = f"{micro[2]:.0f} us of MCPClient.call in a loop"
    return [
        Figure(f"{name} 1 at a time", micro[0], 100, "us", remark=beside),
        Figure(f"{name} {AT_ONCE} at a time", micro[1], 100, "us", remark=beside),
        *(
            Figure(
                f"calls a second of test-client --load, {at_once} at a time / of MCPClient.call in a loop",
                rate / rates[2],
                least,
                at_least=True,
                remark=f"{rate:,.0f} / {rates[2]:,.0f}",
            )
            for at_once, rate, least in ((1, rates[0], 0.9), (AT_ONCE, rates[1], 1))
        ),
    ]
