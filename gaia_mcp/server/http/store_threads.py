"""Calls the store: a store in memory in the event loop, a shared one in threads, because it would block the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from gaia_mcp.store import Store

P = ParamSpec("P")
T = TypeVar("T")

# The most requests that wait for the store at once. A slow store fails within seconds, then is not used for a while.
MAX_THREADS = 16


class StoreThreads:
    """Runs functions that use `store`, for coroutines."""

    def __init__(self, store: Store) -> None:
        # Threads are created on demand.
        self._executor = ThreadPoolExecutor(MAX_THREADS, "store") if store.is_shared else None

    async def run(self, function: Callable[P, T], *args: P.args, **given: P.kwargs) -> T:
        """Run a function that uses the store; returns and raises what it does. It must not use the event loop."""
        if self._executor is None:
            return function(*args, **given)
        return await asyncio.get_running_loop().run_in_executor(self._executor, lambda: function(*args, **given))

    def start(self, function: Callable[[], object]) -> bool:
        """Run a function in a thread. It uses a shared store, and must not raise. Returns False after `close`."""
        assert self._executor is not None  # noqa: S101 (a store in memory needs no threads)
        try:
            self._executor.submit(function)
        except RuntimeError:
            return False
        return True

    def close(self) -> None:
        """End the threads after their current work."""
        if self._executor is not None:
            self._executor.shutdown(wait=False)
