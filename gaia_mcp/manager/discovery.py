"""Connecting several handlers and listing their tools in parallel: a slow one does not delay the others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gaia_mcp.manager.managed_handler import ManagedHandler

# Once a handler has the requested tool, those before it, which take precedence, have this long to connect.
PRECEDENCE_SECONDS = 0.25


def discover(handlers: Sequence[ManagedHandler], has_it: Callable[[ManagedHandler], bool] | None = None) -> None:
    """List the tools of all handlers, and wait for that.

    With `has_it`, wait only until a handler is found for which it is true, and until those before it have been checked
    too, `PRECEDENCE_SECONDS` at most. The others continue in the background.
    """
    if len(handlers) == 1:
        handlers[0].discover()
        return
    ended: set[ManagedHandler] = set()
    progress = threading.Condition()

    def work(handler: ManagedHandler) -> None:
        try:
            handler.discover()
        finally:
            with progress:
                ended.add(handler)
                progress.notify_all()

    for handler in handlers:
        threading.Thread(target=work, args=(handler,), name=f"MCP handler {handler.name}: tools", daemon=True).start()

    def first_found() -> int | None:
        if has_it is None:
            return None
        return next((number for number, one in enumerate(handlers) if one in ended and has_it(one)), None)

    def all_before(found: int | None) -> bool:
        return ended.issuperset(handlers[:found])

    with progress:
        progress.wait_for(lambda: all_before(None) or first_found() is not None)
        found = first_found()
        progress.wait_for(lambda: all_before(found), PRECEDENCE_SECONDS if found is not None else None)
