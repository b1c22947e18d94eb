"""Questions of `async` code: what blocks runs in another thread, for the loop has other calls to run.

Imports asyncio, and is imported where that is loaded already.
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
    """What `ask` returns, with the context of this task. Raises whatever that raises."""
    return await asyncio.to_thread(ask)
