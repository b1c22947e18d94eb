"""Temporary files left by a killed process: the next process that writes beside them removes them.

`O_TMPFILE` would not help: such a file needs a name before it can replace another.
"""

import contextlib
import os
import re
import stat
import time
from pathlib import Path

# A writer without a lock has finished by then; one that was suspended for longer fails with an error.
UNLOCKED_SECONDS = 60.0


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
