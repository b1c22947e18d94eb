"""Checks the scopes of a caller's access token."""

from __future__ import annotations

from collections.abc import Iterable

from gaia_mcp.server.provider import InsufficientScopeError


def require_scopes(granted: frozenset[str] | None, scopes: Iterable[str]) -> None:
    """Raises `InsufficientScopeError` if one of `scopes` is not in `granted`; `granted` None means all scopes."""
    needed = tuple(dict.fromkeys(scopes))
    if granted is not None and not granted.issuperset(needed):
        raise InsufficientScopeError(needed)
