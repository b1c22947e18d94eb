"""The scopes that a call needs."""

from __future__ import annotations

import pytest

from gaia_mcp.server.provider import InsufficientScopeError
from gaia_mcp.server.scopes import require_scopes


def test_what_was_granted_may_be_more_and_a_caller_without_a_token_has_everything() -> None:
    """Ours: over stdio, nothing grants scopes."""
    require_scopes(frozenset({"a", "b", "c"}), ["b", "a"])
    require_scopes(None, ["a"])
    require_scopes(frozenset(), [])


def test_the_error_names_all_scopes_and_not_only_the_missing() -> None:
    """Spec, AS-3: all scopes needed."""
    with pytest.raises(InsufficientScopeError, match="scopes 'a', 'b'") as caught:
        require_scopes(frozenset({"a"}), ["a", "b", "a"])

    assert caught.value.scopes == ("a", "b")
    assert (caught.value.code, caught.value.data) == (403, {"requiredScopes": ["a", "b"]})
