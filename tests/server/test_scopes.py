"""The scopes that a call needs."""

from __future__ import annotations

import pytest

from gaia_mcp.server.provider import InsufficientScopeError
from gaia_mcp.server.scopes import require_scopes


def test_additional_scopes_and_a_caller_without_a_token_are_allowed() -> None:
    """Ours: over stdio, nothing grants scopes."""
    require_scopes(frozenset({"a", "b", "c"}), ["b", "a"])
    require_scopes(None, ["a"])
    require_scopes(frozenset(), [])


def test_the_error_names_all_required_scopes() -> None:
    """Spec, AS-3: all scopes needed."""
    with pytest.raises(InsufficientScopeError, match="scopes 'a', 'b'") as caught:
        require_scopes(frozenset({"a"}), ["a", "b", "a"])

    assert caught.value.scopes == ("a", "b")
    assert (caught.value.code, caught.value.data) == (403, {"requiredScopes": ["a", "b"]})
