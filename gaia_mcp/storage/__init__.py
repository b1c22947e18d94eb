"""This program's files on disk: atomic replacement, JSON files, the server cache, run logs, files of results.

Does not interpret configurations: names, values and identities are arguments. Here is what is removed by itself:
temporary files left by a killed process, and the files of servers that are not saved, of which only the newest are
kept. `O_TMPFILE` would not help: such a file needs a name before it can replace another.
"""

import contextlib
import os
import re
import stat
import time
from pathlib import Path

from gaia_mcp.core.names import UNSAVED_MARK

# A writer without a lock has finished by then; one that was suspended for longer fails with an error.
UNLOCKED_SECONDS = 60.0
# More than a user tries in a week. A script that uses a new command each time must not fill the disk.
KEPT_SERVERS = 50


def remove_left_over(folder: Path, names: str, older_than_seconds: float) -> None:
    """Remove the regular files in `folder` whose whole name matches the regular expression `names`, and that have not
    been written to for `older_than_seconds`. Never fails: files that cannot be removed stay.
    """
    matches = re.compile(names).fullmatch
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if matches(entry.name):
                _remove(entry.path, time.time() - older_than_seconds)


def _remove(path: str, written_before: float) -> None:
    with contextlib.suppress(OSError):
        # Symlinks, folders and pipes are not ours.
        found = os.lstat(path)
        if stat.S_ISREG(found.st_mode) and found.st_mtime <= written_before:
            os.unlink(path)  # noqa: PTH108


def make_room(path: Path) -> None:
    """Call before `path` is created: if it is for a server that is not saved, remove the oldest such files beside it.

    Never fails: files that cannot be removed stay.
    """
    if not path.name.startswith(UNSAVED_MARK) or path.exists():
        return
    with contextlib.suppress(OSError):
        beside = [each for each in path.parent.iterdir() if each.name.startswith(UNSAVED_MARK)]
        beside.sort(key=lambda each: each.stat().st_mtime)
        for each in beside[: max(len(beside) + 1 - KEPT_SERVERS, 0)]:
            if each.is_dir():
                import shutil

                shutil.rmtree(each, ignore_errors=True)
            else:
                each.unlink(missing_ok=True)
