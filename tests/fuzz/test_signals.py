"""A little of `python -m tests.fuzz signals`, and proof that it finds something. The figure is for a run by hand."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.oracles import Fault
from tests.fuzz.signals import BIN, LOADING, check_end, rows

ROOT = Path(__file__).parents[2]


@pytest.mark.story
def test_a_command_exits_cleanly_at_a_signal_at_any_moment() -> None:
    """Ours: with the exit code of the signal, without a traceback, and with no process left."""
    command = [sys.executable, "-m", "tests.fuzz", "signals", "--count", "10", "--seed", "5"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "10 commands" in done.stdout


def test_an_unclean_exit_is_found() -> None:
    """Ours: the check can fail."""
    ends = [
        (1, 'Traceback\n  File "/x/gaia_mcp/cli/program.py", line 9, in main'),
        (1, f"Traceback\n    {LOADING}\nImportError: no\n"),
        (-2, 'Traceback\n  File "/x/gaia_mcp/cli/program.py", line 9, in main\nKeyboardInterrupt\n'),
        (143, ""),
        (-9, ""),
        (99, ""),
    ]

    for code, stderr in ends:
        with pytest.raises(Fault):
            check_end(signal.SIGINT, code, stderr)


def test_ctrl_c_before_the_program_has_begun_is_not_a_fault() -> None:
    """Ours: only a traceback below the very line by which the installed script loads us is Python's own."""
    assert LOADING in (BIN / "gaia").read_text()

    stderr = f'Traceback\n  File "/x/bin/gaia", line 5, in <module>\n    {LOADING}\nKeyboardInterrupt\n'
    check_end(signal.SIGINT, -2, stderr)


def test_a_clean_exit_is_not_a_fault() -> None:
    """Ours: by the signal before we could handle it, by our handler, or because all was done already."""
    for code in (130, -2, 0):
        check_end(signal.SIGINT, code, "error: interrupted\n")


def test_every_row_is_tried_once() -> None:
    """Ours: the table has no row twice."""
    named = [str(row) for row in rows()]

    assert len(set(named)) == len(named) > 100
