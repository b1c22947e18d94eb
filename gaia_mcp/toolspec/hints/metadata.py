"""Converts the metadata of `Annotated` to members of a schema: a description, limits, others."""

from __future__ import annotations

import math
import typing
from collections.abc import Iterable
from typing import Any

from gaia_mcp.jsonvalues import NotJSONError, as_json_value

Wire = dict[str, Any]

# The attributes of limits in `annotated_types` and pydantic, and their JSON Schema keywords.
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

    A string is the description, and a dict is added unchanged. Objects of `annotated_types`, `typing_extensions.Doc`
    and pydantic's `Field` are recognised by their attributes; unknown objects are ignored.
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
    """Whether `value` is a result of pydantic's `Field()`."""
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
                continue  # A limit for values that JSON Schema cannot compare.
    for name in _LENGTHS:
        if isinstance(length := getattr(item, name, None), int):
            found[name] = length  # `Described` chooses the keyword.
    return found
