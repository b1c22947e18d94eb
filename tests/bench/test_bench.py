from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.__main__ import table
from tests.bench.figures import Figure
from tests.prepare.peers import NPM_SERVERS, NPM_URL_CLIENTS
from tests.processes import living_with
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.prepare.fixtures import Prepared

ROOT = Path(__file__).parents[2]
FIGURES = ("gaia mcp list", "TAB", "gaia mcp import", "cold gaia mcp call", "memory of gaia", ": time", ": memory",
           "MCPClient.call", "SDK's client", "serve demo, by hand", "among", "processor time",
           "handlers discovered", "a question and its answer", "the same POST by hand", "MCPClient.call over HTTP",
           "requests a second", "99th percentile", "processor time of a request", "idle subscriptions",
           "as an event over HTTP", "memory of gaia mcp serve --http",
           "through a gateway", "processor time of a gateway", "memory of a gateway",
           "workers and a store", "a warm call of mcpdo", "of a held server", "processor time of it and of the keeper",
           "memory of a keeper of", "calls add", "test-client --load")  # fmt: skip


def test_the_benchmark_runs_and_prints_every_figure(prepared: Prepared, tmp_path: Path) -> None:
    """Ours: it must not rot, and leaves nothing running. Whether a figure holds is for a quiet machine and a person."""
    for peer in (NPM_SERVERS, NPM_URL_CLIENTS):
        prepared.folder(peer)
    environ = {**os.environ, "BENCH_OF_TEST": str(tmp_path)}

    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", "--quick"],
        cwd=ROOT, env=environ, capture_output=True, text=True, timeout=600,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    for name in FIGURES:
        assert name in done.stdout
    wait_until(lambda: not living_with(str(tmp_path)))


def test_a_figure_is_compared_with_its_limit() -> None:
    """Ours: at most, unless at least."""
    assert Figure("a", 1.0, 1.0).is_held
    assert not Figure("a", 1.1, 1.0).is_held
    assert Figure("a", 9.0, 8.0, at_least=True).is_held
    assert not Figure("a", 7.0, 8.0, at_least=True).is_held


def test_the_table_prints_the_measured_value_the_limit_and_the_result() -> None:
    """Ours: a person reads from one line whether a figure is over its limit, and why."""
    head, held, over = table(
        [Figure("short", 1.0, 1.25), Figure("a longer name", 3.0, 8.0, at_least=True, remark="why")]
    )

    assert head.split() == ["figure", "measured", "limit"]
    assert held.split() == ["short", "1.00", "x", "<=", "1.25", "ok"]
    assert over.split() == ["a", "longer", "name", "3.00", "x", ">=", "8", "over", "why"]
