"""A signal handler may disconnect, whatever its thread is doing: a program's own SIGTERM often ends so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Of some 700 lines; `python -m tests.fuzz.programs.disconnects 1 0 raises` tries them all, in two minutes.
EVERY = 18


@pytest.mark.story
@pytest.mark.parametrize("handler", ["raises", "returns"])
def test_a_signal_handler_may_disconnect_at_any_line(handler: str) -> None:
    """Ours: no lock is waited for that the interrupted thread itself holds."""
    first = "3" if handler == "raises" else "9"

    ran = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.programs.disconnects", str(EVERY), first, handler],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert ran.returncode == 0, ran.stdout[-200:] + ran.stderr
    tried = re.search(r"tried (\d+) of (\d+)", ran.stdout)
    assert tried is not None
    assert int(tried[1]) > 30
    assert int(tried[2]) > 400
