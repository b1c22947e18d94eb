"""Truncates a text to a number of bytes."""

from __future__ import annotations

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
