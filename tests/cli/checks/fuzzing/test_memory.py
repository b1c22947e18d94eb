"""What a server occupies in memory, and whether it grows."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.cli.checks.fuzzing.memory import growth, occupied_bytes
from tests.protocol_support import check_rows

if TYPE_CHECKING:
    from pathlib import Path

MB = 1 << 20


def test_only_steady_and_large_growth_is_a_leak() -> None:
    """Ours: a cache that fills, a collector that waits and a busy moment are none."""
    rows: dict[str, tuple[list[int], int]] = {
        "a leak": ([50, 90, 130, 170], 120),
        "uneven": ([50, 80, 140, 170], 120),
        "none": ([50, 50, 50, 50], 0),
        "small": ([50, 60, 70, 80], 0),
        "a small share": ([1000, 1040, 1080, 1120], 0),
        "it has stopped": ([50, 150, 200, 202], 0),
        "a jump": ([50, 50, 50, 200], 0),
        "it falls again": ([50, 250, 120, 200], 0),
        "too few": ([50, 200, 400], 0),
        "of another process": ([], 0),
    }

    def check(_: str, measured: list[int], grown: int) -> None:
        assert growth([size * MB for size in measured]) == grown * MB

    check_rows(check, ((what, *row) for what, row in rows.items()))


def test_the_processes_of_a_group_are_counted_together(tmp_path: Path) -> None:
    """Ours: many servers are started by another program. A name may have parentheses and blanks."""

    def write(pid: int, name: str, group: int, pages: int) -> None:
        (tmp_path / str(pid)).mkdir()
        fields = ["S", "1", str(group), *["0"] * 18, str(pages), "0"]
        (tmp_path / str(pid) / "stat").write_text(f"{pid} ({name}) {' '.join(fields)}\n")

    write(10, "npm", 10, 100)
    write(11, "a b) (c", 10, 50)
    write(12, "other", 12, 7)
    (tmp_path / "13").mkdir()

    assert occupied_bytes(10, tmp_path) == 150 * os.sysconf("SC_PAGE_SIZE")
    assert occupied_bytes(99, tmp_path) is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux has /proc")
def test_the_memory_of_a_real_group_is_known() -> None:
    """Linux, proc(5): the number of pages is in the field that we read."""
    occupied = occupied_bytes(os.getpgrp())

    assert occupied is not None
    assert 5 * MB < occupied < 1 << 40
