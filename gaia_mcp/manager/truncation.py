"""How a text is cut to so many bytes."""

from __future__ import annotations

# What the document of handlers appends.
MARK = "...(truncated)"
# The most that UTF-8 takes for a character.
_BYTES_OF_A_CHARACTER = 4


def truncated(text: str, max_bytes: int) -> str:
    """`text`, or what its first `max_bytes` bytes of UTF-8 hold, in whole characters and followed by `MARK`."""
    limit = max(0, max_bytes)
    if len(text) * _BYTES_OF_A_CHARACTER <= limit:
        return text
    # No longer than needed to see whether it must be cut. JSON may hold half a surrogate pair.
    data = text[: limit + 1].encode("utf-8", "surrogatepass")
    if len(data) <= limit:
        return text
    end = limit
    while end and data[end] & 0xC0 == 0x80:
        end -= 1
    return data[:end].decode("utf-8", "surrogatepass") + MARK
