"""What the metadata of `Annotated` adds to a schema: a description, limits, other members."""

from __future__ import annotations

import math
import typing
from collections.abc import Iterable
from typing import Any

from gaia_mcp.jsonvalues import NotJSONError, as_json_value

Wire = dict[str, Any]

# The attributes by which `annotated_types` and pydantic state limits, and what JSON Schema calls them.
_LIMITS = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
    "multiple_of": "multipleOf",
    "pattern": "pattern",
}
_LENGTHS = ("min_length", "max_length")


def members_of(metadata: Iterable[Any]) -> Wire:
    """The members that these metadata add to a schema.

    A text is the description, and a dict is added as it is. Objects of `annotated_types`, `typing_extensions.Doc` and
    pydantic's `Field` are known by their attributes; what is not known adds nothing.
    """
    found: Wire = {}
    for item in metadata:
        if isinstance(item, str):
            found["description"] = item
        elif isinstance(item, dict):
            found.update(item)
        elif not isinstance(item, type):
            found.update(_members_of_object(item))
    return found


def is_described(hint: Any) -> bool:
    """Whether a hint is an `Annotated` with a description."""
    return typing.get_origin(hint) is typing.Annotated and "description" in members_of(typing.get_args(hint)[1:])


def is_field(value: Any) -> bool:
    """Whether `value` is what pydantic's `Field()` returns."""
    kind = type(value)
    return kind.__name__ == "FieldInfo" and kind.__module__.startswith("pydantic")


def _members_of_object(item: Any) -> Wire:
    found: Wire = {}
    for name, keyword in (("documentation", "description"), ("description", "description"), ("title", "title")):
        if isinstance(text := getattr(item, name, None), str):
            found[keyword] = text
    if is_field(item):
        if item.examples:
            found["examples"] = list(item.examples)
        extra = item.json_schema_extra
        found.update(extra if isinstance(extra, dict) else {})
        for limit in item.metadata:
            found.update(_members_of_object(limit))
        return found
    limits = {keyword: getattr(item, name, None) for name, keyword in _LIMITS.items()}
    for keyword, limit in limits.items():
        if limit is not None and not (isinstance(limit, float) and math.isinf(limit)):
            try:
                found[keyword] = as_json_value(getattr(limit, "pattern", limit))
            except NotJSONError:
                continue  # A limit of values that JSON does not compare.
    for name in _LENGTHS:
        if isinstance(length := getattr(item, name, None), int):
            found[name] = length  # `Described` knows the keyword.
    return found
