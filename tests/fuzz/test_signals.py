"""A little of `python -m tests.fuzz signals`, and proof that it finds something. The figure is for a run by hand."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.oracles import Fault
from tests.fuzz.signals import check_end, rows

ROOT = Path(__file__).parents[2]


@pytest.mark.story
def test_a_command_ends_in_order_whenever_a_signal_comes() -> None:
    """Ours: its exit code tells, there is no traceback, and nothing is left running."""
    command = [sys.executable, "-m", "tests.fuzz", "signals", "--count", "12", "--seed", "16"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "12 commands" in done.stdout


@pytest.mark.parametrize(
    ("code", "told"),
    [(1, 'Traceback\n  File "/x/gaia_mcp/cli/program.py", line 9, in main'), (143, ""), (-9, ""), (99, "")],
)
def test_an_end_that_is_out_of_order_is_found(code: int, told: str) -> None:
    """Ours: the check can fail."""
    with pytest.raises(Fault):
        check_end(signal.SIGINT, code, told)


@pytest.mark.parametrize("code", [130, -2, 0])
def test_an_end_in_order_is_none(code: int) -> None:
    """Ours: by the signal before we could handle it, by our handler, or because all was done already."""
    check_end(signal.SIGINT, code, "error: interrupted\n")


def test_every_row_is_tried_once() -> None:
    """Ours: the table has no row twice."""
    named = [str(row) for row in rows()]

    assert len(set(named)) == len(named) > 100
