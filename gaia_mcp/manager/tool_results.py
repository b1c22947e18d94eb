"""Converts tool results between the contract of handlers, `MCPToolResult`, and MCP, the result of `tools/call`.

A handler's result is one text. The other members of MCP are in its `metadata`, under MCP's own names: `content` if the
content is more than a text, `structuredContent`, and `_meta`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gaia_mcp.handlers.base import MCPToolResult

if TYPE_CHECKING:
    from gaia_mcp.protocol.server import Description
    from gaia_mcp.server.provider import Listener, Provider
    from gaia_mcp.toolcall import Call

Wire = dict[str, Any]

# The members of MCP's result that a handler's result has no field for.
_CARRIED = ("structuredContent", "_meta")
# The prefix of names in `_meta` that concern the connection of a result.
_OF_THE_CONNECTION = "io.modelcontextprotocol/"


def failed(problem: str) -> MCPToolResult:
    """The result of a call that failed because of `problem`."""
    return MCPToolResult("", is_error=True, error_message=problem)


def checked(value: Any, called: Callable[[], str]) -> MCPToolResult:
    """The value that a handler returned if it is a valid result, else the result of a failure that names `called()`."""
    if not isinstance(value, MCPToolResult):
        return failed(f"{called()} returned {type(value).__name__}, not an MCPToolResult")
    if not isinstance(value.content, str):
        return failed(f"{called()} returned a result whose content is {type(value.content).__name__}, not str")
    if isinstance(value.is_error, bool) and isinstance(value.error_message, str) and isinstance(value.metadata, dict):
        return value
    message = str(value.error_message or "")
    metadata = value.metadata if isinstance(value.metadata, dict) else {}
    return replace(value, is_error=bool(value.is_error), error_message=message, metadata=metadata)


def tool_result(wire: Wire) -> MCPToolResult:
    """A result of `tools/call` as a handler's result."""
    content = wire.get("content")
    blocks = [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []
    text = "\n".join(filter(None, map(_text_of, blocks)))
    metadata = {name: wire[name] for name in _CARRIED if name in wire}
    meta = metadata.pop("_meta", None)
    if isinstance(meta, dict):
        metadata["_meta"] = {key: value for key, value in meta.items() if not key.startswith(_OF_THE_CONNECTION)}
    if not metadata.get("_meta"):
        metadata.pop("_meta", None)
    if blocks and blocks != [{"type": "text", "text": text}]:
        metadata["content"] = blocks
    if not blocks and "structuredContent" in wire:
        text = json.dumps(wire["structuredContent"], ensure_ascii=False)
    if wire.get("isError") is not True:
        return MCPToolResult(text, metadata=metadata)
    return MCPToolResult("", True, text or "the tool reported an error without a text", metadata)


def wire_result(result: MCPToolResult) -> Wire:
    """A handler's result as a result of `tools/call`."""
    blocks = _blocks(result.metadata)
    if blocks is None:
        texts = [result.content, result.error_message] if result.is_error else [result.content]
        text = "\n".join(filter(None, texts))
        blocks = [{"type": "text", "text": text}] if text else []
    carried = {name: result.metadata[name] for name in _CARRIED if name in result.metadata}
    return {"content": blocks, "isError": result.is_error, **carried}


def capped(result: MCPToolResult, max_bytes: int) -> MCPToolResult:
    """`result` with its text truncated to `max_bytes` bytes. Other content is unchanged: a part of it is useless."""
    content, message = truncated(result.content, max_bytes), truncated(result.error_message, max_bytes)
    blocks = _blocks(result.metadata)
    if blocks is not None and (cut := _cut(blocks, max_bytes)) != blocks:
        return replace(result, content=content, error_message=message, metadata={**result.metadata, "content": cut})
    if content is result.content and message is result.error_message:
        return result
    return replace(result, content=content, error_message=message)


def _blocks(metadata: dict[str, Any]) -> list[Wire] | None:
    """The content blocks in `metadata`, None without valid ones: a handler may use the name for something else."""
    blocks = metadata.get("content")
    if not isinstance(blocks, list) or not blocks:
        return None
    are_blocks = all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in blocks)
    return blocks if are_blocks else None


def _cut(blocks: list[Wire], max_bytes: int) -> list[Wire]:
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


def _text_of(block: Wire) -> str:
    """A content block for a reader of text alone."""
    resource = block.get("resource")
    for holder in (block, resource):
        if isinstance(holder, dict) and isinstance(holder.get("text"), str):
            return str(holder["text"])
    described = resource if isinstance(resource, dict) else block
    words = [block.get("type"), described.get("name") or described.get("uri"), described.get("mimeType")]
    return f"[{' '.join(word for word in words if isinstance(word, str))}]"


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
