"""Tools that need scopes of their callers' access tokens."""

from __future__ import annotations

import pytest

from gaia_mcp.gateway.naming import Owner
from gaia_mcp.gateway.scoped import ScopedProvider, ScopeRule
from gaia_mcp.gateway.search import SearchProvider
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.provider import InsufficientScopeError, RequestError
from gaia_mcp.toolcall import Call
from tests.gateway.shelf import Shelf, Wire, answer, names, owners

RULES = [ScopeRule("delete_*", "trips:write"), ScopeRule("two/*", "admin")]


def calling(provider: ScopedProvider | SearchProvider, tool: object, /, *scopes: str, **arguments: object) -> Wire:
    call = Call()
    call.scopes = frozenset(scopes)
    return provider.answer("tools/call", {"name": tool, "arguments": arguments}, call)


def lacking(
    provider: ScopedProvider | SearchProvider, tool: str, /, *scopes: str, **arguments: object
) -> tuple[str, ...]:
    with pytest.raises(InsufficientScopeError) as caught:
        calling(provider, tool, *scopes, **arguments)
    return caught.value.scopes


def test_a_scope_rule_applies_to_the_tools_that_it_matches() -> None:
    """Ours: by each of their names; every rule that matches counts."""
    shelf = Shelf("read", "delete_trip", "two__delete_trip")
    provider = ScopedProvider(AgentProvider(shelf), owners, RULES)

    assert lacking(provider, "delete_trip") == ("trips:write",)
    assert lacking(provider, "two__delete_trip", "admin") == ("trips:write", "admin")
    calling(provider, "read")
    calling(provider, "two__delete_trip", "admin", "trips:write")
    # Without access tokens, scopes restrict nothing.
    answer(provider, "tools/call", name="delete_trip")
    assert shelf.ran == ["read", "two__delete_trip", "delete_trip"]
    assert names(provider) == ["read", "delete_trip", "two__delete_trip"]
    with pytest.raises(RequestError, match="a string"):
        calling(provider, 7)


def test_a_tool_is_looked_up_before_its_scopes_are_checked() -> None:
    """Ours: a gateway may understand a name before it has listed the tool, and then another rule could be about it."""
    known: dict[str, Owner] = {}

    class Lists(AgentProvider):
        def answer(self, method: str, params: Wire, call: Call) -> Wire:
            if method == "tools/list":
                known["odd"] = Owner("two", "odd")
            return super().answer(method, params, call)

    shelf = Shelf("odd", "none")
    provider = ScopedProvider(Lists(shelf), known.get, RULES)

    assert lacking(provider, "odd") == ("admin",)
    with pytest.raises(RequestError, match="Unknown tool: none"):
        calling(provider, "none", "admin")
    assert shelf.ran == []


def test_a_tool_that_is_called_by_another_one_needs_the_same_scopes() -> None:
    """Ours: `call` of `--search` is no way around."""
    provider = SearchProvider(ScopedProvider(AgentProvider(Shelf("delete_trip")), owners, RULES), owners)

    assert lacking(provider, "call", name="delete_trip") == ("trips:write",)
    assert calling(provider, "call", "trips:write", name="delete_trip")["isError"] is False
