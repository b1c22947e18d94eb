"""Examples of values, as they are typed."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from gaia_mcp.toolspec.examples import example_of
from tests.protocol_support import steady
from tests.schema_support import ANY_SCHEMA

ROOT = {"$defs": {"Size": {"enum": ["xl", "s"]}, "List": {"type": "array", "items": {"$ref": "#/$defs/List"}}}}


def test_an_example_is_valid_for_its_field() -> None:
    """Ours: the line that is advised works when it is copied, where the schema tells enough."""
    cases = [
        ({"type": "string"}, "VALUE"),
        ({"type": "string", "enum": ["small", "large"]}, "small"),
        ({"oneOf": [{"const": "n", "title": "North"}]}, "n"),
        ({"type": "string", "default": "Ada"}, "Ada"),
        ({"type": "string", "format": "email"}, "ada@example.com"),
        ({"type": "boolean"}, "true"),
        ({"type": "boolean", "default": False}, "false"),
        ({"type": "integer"}, "1"),
        ({"type": "integer", "minimum": 3}, "3"),
        ({"type": "number", "maximum": -2.5}, "-2.5"),
        ({"type": "array", "items": {"enum": ["ham"]}}, "ham"),
        ({"type": "array"}, "VALUE"),
        ({"$ref": "#/$defs/Size"}, "xl"),
        ({"$ref": "#/$defs/List"}, "VALUE"),
        (None, "VALUE"),
    ]

    wrong = [(field, found) for field, typed in cases if (found := example_of(field, ROOT)) != typed]

    assert not wrong


@steady
@given(ANY_SCHEMA)
def test_every_schema_has_an_example(schema: Any) -> None:
    """Ours: a schema may be invalid."""
    assert isinstance(example_of(schema, schema), str)
