"""Reads the output of agents: JSON objects, in which any member may be missing or of another type."""

from __future__ import annotations

from typing import Any

from gaia_mcp.jsontext import JSONTextError, parse_json


def events(output: bytes) -> list[dict[str, Any]]:
    """The JSON objects among the lines. Other lines are skipped, such as an incomplete last one."""
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
    """The message in an API's error response, if `error` is such a response; otherwise `error` itself."""
    try:
        return text_in(parse_json(error), "error", "message") or error
    except JSONTextError:
        return error


def count_of(*values: Any) -> int | None:
    """The sum of the values that are token counts; None if none is."""
    counts = [value for value in values if isinstance(value, int) and not isinstance(value, bool) and value >= 0]
    return sum(counts) if counts else None


def text_in(value: Any, *keys: str) -> str:
    """The string at the path `keys` in nested objects; empty if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""
