"""A provider that offers some of the tools of another one. For its clients the other tools do not exist."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gaia_mcp.gateway.restrictions import NamePatterns, OwnedTool, Restriction
from gaia_mcp.server.pages import page_of
from gaia_mcp.server.provider import ToolList, WrappingProvider, all_tools, unknown_tool

if TYPE_CHECKING:
    from gaia_mcp.gateway.naming import Owner
    from gaia_mcp.gateway.restrictions import Owners
    from gaia_mcp.server.provider import Change, Provider
    from gaia_mcp.toolcall import Call

Wire = dict[str, Any]


class RestrictedProvider(WrappingProvider):
    """Offers the tools of `provider` that `patterns` and all `restrictions` select. Prompts and resources are not
    restricted.
    """

    def __init__(
        self,
        provider: Provider,
        owners: Owners,
        patterns: NamePatterns | None = None,
        restrictions: Sequence[Restriction] = (),
    ) -> None:
        super().__init__(provider)
        self._owners = owners
        self._patterns = patterns
        self._restrictions = restrictions
        # Held to select tools.
        self._selecting = threading.Lock()
        # `_state` is replaced after each change of the tools. `_selected` is the state of the last selection, and
        # whether each listed tool was selected.
        self._state = object()
        self._selected: tuple[object, dict[Owner, bool]] = (None, {})
        # Registered before the listeners of clients, so that a client's request after a change selects again.
        self._stop_listening = provider.on_change(self._change)

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        """As the provider. Raises the error for an unknown tool if a tool is left out."""
        if method == "tools/list":
            tools, about = self.all_tools(call)
            return {**about, **page_of("tools", tools, "name", params)}
        if method == "tools/call":
            name = params.get("name")
            if isinstance(name, str) and not self._is_offered(name, call):
                raise unknown_tool(name)
        return self._provider.answer(method, params, call)

    def all_tools(self, call: Call) -> ToolList:
        """List all tools of the provider. Returns those that are offered."""
        state = self._state
        listed = all_tools(self._provider, call)
        owned = [(tool, self._owners(tool["name"])) for tool in listed.tools]
        tools = [OwnedTool(tool, owner) for tool, owner in owned if owner is not None]
        selected = dict.fromkeys([tool.owner for tool in tools], False)
        with self._selecting:
            for one in [*([self._patterns] if self._patterns is not None else ()), *self._restrictions]:
                tools = one.select(tools)
            selected.update((tool.owner, True) for tool in tools)
            self._selected = state, selected
        return ToolList([tool.definition for tool in tools], listed.about)

    def close(self) -> None:
        """Close the provider."""
        self._stop_listening()
        self._provider.close()

    def _change(self, change: Change) -> None:
        # After a reconnect, the server may have another version.
        if "tools" in change.lists or change.description:
            self._state = object()

    def _is_offered(self, name: str, call: Call) -> bool:
        if (owner := self._owners(name)) is not None:
            if self._patterns is not None and not self._patterns.allows(name, owner):
                return False
            if not self._restrictions:
                return True
            state, selected = self._selected
            if state is self._state and owner in selected:
                return selected[owner]
        tools, _ = self.all_tools(call)
        owner = self._owners(name)
        return any(self._owners(tool["name"]) == owner for tool in tools)
