"""What the processes of a server use."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gaia_mcp.fleet.process_usage import Usage, memory_of, usage_of

if TYPE_CHECKING:
    from pathlib import Path


def test_the_usage_of_a_server_is_that_of_its_process_group(tmp_path: Path) -> None:
    """Ours: of a browser it is in other processes, some of which have ended. A name may contain anything."""
    page, tick = os.sysconf("SC_PAGESIZE"), 1 / os.sysconf("SC_CLK_TCK")
    for number, (name, group, pages) in enumerate([("a", 7, 2), ("b) (c", 7, 3), ("d", 8, 5)]):
        (tmp_path / str(number)).mkdir()
        before, after = " ".join(["9"] * 8), " ".join(["9"] * 6)
        (tmp_path / str(number) / "stat").write_text(
            f"{number} ({name}) S 1 {group} {before} 1 20 300 4000 {after} {pages} 9"
        )
    (tmp_path / "9").mkdir()

    assert usage_of(7, tmp_path) == Usage(5 * page, 2 * 4321 * tick)
    assert [usage_of(9, tmp_path), usage_of(7, tmp_path / "none")] == [None, None]
    assert [memory_of(7, tmp_path), memory_of(9, tmp_path)] == [5 * page, None]


def test_the_usage_of_a_real_process_is_known_where_the_system_has_it() -> None:
    """Ours: the fields are those of Linux."""
    used = usage_of(os.getpgid(0))

    if used is not None:
        assert used.memory_bytes > 1e6
        assert used.processor_seconds >= 0
