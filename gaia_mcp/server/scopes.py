"""The scopes that a call needs of its caller's access token."""

from __future__ import annotations

from collections.abc import Iterable

from gaia_mcp.server.provider import InsufficientScopeError


def require_scopes(granted: frozenset[str] | None, scopes: Iterable[str]) -> None:
    """Raises `InsufficientScopeError` where one of `scopes` was not granted; None was granted as everything."""
    needed = tuple(dict.fromkeys(scopes))
    if granted is not None and not granted.issuperset(needed):
        raise InsufficientScopeError(needed)
