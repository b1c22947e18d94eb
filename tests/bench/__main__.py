"""`python -m tests.bench [--quick]`: measures everything that has a limit, and prints one table."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.bench import commands, gateway, http_bulk
from tests.bench.figures import FULL, QUICK, Figure


def main() -> None:
    """Measure and print. The exit status is 0 whatever the figures are: they are for a person to judge."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="hardly any repetitions: only to see that it runs")
    effort = QUICK if parser.parse_args().quick else FULL
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # Those that measure memory come first, while this process is small itself.
        figures = commands.long_result(effort, folder)
        figures += http_bulk.in_the_client(effort, folder)
        figures += http_bulk.in_the_server(effort, folder)
        figures += gateway.long_result(effort)
        figures += commands.many_tools(effort, folder)
        figures += commands.batch(effort, folder)
        figures += commands.starts(effort, folder)
        figures += commands.completing(effort, folder)
        figures += commands.searching(effort, folder)
        figures += commands.importing(effort, folder)
        figures += commands.cold_call(effort, folder)
        from tests.bench import asking, calls, handlers, held, http_calls, http_serving, http_sharing, load

        figures += handlers.many_handlers(effort)
        figures += calls.servers(effort)
        figures += calls.clients(effort)
        figures += gateway.gateway(effort)
        figures += load.load(effort)
        figures += http_calls.clients(effort)
        figures += calls.among_many(effort)
        figures += held.keeper(effort, folder)
        figures += held.calls(effort)
        figures += asking.asking(effort)
        figures += http_serving.http_serving(effort)
        figures += http_sharing.http_sharing(effort)
    print("\n".join(table(figures)))


def table(figures: list[Figure]) -> list[str]:
    """The figures in columns."""
    rows = [("figure", "measured", "limit", "", "")]
    for figure in figures:
        limit = f"{'>=' if figure.at_least else '<='} {figure.limit:.3g}"
        outcome = "ok" if figure.is_held else "over"
        rows.append((figure.name, f"{figure.value:.2f} {figure.unit}", limit, outcome, figure.remark))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


if __name__ == "__main__":
    sys.exit(main())
