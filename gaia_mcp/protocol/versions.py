"""The revisions of MCP and their two eras.

Revisions are an enumerated set, never compared as dates. Outside this package a revision is asked what it can do, and
not for its era.
"""

from __future__ import annotations

from collections.abc import Iterable

# Newest first, in both lists. In the stateless era each request stands alone; in the handshake era a conversation
# begins with `initialize`.
STATELESS_VERSIONS = ("2026-07-28",)
HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
ALL_VERSIONS = STATELESS_VERSIONS + HANDSHAKE_VERSIONS
# What requests without a connection of their own name in their envelope.
NEWEST = ALL_VERSIONS[0]
# The names of the eras, for display and caches.
ERAS = ("handshake", "stateless")

# The only revision with JSON-RPC batches.
BATCH_VERSION = "2025-03-26"
# The only revision in which a client requests a task, and a tool may require one. Later the server alone decides.
TASK_VERSION = "2025-11-25"


def best_of(offered: Iterable[object], known: tuple[str, ...]) -> str | None:
    """The newest of `known` that is among `offered`."""
    named = {version for version in offered if isinstance(version, str)}
    return next((version for version in known if version in named), None)


def has_sessions(version: object) -> bool:
    """Whether a conversation of this revision begins with `initialize`, and may have a session over HTTP. False for an
    unknown one.
    """
    return version in HANDSHAKE_VERSIONS


def cancels_by_closing(version: object) -> bool:
    """Whether closing the HTTP stream of a request cancels it; other revisions send a notification. False for an
    unknown one.
    """
    return version in STATELESS_VERSIONS


def is_probed(era: str | None) -> bool:
    """Whether a connection to a server begins with a probe if `era` is cached for it, None if nothing is."""
    return era != "handshake"


def since(version: str, first: str) -> bool:
    """Whether `version` is `first` or a later revision. Both must be known revisions."""
    return ALL_VERSIONS.index(version) <= ALL_VERSIONS.index(first)
