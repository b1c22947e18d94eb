"""Examples of values, as they are typed."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from gaia_mcp.toolspec.examples import example_of
from tests.protocol_support import steady
from tests.schema_support import ANY_SCHEMA

ROOT = {"$defs": {"Size": {"enum": ["xl", "s"]}, "List": {"type": "array", "items": {"$ref": "#/$defs/List"}}}}


@pytest.mark.parametrize(
    ("field", "typed"),
    [
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
    ],
)
def test_an_example_is_what_the_field_allows(field: Any, typed: str) -> None:
    """Ours: the line that is advised works when it is copied, where the schema tells enough."""
    assert example_of(field, ROOT) == typed


@steady
@given(ANY_SCHEMA)
def test_every_schema_has_an_example(schema: Any) -> None:
    """Ours: a schema may be invalid."""
    assert isinstance(example_of(schema, schema), str)
