"""Reading what agents write: JSON objects, in which any member may be missing or of another type."""

from __future__ import annotations

from typing import Any

from gaia_mcp.jsontext import JSONTextError, parse_json


def events(output: bytes) -> list[dict[str, Any]]:
    """The JSON objects among the lines; the last may have been cut off."""
    found = []
    for line in output.split(b"\n"):
        try:
            event = parse_json(line.decode("utf-8", "replace"))
        except JSONTextError:
            continue
        if isinstance(event, dict):
            found.append(event)
    return found


def unwrapped(error: str) -> str:
    """The message in the JSON that an API has sent, where an agent repeats that as its error."""
    try:
        return text_in(parse_json(error), "error", "message") or error
    except JSONTextError:
        return error


def count_of(*values: Any) -> int | None:
    """The sum of those values that are numbers of tokens; None without such a value."""
    counts = [value for value in values if isinstance(value, int) and not isinstance(value, bool) and value >= 0]
    return sum(counts) if counts else None


def text_in(value: Any, *keys: str) -> str:
    """The string that `keys` lead to in nested objects, or an empty one."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""
