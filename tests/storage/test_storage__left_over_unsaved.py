"""What is kept for servers that are not saved does not grow without end."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gaia_mcp.core.names import UNSAVED_MARK
from gaia_mcp.storage import KEPT_SERVERS, make_room
from gaia_mcp.storage.run_logs import RunLog, RunLogs
from gaia_mcp.text.redaction.masker import Masker

if TYPE_CHECKING:
    from pathlib import Path


def fill(folder: Path, count: int, *, as_folders: bool = False) -> list[str]:
    """Make as many as that, the oldest first, and the file of a saved server that is older than all."""
    folder.mkdir(parents=True)
    names = [f"{UNSAVED_MARK}{number}" for number in range(count)]
    for age, name in enumerate(["saved", *names]):
        path = folder / name
        if as_folders:
            path.mkdir()
            (path / "log").touch()
        else:
            path.touch()
        os.utime(path, (age, age))
    return names


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_oldest_unsaved_servers_are_removed_for_a_new_one(tmp_path: Path) -> None:
    """Ours; servers that are saved keep theirs."""
    for as_folders in (False, True):
        folder = tmp_path / str(as_folders)
        names = fill(folder, KEPT_SERVERS + 2, as_folders=as_folders)

        make_room(folder / f"{UNSAVED_MARK}new")

        assert names_in(folder) == {"saved", *names[3:]}


def test_nothing_is_removed_for_a_known_or_a_saved_server(tmp_path: Path) -> None:
    """Ours: only another unsaved server makes the folder grow."""
    names = fill(tmp_path / "x", KEPT_SERVERS)

    make_room(tmp_path / "x" / names[0])
    make_room(tmp_path / "x" / "another")
    make_room(tmp_path / "missing" / f"{UNSAVED_MARK}new")

    assert names_in(tmp_path / "x") == {"saved", *names}


def test_the_logs_of_unsaved_servers_are_limited(tmp_path: Path) -> None:
    """Ours: a script that types another command each time does not fill the disk."""
    names = fill(tmp_path / "logs", KEPT_SERVERS, as_folders=True)

    log = RunLog(lambda: RunLogs(tmp_path / "logs", f"{UNSAVED_MARK}new", None), "call", Masker)
    log.hear(b"a line\n")
    log.end(0)

    assert names_in(tmp_path / "logs") > {"saved", *names[1:]}
    assert len(names_in(tmp_path / "logs")) == KEPT_SERVERS + 1
    assert names[0] not in names_in(tmp_path / "logs")
