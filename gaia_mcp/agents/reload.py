"""Loading an agent again whenever one of its files changes, while it is being written and served."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from gaia_mcp.errors import MCPError
from gaia_mcp.importing.files import forget_modules

if TYPE_CHECKING:
    from pathlib import Path

# Soon enough after a save, and cheap enough to look all day.
POLL_SECONDS = 0.3

# Files by their paths: when they were changed, and their lengths.
_Files: TypeAlias = dict[str, tuple[int, int]]


def watch(folder: Path, reload: Callable[[], None], on_error: Callable[[MCPError], object]) -> None:
    """Look at the Python files in `folder` in a thread of its own, and call `reload` whenever they change.

    `on_error` is given the error of a version that cannot be loaded; the version before it stays in service.
    """
    # Before the first client is answered, which may change a file at once.
    seen = _snapshot(folder)
    threading.Thread(target=_watch, args=(folder, seen, reload, on_error), name="reload", daemon=True).start()


def _watch(folder: Path, seen: _Files, reload: Callable[[], None], on_error: Callable[[MCPError], object]) -> None:
    while True:
        time.sleep(POLL_SECONDS)
        now = _snapshot(folder)
        if now == seen:
            continue
        seen = now
        forget_modules(folder)
        try:
            reload()
        except MCPError as error:
            on_error(error)
        except BaseException as cause:  # noqa: BLE001 (the agent's own code, which may even try to exit)
            problem = f"the changed agent cannot be served: {type(cause).__name__}: {cause}"
            hint = "the version before stays in service; mend the file, and it is tried again"
            on_error(MCPError(problem, hint=hint))


def _snapshot(folder: Path) -> _Files:
    found: _Files = {}
    for path in folder.rglob("*.py"):
        try:
            status = path.stat()
        except OSError:
            continue  # deleted this moment
        found[str(path)] = (status.st_mtime_ns, status.st_size)
    return found
