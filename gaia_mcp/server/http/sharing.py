"""What the workers of one agent share: a store, and the keys that seal the request state which clients return."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING

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
