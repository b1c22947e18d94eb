"""Results that are limited in size: the text of a tool's result is truncated, other content is unchanged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from gaia_mcp.asking import Call
    from gaia_mcp.protocol.server import Description
    from gaia_mcp.server.provider import Listener, Provider

Wire = dict[str, Any]
# As specified in the document of handlers.
MARK = "...(truncated)"
# The longest UTF-8 sequence of a character.
_BYTES_OF_A_CHARACTER = 4


def truncated(text: str, max_bytes: int) -> str:
    """`text`, truncated to the whole characters in its first `max_bytes` bytes of UTF-8 and followed by `MARK`."""
    limit = max(0, max_bytes)
    if len(text) * _BYTES_OF_A_CHARACTER <= limit:
        return text
    # No longer than needed to see whether it must be truncated. JSON may contain a lone surrogate.
    data = text[: limit + 1].encode("utf-8", "surrogatepass")
    if len(data) <= limit:
        return text
    end = limit
    while end and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end].decode("utf-8", "surrogatepass") + MARK


def shortened(blocks: list[Wire], max_bytes: int) -> list[Wire]:
    """The blocks with `max_bytes` bytes of text in total; later texts are left out."""
    left, kept = max_bytes, []
    for block in blocks:
        text = block.get("text")
        if not isinstance(text, str):
            kept.append(block)
        elif left > 0:
            kept.append({**block, "text": truncated(text, left)})
            left -= len(text.encode("utf-8", "surrogatepass"))
    return kept


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
        if method == "tools/call" and isinstance(blocks := answer.get("content"), list):
            return {**answer, "content": shortened(blocks, self._max_bytes)}
        return answer

    def on_change(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        """As the provider does."""
        return self._provider.on_change(listener, wanted)

    def close(self) -> None:
        """Close the provider."""
        self._provider.close()
