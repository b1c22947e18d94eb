from __future__ import annotations

import os
import time
from pathlib import Path

from gaia_mcp.storage import remove_left_over


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_only_matching_names_are_removed(tmp_path: Path) -> None:
    """Ours: by its whole name."""
    for name in (".a.tmp", ".a.tmp.mine", "x.a.tmp", ".b.tmp"):
        (tmp_path / name).write_bytes(b"secret")

    remove_left_over(tmp_path, r"\.a\.tmp", 0)

    assert names_in(tmp_path) == [".a.tmp.mine", ".b.tmp", "x.a.tmp"]


def test_recent_files_are_not_removed(tmp_path: Path) -> None:
    """Ours: where there is no lock."""
    for name, age in (("old.1", 70), ("new.2", 0)):
        (tmp_path / name).write_bytes(b"")
        os.utime(tmp_path / name, (time.time() - age,) * 2)

    remove_left_over(tmp_path, r".*\.\d", 60)

    assert names_in(tmp_path) == ["new.2"]


def test_a_link_is_neither_followed_nor_removed(tmp_path: Path) -> None:
    """Ours, hostile: nothing of ours is a link, a folder or a pipe."""
    target = tmp_path / "valuable"
    target.write_bytes(b"mine")
    (tmp_path / "1.tmp").symlink_to(target)
    (tmp_path / "2.tmp").mkdir()
    os.mkfifo(tmp_path / "3.tmp")

    remove_left_over(tmp_path, r"\d\.tmp", 0)

    assert names_in(tmp_path) == ["1.tmp", "2.tmp", "3.tmp", "valuable"]


def test_a_file_that_cannot_be_removed_is_ignored() -> None:
    """Ours: a writer has other things to do. Here a file of the kernel."""
    remove_left_over(Path("/proc/self"), "status", -60)

    assert Path("/proc/self/status").exists()


def test_a_missing_folder_is_ignored(tmp_path: Path) -> None:
    """Ours: the first writer of a folder cleans up before it exists."""
    remove_left_over(tmp_path / "none", ".*", 0)
