"""Example values for the fields of a form, as typed after `key=`."""

from __future__ import annotations

from typing import Any

from gaia_mcp.toolspec.schema import choices_of, default_of, parts_of, resolved, titled_choices_of, types_of

# The placeholder for a text that only the user knows.
ANY_TEXT = "VALUE"
# The depth of nested lists; a list may contain itself.
MAX_NESTED = 8
_FORMATS = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "email": "ada@example.com",
    "uri": "https://example.com",
}


def example_of(field: Any, root: Any) -> str:
    """A value that `field`, part of the schema `root`, allows; `VALUE` if none is known."""
    part = resolved(field, root)
    for _ in range(MAX_NESTED):
        if "array" in types_of(part):
            part = resolved(part.get("items"), root)
    choices = [choice for each in parts_of(part, root) for choice in choices_of(each)]
    choices += [value for value, _ in titled_choices_of(part)]
    default = default_of(part, root)
    for value in (*choices, default):
        if isinstance(value, str) and value:
            return value
        if isinstance(value, (bool, int, float)):
            return str(value).lower()
    kinds = types_of(part)
    if "boolean" in kinds:
        return "true"
    if "integer" in kinds or "number" in kinds:
        return str(part.get("minimum", part.get("maximum", 1)))
    return _FORMATS.get(str(part.get("format")), ANY_TEXT)
