"""The keeper's folder: who has it, and what is in it."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest

from gaia_mcp.core.deadline import Deadline
from gaia_mcp.core.errors import ConnectError
from gaia_mcp.fleet.keeper import LOCK
from gaia_mcp.fleet.keeper.folder import Folder
from tests.client.transports.talk import in_thread
from tests.fleet.keeper.conftest import enough
from tests.waiting import PATIENCE_SECONDS, wait_until


def open_files() -> list[str]:
    """The files that this process has open."""
    return [os.readlink(each) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]  # noqa: PTH115


def test_one_process_has_it(folder: Path) -> None:
    """Ours: another one is told so, and leaves nothing open."""
    ours = Folder(folder, enough())
    with pytest.raises(ConnectError, match="another keeper has"):
        Folder(folder, Deadline(0.05))
    assert open_files().count(str(folder / LOCK)) == 1
    assert (folder.stat().st_mode & 0o777, ours.is_ours()) == (0o700, True)
    ours.close()

    assert not folder.exists()
    assert not ours.is_ours()


def test_another_process_has_it_as_soon_as_it_is_left(folder: Path) -> None:
    """Ours: the file that it has opened meanwhile is removed, and the folder too."""
    ours = Folder(folder, enough())
    thread, outcomes = in_thread(lambda: Folder(folder, enough()))
    wait_until(lambda: open_files().count(str(folder / LOCK)) == 2)
    ours.close()
    thread.join(PATIENCE_SECONDS)

    assert outcomes[0].is_ours()
    outcomes[0].close()


def test_one_that_was_removed_is_given_up(folder: Path) -> None:
    """Ours: also if another process has made it again, whose files stay."""
    ours = Folder(folder, enough())
    shutil.rmtree(folder)
    assert not ours.is_ours()
    theirs = Folder(folder, enough())
    (folder / "file").touch()
    assert (ours.is_ours(), theirs.is_ours()) == (False, True)
    ours.remove("file")
    ours.close()

    assert sorted(path.name for path in folder.iterdir()) == [LOCK, "file"]
    theirs.remove("file")
    theirs.remove("other")
    theirs.close()
    assert not folder.exists()


def test_one_that_others_can_enter_is_refused(folder: Path) -> None:
    """Ours: and so is one that cannot be made, after the time in which another process may be about to end."""
    folder.mkdir(mode=0o755)
    with pytest.raises(ConnectError, match="can be used by others"):
        Folder(folder, enough())
    with pytest.raises(ConnectError, match=r"cannot use its folder .*: No such file"):
        Folder(folder / "a" / "b" / "c", Deadline(0.05))
    (folder / "file").touch()
    with pytest.raises(ConnectError, match=r"cannot use its folder .*: Not a directory"):
        Folder(folder / "file" / "a" / "b", enough())


def test_sockets_in_it_are_private(folder: Path) -> None:
    """Ours: each with a name of its own; those of a process that was killed are removed."""
    folder.mkdir(mode=0o700)
    (folder / "calc.sock").touch()
    ours = Folder(folder, enough())
    names = []
    for _ in range(3):
        names.append(ours.free_name("calc"))
        with ours.listening(names[-1]), socket.socket(socket.AF_UNIX) as client:
            client.connect(str(folder / names[-1]))
    modes = {path.stat().st_mode & 0o777 for path in folder.iterdir()}
    with pytest.raises(ConnectError, match=r"cannot listen at .*: AF_UNIX path too long"):
        ours.listening("s" * 110)

    assert (names, modes) == (["calc.sock", "calc+2.sock", "calc+3.sock"], {0o600})
    for name in names:
        ours.remove(name)
    ours.close()
