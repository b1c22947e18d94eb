"""The arguments of a call as they are recorded: secrets are masked, and long values are truncated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gaia_mcp.redaction import looks_secret, masked_value
from gaia_mcp.redaction.finding import hidden, in_text
from gaia_mcp.safetext import cut

# Enough to recognize a text, and far less than the content of a file.
MAX_TEXT_CHARS = 1000
# More values than people write by hand; a line with all rows of a table is unreadable.
MAX_VALUES = 500
MAX_DEPTH = 20
LEFT_OUT = "…"


def shown_arguments(arguments: Mapping[str, Any]) -> Any:
    """`arguments` with `****` for a value that is a secret by its name or its form, and `…` for omitted values."""
    return _shown("", arguments, iter(range(MAX_VALUES)), MAX_DEPTH)


def _shown(name: str, value: Any, left: Iterator[int], depth: int) -> Any:
    """`value` as it is recorded. `name` is the nearest enclosing member with the name of a secret, or ""."""
    if isinstance(value, str):
        return _text(name, value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        text = str(value)
        return value if not name or (shown := masked_value(name, text)) == text else shown
    if not isinstance(value, (Mapping, list)):
        return value
    if not depth:
        return LEFT_OUT
    if isinstance(value, list):
        items: list[Any] = []
        for item in value:
            if next(left, None) is None:
                return [*items, LEFT_OUT]
            items.append(_shown(name, item, left, depth - 1))
        return items
    members: dict[str, Any] = {}
    for key, inner in value.items():
        if next(left, None) is None:
            return {**members, LEFT_OUT: LEFT_OUT}
        members[_text("", key)] = _shown(key if looks_secret(key) else name, inner, left, depth - 1)
    return members


def _text(name: str, text: str) -> str:
    # Twice the limit, so that a secret that begins in the recorded part and ends after it is found.
    begin = text[: 2 * MAX_TEXT_CHARS]
    masked = masked_value(name, begin) if name else hidden(begin, in_text(begin))
    return cut(masked, MAX_TEXT_CHARS)
