"""A provider whose tools return no more text than an entry allows."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any

from gaia_mcp.manager.tool_results import capped, tool_result, wire_result

if TYPE_CHECKING:
    from gaia_mcp.protocol.server import Description
    from gaia_mcp.server.provider import Listener, Provider
    from gaia_mcp.toolcall import Call


class CappedProvider:
    """Wraps `provider`, truncating the text of each tool result to `max_bytes` bytes. Other content is unchanged."""

    def __init__(self, provider: Provider, max_bytes: int) -> None:
        self._provider = provider
        self._max_bytes = max_bytes

    def describe(self) -> Description:
        """As the provider does."""
        return self._provider.describe()

    def answer(self, method: str, params: dict[str, Any], call: Call) -> dict[str, Any]:
        """As the provider does, and raises the same."""
        answer = self._provider.answer(method, params, call)
        if method != "tools/call":
            return answer
        result = tool_result(answer)
        short = capped(result, self._max_bytes)
        return answer if short is result else wire_result(short)

    def on_change(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        """As the provider does."""
        return self._provider.on_change(listener, wanted)

    def close(self) -> None:
        """Close the provider."""
        self._provider.close()
