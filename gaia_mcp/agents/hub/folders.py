"""The private folder of each run. If a hub is killed, the next run removes the folders that it left."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

# With the id of the process that owns the folder.
_NAME = "gaia-mcp-agents-{}-"
_ANY_NAME = r"gaia-mcp-agents-(\d+)-.*"


@contextlib.contextmanager
def private_folder(temporary: Path | None = None) -> Iterator[Path]:
    """A new folder in `temporary`, by default the system's, that only this user can read. It is removed on exit."""
    parent = temporary or Path(tempfile.gettempdir())
    _remove_left_over(parent)
    prefix = _NAME.format(os.getpid())
    with tempfile.TemporaryDirectory(prefix=prefix, dir=parent, ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def _remove_left_over(parent: Path) -> None:
    """Remove the folders of this user's processes that have ended. Failures are ignored; links are not followed."""
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            found = re.fullmatch(_ANY_NAME, entry.name)
            if found is not None and _is_ours(entry) and not _runs(int(found[1])):
                shutil.rmtree(entry.path, ignore_errors=True)


def _is_ours(entry: os.DirEntry[str]) -> bool:
    if not hasattr(os, "getuid"):
        return True  # Windows: each user has a separate temporary folder.
    with contextlib.suppress(OSError):
        return entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.getuid()
    return False


def _runs(pid: int) -> bool:
    """Whether the process exists. True where the system cannot tell."""
    if os.name == "nt":
        return True  # On Windows, signal 0 would end the process.
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True
