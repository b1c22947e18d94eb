"""Starting a server as early as possible: what a command still has to load is loaded while the server starts."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gaia_mcp.cli.output import Form
from gaia_mcp.client.transports.child import Child
from gaia_mcp.errors import MCPError
from gaia_mcp.safetext import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gaia_mcp.config.entries import ServerEntry

# By the time this matters, the session has ended the child in its own way; here it only must not stay.
LEFT_OVER_GRACE_SECONDS = 0.3


@contextmanager
def launched(entry: ServerEntry) -> Iterator[Child]:
    """The process of a server, being started; ended at the end of the `with`, if nobody has done so before.

    Raises `EntryError` and `VariableUnsetError`; that it cannot be started is told by whoever connects to it.
    """
    ready = entry.resolved()
    child = Child.of(
        entry.name, ready.command, ready.args, env=ready.env, cwd=ready.cwd, on_stderr=stderr_shown(entry.name)
    )
    try:
        # In a thread: a Ctrl-C can never fall between the making of a process and our knowing of it.
        threading.Thread(target=_start, args=(child,), name=f"{entry.name} start", daemon=True).start()
        yield child
    finally:
        child.stop(LEFT_OVER_GRACE_SECONDS)


def stderr_shown(name: str) -> Callable[[bytes], None] | None:
    """What shows a server's stderr as it is written: with `--debug`."""
    if not Form.debug:
        return None

    def show(data: bytes) -> None:
        for line in clean(data.decode("utf-8", "replace")).splitlines():
            print(f"[{name}] {line}", file=sys.stderr)

    return show


def _start(child: Child) -> None:
    try:
        child.start()
    except MCPError:
        return  # The child keeps the reason and says it to whoever starts it again.
