"""The defaults of members that a schema requires."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from gaia_mcp.cli.calls.tool_call import MAX_ADDED, with_defaults
from tests.protocol_support import steady
from tests.schema_support import ANY_SCHEMA, JSON

SCALE = {"type": "string", "default": "css"}
AREA = {"type": "object", "properties": {"scale": SCALE, "x": {"type": "integer"}}, "required": ["scale", "x"]}
KIND = {kind: {"properties": {"kind": {"const": kind}, kind: {"default": 1}}, "required": [kind]} for kind in "ab"}


def test_a_missing_required_member_gets_its_default() -> None:
    """JSON Schema: `default` is what stands for a missing value."""
    cases = [
        # What is required, has a default, and is missing.
        (AREA, {}, {"scale": "css"}),
        (AREA, {"scale": "device"}, {"scale": "device"}),
        (AREA, {"other": 1}, {"other": 1, "scale": "css"}),
        ({"properties": {"n": {"default": None}}, "required": ["n"]}, {}, {"n": None}),
        ({"properties": {"n": {"default": 1}}}, {}, {}),
        ({"required": ["n"]}, {}, {}),
        # At every level, also within a default.
        ({"properties": {"area": AREA}}, {"area": {"x": 1}}, {"area": {"scale": "css", "x": 1}}),
        ({"properties": {"area": AREA}}, {"area": "x"}, {"area": "x"}),
        ({"properties": {"all": {"items": AREA}}}, {"all": [{}, 5]}, {"all": [{"scale": "css"}, 5]}),
        ({"properties": {"area": {**AREA, "default": {}}}, "required": ["area"]}, {}, {"area": {"scale": "css"}}),
        # Of an object that is put together.
        ({"allOf": [{"required": ["scale"]}, {"properties": {"scale": SCALE}}]}, {}, {"scale": "css"}),
        ({"allOf": [{"properties": {"scale": SCALE}}, {"required": ["scale"]}]}, {}, {"scale": "css"}),
        ({"$ref": "#/$defs/A", "$defs": {"A": AREA}}, {}, {"scale": "css"}),
        # Of a union, by what the value can be.
        ({"anyOf": [{"type": "null"}, AREA]}, {"x": 1}, {"x": 1, "scale": "css"}),
        ({"anyOf": [{"type": "null"}, AREA]}, {}, {}),
        ({"oneOf": [KIND["a"], KIND["b"]]}, {"kind": "a"}, {"kind": "a", "a": 1}),
        ({"oneOf": [KIND["a"], KIND["b"]]}, {"kind": "b"}, {"kind": "b", "b": 1}),
        ({"oneOf": [KIND["a"], KIND["b"]]}, {"kind": "c"}, {"kind": "c"}),
        ({"anyOf": [{"type": "object"}, {"type": "array", "items": AREA}]}, [{}], [{"scale": "css"}]),
        ({"anyOf": [{"required": ["gone"]}, KIND["a"]]}, {}, {"a": 1}),
        # What is no schema says nothing.
        ({"properties": 5, "required": ["a"], "allOf": 7}, {}, {}),
        ({"required": [5]}, {}, {}),
        (True, {}, {}),
        (None, [{}], [{}]),
        ({}, "text", "text"),
    ]

    wrong = []
    for schema, value, whole in cases:
        before = repr(value)
        if not (with_defaults(value, schema) == whole and repr(value) == before):
            wrong.append((schema, value, whole))

    assert not wrong


def test_a_recursive_default_ends_at_the_limit() -> None:
    """Ours: a server can write such a schema, and each level would have twice the members of the one above it."""
    both = {name: {"$ref": "#", "default": {}} for name in "ab"}
    added = with_defaults({}, {"properties": both, "required": ["a", "b"]})
    assert repr(added).count(":") == MAX_ADDED


@steady
@given(JSON, ANY_SCHEMA)
def test_any_value_and_any_schema_give_a_value(value: Any, schema: Any) -> None:
    """Ours: a careless server's tools are called all the same."""
    whole = with_defaults(value, schema)
    assert type(whole) is type(value)
    if isinstance(value, dict):
        assert set(value) <= set(whole)
