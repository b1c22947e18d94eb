"""Schemas as a careless server writes them, for tests that try many."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
# The right words with anything behind them, also references in circles.
ANY_SCHEMA = st.recursive(
    st.sampled_from(
        [True, None, {}, 1, {"$ref": "#"}, {"$ref": "#/$defs/a"}, {"$ref": "#/anyOf/0"}, {"type": "string"}]
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "array", "object", "no", ["null", "array"], [1], 5, None]),
            "anyOf": st.lists(inner, max_size=3) | inner,
            "oneOf": st.lists(inner, max_size=3),
            "allOf": st.lists(inner, max_size=3) | inner,
            "items": inner,
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3) | inner,
            "additionalProperties": inner,
            "required": st.lists(st.sampled_from(["a", "b", 1]), max_size=3) | st.just("a"),
            "$defs": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
            "enum": st.lists(JSON, max_size=3) | st.just(7),
            "const": JSON,
            "default": JSON,
        },
    ),
    max_leaves=12,
)


def nested(depth: int) -> dict[str, Any]:
    """Lists in lists, `depth` of them."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"type": "array", "items": schema}
    return schema


def twice(keyword: str, levels: int) -> dict[str, Any]:
    """A schema whose `keyword` has two references to another one, which has two to another one, and so on."""
    definitions: dict[str, Any] = {
        f"a{level}": {keyword: [{"$ref": f"#/$defs/a{level + 1}"}] * 2} for level in range(levels)
    }
    return {"$ref": "#/$defs/a0", "$defs": {**definitions, f"a{levels}": {"type": "string"}}}


def twice_each(keyword: str) -> dict[str, Any]:
    """A schema that applies twice to each item of a list."""
    return {"$ref": "#/$defs/a", "$defs": {"a": {keyword: [{"items": {"$ref": "#/$defs/a"}}] * 2}}}
