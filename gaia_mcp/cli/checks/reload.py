"""Watching an agent's files while somebody writes it, and taking each new version into service."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, TypeAlias

from gaia_mcp.cli.screen.output import remark, report
from gaia_mcp.errors import MCPError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gaia_mcp.server.agent import ServedAgent

# Soon enough after a save, and cheap enough to look all day.
POLL_SECONDS = 0.3

# Files by their paths: when they were changed, and how long they are.
_Files: TypeAlias = dict[str, tuple[int, int]]


def watch(folder: Path, load: Callable[[], ServedAgent], replace: Callable[[ServedAgent], None]) -> None:
    """Look at the Python files in `folder` in a thread of its own; load and replace the agent whenever they change.

    A version that cannot be loaded is reported, and the one before stays in service.
    """
    # Before anybody is answered: whoever has been may change a file at once.
    seen = _snapshot(folder)
    threading.Thread(target=_watch, args=(folder, seen, load, replace), name="reload", daemon=True).start()


def _watch(folder: Path, seen: _Files, load: Callable[[], ServedAgent], replace: Callable[[ServedAgent], None]) -> None:
    from gaia_mcp.agents.loader import forget_modules

    while True:
        time.sleep(POLL_SECONDS)
        now = _snapshot(folder)
        if now == seen:
            continue
        seen = now
        forget_modules(folder)
        try:
            replace(load())
        except MCPError as error:
            report(error)
        except BaseException as cause:  # noqa: BLE001 (the agent's own code, which may even try to exit)
            problem = f"the changed agent cannot be served: {type(cause).__name__}: {cause}"
            report(MCPError(problem, hint="the version before stays in service; mend the file, and it is tried again"))
        else:
            remark("the agent has changed and was loaded anew")


def _snapshot(folder: Path) -> _Files:
    found: _Files = {}
    for path in folder.rglob("*.py"):
        try:
            status = path.stat()
        except OSError:
            continue  # deleted this moment
        found[str(path)] = (status.st_mtime_ns, status.st_size)
    return found
