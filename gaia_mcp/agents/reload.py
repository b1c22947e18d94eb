"""Reloads a served agent whenever one of its files changes, for development."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from gaia_mcp.errors import MCPError
from gaia_mcp.importing import forget_modules

if TYPE_CHECKING:
    from pathlib import Path

# Short enough to notice a save at once, and long enough to cost little.
POLL_SECONDS = 0.3

# Files by path: modification time and size.
_Files: TypeAlias = dict[str, tuple[int, int]]


def watch(folder: Path, reload: Callable[[], None], on_error: Callable[[MCPError], object]) -> None:
    """Watch the Python files in `folder` in a separate thread, and call `reload` whenever they change.

    If a version cannot be loaded, `on_error` is called with the error, and the previous version stays in service.
    """
    # Before the first request is answered, which may already change a file.
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
            continue  # deleted in the meantime
        found[str(path)] = (status.st_mtime_ns, status.st_size)
    return found
