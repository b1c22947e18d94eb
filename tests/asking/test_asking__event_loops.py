"""Questions of `async` code."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar

from gaia_mcp.asking import in_thread, is_in_loop

MARK: ContextVar[str] = ContextVar("mark", default="none")


def test_a_running_event_loop_is_detected() -> None:
    """Ours: elsewhere a question blocks its thread."""

    async def look() -> tuple[bool, bool]:
        return is_in_loop(), await in_thread(is_in_loop)

    assert not is_in_loop()
    assert asyncio.run(look()) == (True, False)


def test_a_blocking_function_runs_in_another_thread_with_the_same_context() -> None:
    """Ours: the current call is part of the context."""

    async def look() -> tuple[bool, str]:
        MARK.set("ours")
        here = threading.get_ident()
        return await in_thread(lambda: (threading.get_ident() != here, MARK.get()))

    assert asyncio.run(look()) == (True, "ours")
