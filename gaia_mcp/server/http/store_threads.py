"""Where the store is asked: in the event loop, if it is in memory; in threads, if every client would wait for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from gaia_mcp.store import Store

P = ParamSpec("P")
T = TypeVar("T")

# As many requests wait for the store at once. One that is slow fails within seconds, and is then left alone.
MAX_THREADS = 16


class StoreThreads:
    """For the coroutines that need something of `store`."""

    def __init__(self, store: Store) -> None:
        # Its threads are made when they are needed.
        self._executor = ThreadPoolExecutor(MAX_THREADS, "store") if store.is_shared else None

    async def run(self, function: Callable[P, T], *args: P.args, **given: P.kwargs) -> T:
        """What `function` returns or raises. It asks the store, and must not use the event loop."""
        if self._executor is None:
            return function(*args, **given)
        return await asyncio.get_running_loop().run_in_executor(self._executor, lambda: function(*args, **given))

    def start(self, function: Callable[[], object]) -> bool:
        """Have a thread run something that asks a shared store, and must not raise; whether it will, before the end."""
        assert self._executor is not None  # noqa: S101 (a store in memory is asked where one is)
        try:
            self._executor.submit(function)
        except RuntimeError:
            return False
        return True

    def close(self) -> None:
        """End the threads, as soon as they have nothing to do."""
        if self._executor is not None:
            self._executor.shutdown(wait=False)
