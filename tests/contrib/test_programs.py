"""The private folders of runs."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gaia_mcp.contrib.programs import private_folder


def test_a_folder_is_private_and_removed_after_the_run(tmp_path: Path) -> None:
    """Ours: settings in it may hold secrets."""
    with private_folder("agents", tmp_path) as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "file").write_text("x")

    assert list(tmp_path.iterdir()) == []


def test_folders_that_resist_are_removed(tmp_path: Path) -> None:
    """Ours: a run may have left folders beyond the longest path and Python's recursion, and without permissions."""
    cwd = Path.cwd()
    with private_folder("code", tmp_path) as folder:
        try:
            for number in range(3000):
                os.chdir(folder if number == 0 else "a")
                Path("a").mkdir()
                Path("b").write_text("x")
        finally:
            os.chdir(cwd)
        for place in (folder / "locked" / "inner", folder / "locked"):
            place.mkdir(parents=True, exist_ok=True)
            place.chmod(0)
        (folder / "link").symlink_to("/")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.story
def test_the_folder_of_a_killed_process_is_removed_by_the_next_run(tmp_path: Path) -> None:
    """Ours: but nothing else, and nothing that a link in it leads to."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    left = tmp_path / f"gaia-mcp-agents-{process.pid}-abc"
    (left / "inner").mkdir(parents=True)
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    (left / "link").symlink_to(precious)
    kept = [
        precious,
        tmp_path / f"gaia-mcp-agents-{os.getpid()}-abc",
        tmp_path / "gaia-mcp-agents-x",
        tmp_path / f"gaia-mcp-code-{process.pid}-abc",
        tmp_path / f"other-gaia-mcp-agents-{process.pid}-abc",
        tmp_path / f"gaia-mcp-agents-{process.pid}-link",
    ]
    for path in kept[1:-1]:
        path.mkdir()
    kept[-1].symlink_to(precious)

    with private_folder("agents", tmp_path) as folder:
        assert set(tmp_path.iterdir()) == {folder, *kept}

    assert (precious / "file").read_text() == "x"


def test_a_folder_with_an_impossible_process_id_is_removed(tmp_path: Path) -> None:
    """Ours: the name of a folder may be of any origin, and a huge number is no error."""
    (tmp_path / f"gaia-mcp-agents-{'9' * 40}-abc").mkdir()

    with private_folder("agents", tmp_path) as folder:
        assert list(tmp_path.iterdir()) == [folder]
