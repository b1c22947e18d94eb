"""Questions of `async` code: they block, so they run in another thread, as the event loop has other calls to run.

Imports asyncio, and is imported only where that is already loaded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def is_in_loop() -> bool:
    """Whether an event loop runs in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def in_thread(ask: Callable[[], T]) -> T:
    """Run `ask` in another thread, with the context of this task. Returns or raises what `ask` does."""
    return await asyncio.to_thread(ask)
