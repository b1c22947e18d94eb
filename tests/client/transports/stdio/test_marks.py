from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.client.transports.stdio.marks import VARIABLE, ids_begin_after, marked

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.story
def test_a_process_is_found_by_its_mark() -> None:
    """Linux, proc_pid_environ: each variable ends with a zero byte; a process that has ended has none."""
    environment = {"BEFORE": "x" * 100_000, VARIABLE: "a.1", "OTHER": f"{VARIABLE}=a.2"}
    words = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        process.stdout.readline()

        assert marked("a.1") == [process.pid]
        assert marked("a.") == []

        assert process.stdin is not None
        process.stdin.close()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert marked("a.1") == []


def test_an_unreadable_environment_is_skipped(tmp_path: Path) -> None:
    """Ours: another user's process, one that has just ended, and a system without such a folder."""
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "environ").write_bytes(f"{VARIABLE}=a.1\0".encode())
    (tmp_path / "8" / "environ").mkdir(parents=True)
    (tmp_path / "9").mkdir()
    (tmp_path / "self").symlink_to("7")

    assert marked("a.1", 6, tmp_path) == [7]
    assert marked("a.1", 7, tmp_path) == []
    assert marked("a.1", 0, tmp_path / "none") == []


# Of a process with the id 500: the load averages, its age in seconds, and after which id to look.
IDS_AFTER = {
    ("0.1 0.2 0.3 1/99 700\n", 1.0): 500,
    ("0.1 0.2 0.3 1/99 500\n", 1.0): 500,
    ("0.1 0.2 0.3 1/99 320\n", 1.0): 0,
    ("0.1 0.2 0.3 1/99 700\n", 60.0): 0,
    ("", 1.0): 0,
}


def test_the_children_of_a_young_process_have_greater_ids(tmp_path: Path) -> None:
    """Linux, proc_loadavg: the last number is the newest id; after the highest they begin again."""
    assert ids_begin_after(500, 1.0, tmp_path) == 0

    def after(loads: str, age: float) -> int:
        (tmp_path / "loadavg").write_text(loads)
        return ids_begin_after(500, age, tmp_path)

    assert {row: after(*row) for row in IDS_AFTER} == IDS_AFTER
