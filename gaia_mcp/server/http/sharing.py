"""What the workers of one agent share: a store, and the keys that seal the request state which clients return."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from gaia_mcp.store import MemoryStore

if TYPE_CHECKING:
    from gaia_mcp.store import Store

STATE_KEYS_VARIABLE = "GAIA_MCP_STATE_KEYS"
STORE_VARIABLE = "GAIA_MCP_STORE"
# A key that was not used for this long has sealed no state that a client still holds.
_KEY_SECONDS = 30 * 24 * 3600.0


def state_keys(environ: Mapping[str, str]) -> list[str]:
    """The keys of GAIA_MCP_STATE_KEYS: the first one seals, and each one opens."""
    return [key for part in environ.get(STATE_KEYS_VARIABLE, "").split(",") if (key := part.strip())]


def shared_keys(store: Store) -> list[str]:
    """The key of all workers with this store, which the first of them generates; empty if the store is not shared.

    Raises `StoreError`.
    """
    if not store.is_shared:
        return []
    store.replace("state-key", None, secrets.token_hex(32).encode(), _KEY_SECONDS)
    return [(store.get("state-key", _KEY_SECONDS) or b"").decode()]


def store_of(environ: Mapping[str, str]) -> Store:
    """The store of GAIA_MCP_STORE; in memory without it. Raises `ValueError` for an invalid URL."""
    if url := environ.get(STORE_VARIABLE):
        from gaia_mcp.store.redis import RedisStore

        return RedisStore(url)
    return MemoryStore()


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
