"""A provider whose tools require scopes of the caller's access token, by rules with name patterns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.gateway.restrictions import is_meant
from gaia_mcp.server.provider import WrappingProvider, all_tools, unknown_tool
from gaia_mcp.server.scopes import require_scopes

if TYPE_CHECKING:
    from gaia_mcp.gateway.restrictions import Owners
    from gaia_mcp.server.provider import Provider
    from gaia_mcp.toolcall import Call

Wire = dict[str, Any]


class ScopeRule(NamedTuple):
    """The tools that match a pattern, as in `--allow`, require `scope`."""

    pattern: str
    scope: str


class ScopedProvider(WrappingProvider):
    """Wraps `provider`; its tools require the scopes of these rules, in addition to those that it requires itself."""

    def __init__(self, provider: Provider, owners: Owners, rules: Sequence[ScopeRule]) -> None:
        super().__init__(provider)
        self._owners = owners
        self._rules = rules

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        """As the provider; also raises `InsufficientScopeError`."""
        if method == "tools/call" and call.scopes is not None and isinstance(name := params.get("name"), str):
            require_scopes(call.scopes, self._scopes_of(name, call))
        return self._provider.answer(method, params, call)

    def _scopes_of(self, name: str, call: Call) -> list[str]:
        if (owner := self._owners(name)) is None:
            # A gateway resolves a prefixed name before the tool is listed, so the tools have to be listed first.
            all_tools(self._provider, call)
            if (owner := self._owners(name)) is None:
                raise unknown_tool(name)
        return [rule.scope for rule in self._rules if is_meant(rule.pattern, name, owner)]
