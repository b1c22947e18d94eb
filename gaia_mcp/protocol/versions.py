"""The revisions of MCP and their two eras.

Revisions are an enumerated set, never compared as dates.
"""

from __future__ import annotations

from collections.abc import Iterable

# Newest first, in both lists. In the stateless era each request stands alone; in the handshake era a conversation
# begins with `initialize`.
STATELESS_VERSIONS = ("2026-07-28",)
HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
ALL_VERSIONS = STATELESS_VERSIONS + HANDSHAKE_VERSIONS

# The only revision with JSON-RPC batches.
BATCH_VERSION = "2025-03-26"
# The only revision in which a client requests a task, and a tool may require one. Later the server alone decides.
TASK_VERSION = "2025-11-25"


def best_of(offered: Iterable[object], known: tuple[str, ...]) -> str | None:
    """The newest of `known` that is among `offered`."""
    named = {version for version in offered if isinstance(version, str)}
    return next((version for version in known if version in named), None)


def since(version: str, first: str) -> bool:
    """Whether `version` is `first` or a later revision. Both must be known revisions."""
    return ALL_VERSIONS.index(version) <= ALL_VERSIONS.index(first)
