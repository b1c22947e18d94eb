from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from gaia_mcp.client.transports.stdio.pipe_holders import pipe_holders

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.story
def test_the_processes_that_can_write_to_a_pipe_are_listed() -> None:
    """Linux, proc_pid_fd: not who reads it, such as a process that was forked from us."""
    reading, writing = os.pipe()
    reader = subprocess.Popen(["sleep", "60"], stdin=reading)
    writer = subprocess.Popen(["sleep", "60"], stdout=writing)
    inode = os.fstat(reading).st_ino
    os.close(writing)
    try:
        assert pipe_holders([inode]) == {writer.pid: "sleep"}
    finally:
        for process in (reader, writer):
            process.kill()
            process.wait()
    assert pipe_holders([inode]) == {}
    os.close(reading)


def test_a_process_name_is_escaped_and_an_unreadable_one_skipped(tmp_path: Path) -> None:
    """Ours, hostile: it may hold anything, and reaches a terminal."""
    for pid in ("7", "8", "9"):
        (tmp_path / pid / "fd").mkdir(parents=True)
        (tmp_path / pid / "fd" / "1").symlink_to("pipe:[4711]")
    (tmp_path / "7" / "comm").write_bytes(b"a\x1b[2Jb\xff\n")
    (tmp_path / "9" / "comm").mkdir()
    (tmp_path / "10").mkdir()

    (name,) = pipe_holders([4711], tmp_path).values()

    assert "\x1b" not in name
    assert name.startswith("a")
    assert pipe_holders([4712], tmp_path) == {}
