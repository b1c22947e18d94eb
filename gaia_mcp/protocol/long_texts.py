"""Encoding messages with long texts: a text of 50 MB is escaped in pieces, so that it is in memory twice at most."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from json.encoder import encode_basestring_ascii
from typing import Any

from gaia_mcp.jsontext import paired

# Replaces each long text. A message that contains this text itself is written as a whole.
_MARK = "\x00long text\x00"


def encode_long(message: dict[str, Any], write: Callable[[Any], str], long_chars: int) -> bytes:
    """The message as one line, as `write` would encode it, but with texts of more than `long_chars` characters encoded
    in pieces. Raises as `write` does.
    """
    texts: list[str] = []
    parts = paired(write(_without_long(message, long_chars, texts))).split(write(_MARK))
    if len(parts) != len(texts) + 1:
        return paired(write(message)).encode("ascii") + b"\n"
    # Its buffer is returned without a final copy.
    line = BytesIO()
    for number, part in enumerate(parts):
        line.write(part.encode("ascii"))
        if number < len(texts):
            _write_text(texts[number], long_chars, line)
    line.write(b"\n")
    return line.getvalue()


def _without_long(value: Any, long_chars: int, texts: list[str]) -> Any:
    """`value` without its long texts, which are added to `texts`."""
    if isinstance(value, str) and len(value) > long_chars:
        texts.append(value)
        return _MARK
    if isinstance(value, dict):
        return {key: _without_long(item, long_chars, texts) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_long(item, long_chars, texts) for item in value]
    return value


def _write_text(text: str, piece_chars: int, line: BytesIO) -> None:
    line.write(b'"')
    start = 0
    while start < len(text):
        end = start + piece_chars
        # A surrogate pair is one character and must not be split.
        if end < len(text) and "\ud800" <= text[end - 1] <= "\udbff":
            end += 1
        line.write(paired(encode_basestring_ascii(text[start:end])[1:-1]).encode("ascii"))
        start = end
    line.write(b'"')
