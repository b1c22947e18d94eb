"""Several handlers connected, and their tools listed, at the same time: a slow one holds back no other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gaia_mcp.manager.managed_handler import ManagedHandler

# Once a handler has the tool that is looked for, those before it, which have precedence, get so long to be connected.
PRECEDENCE_SECONDS = 0.25


def discover(handlers: Sequence[ManagedHandler], has_it: Callable[[ManagedHandler], bool] | None = None) -> None:
    """Have all of them list their tools, and wait until they have.

    With `has_it`, wait no longer than until one is found that has what is looked for, and it is known, or
    `PRECEDENCE_SECONDS` later, whether one before it has it as well. The others go on.
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
