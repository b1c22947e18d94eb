"""Whether a changed tool may break what calls it, compared with a validator."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gaia_mcp.checking import validation_errors
from gaia_mcp.text.strict_json import canonical
from gaia_mcp.toolspec.compatibility import breaks
from tests.schema_support import ANY_SCHEMA

Wire = dict[str, Any]

VALUES: list[Any] = [
    None, True, False, 0, 1, 2, 5, -1, 1.5, "", "a", "b", "abc", "abcdef", [], [1], ["a"], [1, 1], ["a", "b", "c"], {},
    {"a": 1}, {"a": "a"}, {"b": 1}, {"a": 1, "b": "x"}, {"c": 1}, {"a": {"a": 1}}, {"a": [1]}, {"a": None},
    {"a": "abc"},
]  # fmt: skip
SIMPLE = st.recursive(
    st.sampled_from([True, {}, {"type": "string"}, {"type": ["string", "null"]}, {"enum": ["a", 1]}, {"const": 1}]),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "number", "array", "object", "boolean", ["null", "array"]]),
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
            "required": st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True),
            "additionalProperties": st.booleans() | inner,
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
            "enum": st.lists(st.sampled_from(["a", 1, None]), min_size=1, max_size=2, unique=True),
            "minimum": st.integers(0, 3), "maximum": st.integers(0, 3),
            "minLength": st.integers(0, 3), "maxLength": st.integers(0, 3),
            "minItems": st.integers(0, 2), "maxItems": st.integers(0, 2),
            "pattern": st.sampled_from(["a", "^b"]), "uniqueItems": st.booleans(), "default": st.sampled_from([1, "a"]),
            "not": inner, "allOf": st.lists(inner, min_size=1, max_size=2),
        },
    ),
    max_leaves=6,
)  # fmt: skip


def tool(schema: Any = None, output: Any = None, **annotations: Any) -> Wire:
    """A canonical definition."""
    found = {"name": "t", "inputSchema": {"type": "object"} if schema is None else schema, "annotations": annotations}
    return {**found, "outputSchema": output} if output is not None else found


def properties(**members: Any) -> Wire:
    """A schema of an object."""
    return {"type": "object", "properties": members}


def of_input(then: Any, now: Any) -> list[str]:
    """How a change of the schema of a parameter breaks."""
    found = breaks(tool(properties(a=then)), tool(properties(a=now)))
    return [reason.removeprefix("inputSchema: a: ") for reason in found]


def test_what_cannot_break_a_caller_is_allowed() -> None:
    """Issue: a new optional parameter, a wider type, a new tool, a description."""
    for then, now in (
        ({"type": "string"}, {"type": ["string", "null"]}), ({"type": "integer"}, {"type": "number"}),
        ({"type": "string"}, {}), ({"type": "string"}, True), ({"enum": ["a"]}, {"enum": ["b", "a"]}),
        ({"const": "a"}, {"enum": ["a", "b"]}), ({"enum": ["a"]}, {"type": "string", "title": "A"}),
        ({"minimum": 1, "maxLength": 5}, {"minimum": 0, "maxLength": 6}), ({"minimum": 1}, {}),
        ({"type": "string"}, {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ({"oneOf": [{"type": "string"}]}, {"anyOf": [{"type": "null"}, {"type": "string"}]}),
        ({"type": "array", "items": {"type": "integer"}}, {"type": "array", "items": {"type": "number"}}),
        ({"description": "x"}, {"description": "y", "examples": [1]}), ({}, {"default": 1}),
        (properties(b={"type": "string"}), properties(b={"type": "string"}, c={})),
    ):  # fmt: skip
        assert of_input(then, now) == [], (then, now)
    assert breaks(None, tool()) == []
    assert breaks(tool(properties()), tool(properties(new={"type": "string"}))) == []
    assert breaks(tool(output=properties(a={})), tool(output=properties(a={"type": "string"}, b={}))) == []
    assert breaks(tool(), tool(output=properties())) == []
    assert breaks(tool(idempotentHint=True), tool(idempotentHint=True, readOnlyHint=True)) == []


def test_what_may_break_a_caller_is_named_with_its_reason() -> None:
    """Issue: each other difference is breaking, and says why."""
    cases: list[tuple[Any, Any, str]] = [
        ({"type": ["string", "null"]}, {"type": "string"}, "null is no longer allowed"),
        ({"type": "number"}, {"type": "integer"}, "number is no longer allowed"),
        ({"enum": ["a", "b"]}, {"enum": ["a"]}, '"b" is no longer allowed'),
        ({"type": "string"}, {"type": "string", "enum": ["a"]}, 'what is not one of ["a"] is no longer allowed'),
        ({}, {"minimum": 1}, "what minimum 1 excludes is no longer allowed"),
        ({"maxLength": 9}, {"maxLength": 5}, "what maxLength 5 excludes is no longer allowed"),
        ({"pattern": "a"}, {"pattern": "b"}, 'what pattern "b" excludes is no longer allowed'),
        ({}, {"uniqueItems": True}, "a value given twice is no longer allowed"),
        ({"default": 1}, {"default": 2}, "the default 1 has changed"),
        (
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
            {"type": "string"},
            '{"type": "null"} is no longer allowed',
        ),
        ({}, False, "any value is no longer allowed"),
        ({}, {"not": {"type": "null"}}, "what not excludes is no longer allowed"),
    ]
    for then, now, reason in cases:
        assert of_input(then, now) == [reason], (then, now)
    assert breaks(tool(), None) == ["it is gone"]
    assert breaks(tool(properties(a={})), tool({**properties(a={}), "required": ["a"]})) == [
        'inputSchema: to leave out "a" is no longer allowed'
    ]
    assert breaks(tool(properties(a={})), tool(properties())) == ['inputSchema: the parameter "a" is no longer allowed']
    nested = breaks(tool(properties(a=properties(b={}))), tool(properties(a=properties())))
    assert nested == ['inputSchema: a: the member "b" is no longer allowed']
    assert breaks(tool(), tool({"type": "object", "additionalProperties": False})) == [
        "inputSchema: another member is no longer allowed"
    ]
    any_text = tool({"type": "object", "additionalProperties": {"type": "string"}})
    assert breaks(any_text, tool({**any_text["inputSchema"], "properties": {"new": {"type": "integer"}}})) == [
        "inputSchema: new: string is no longer allowed"
    ]
    assert breaks(tool(readOnlyHint=True, destructiveHint=False), tool()) == [
        "readOnlyHint is no longer true", "destructiveHint is no longer false",
    ]  # fmt: skip


def test_a_result_may_not_become_wider() -> None:
    """Issue: what was promised is kept."""
    promised = tool(output={**properties(a={"type": "string"}), "required": ["a"]})

    assert breaks(promised, tool()) == ["outputSchema: it is gone"]
    assert breaks(promised, tool(output=properties(a={"type": "string"}))) == [
        'outputSchema: to leave out "a" was not promised'
    ]
    assert breaks(promised, tool(output={**properties(a={"type": ["string", "null"]}), "required": ["a"]})) == [
        "outputSchema: a: null was not promised"
    ]


def test_what_a_reference_leads_to_is_compared() -> None:
    """Ours: also of a schema that refers to itself; what is elsewhere cannot be judged."""

    def with_item(item: Any, **more: Any) -> Wire:
        return {**properties(a={"$ref": "#/$defs/x"}, **more), "$defs": {"x": item}}

    loop = {"type": "object", "properties": {"next": {"$ref": "#/$defs/x"}}}
    narrow = {**loop, "required": ["next"]}

    assert breaks(tool(with_item(loop)), tool(with_item(loop, b={}))) == []
    assert breaks(tool(with_item({"type": "string"})), tool(properties(a={"type": "string"}))) == []
    assert breaks(tool(with_item({"enum": [1, 2]})), tool(with_item({"enum": [1]}))) == [
        "inputSchema: a: 2 is no longer allowed"
    ]
    assert breaks(tool(with_item(loop)), tool(with_item(narrow))) == [
        'inputSchema: a: to leave out "next" is no longer allowed'
    ]
    assert of_input({"$ref": "https://x.example/a"}, {"$ref": "https://x.example/b"}) != []
    assert of_input({"$ref": "#/$defs/x", "minimum": 1}, {"$ref": "#/$defs/x", "minimum": 2}) != []


def closed(schema: Any) -> Any:
    """A schema without the members that it does not name: no caller gives them, and so new ones may come."""
    if not isinstance(schema, dict):
        return {"additionalProperties": False} if schema is True else schema
    found = {"additionalProperties": False, **schema}
    if found["additionalProperties"] is True:
        found["additionalProperties"] = False
    for keyword in {"items", "additionalProperties"} & schema.keys():
        found[keyword] = closed(found[keyword])
    if "properties" in schema:
        found["properties"] = {name: closed(held) for name, held in schema["properties"].items()}
    for keyword in {"anyOf", "allOf"} & schema.keys():
        found[keyword] = [closed(each) for each in schema[keyword]]
    return found


def assert_all_are_allowed(then: Any, now: Any) -> None:
    """If a change is said to break nothing, a validator allows every value that it allowed before."""
    if breaks(tool({"type": "object", "properties": {"a": then}}), tool({"type": "object", "properties": {"a": now}})):
        return
    for value in VALUES:
        if not validation_errors(closed(then), value):
            assert not validation_errors(now, value), (then, now, value)


@given(SIMPLE, SIMPLE)
@settings(max_examples=200, deadline=None)
def test_what_is_said_to_break_nothing_allows_every_value_of_before(then: Any, now: Any) -> None:
    """Ours: proved by a validator."""
    assert_all_are_allowed(then, now)


@given(SIMPLE, st.sets(st.sampled_from(["type", "properties", "required", "items", "anyOf", "enum", "minimum", "not"])))
@settings(max_examples=200, deadline=None)
def test_what_a_schema_loses_and_gains_is_judged_in_both_directions(schema: Any, lost: set[str]) -> None:
    """Ours: of two schemas that differ in some keywords, one may be wider."""
    if isinstance(schema, dict):
        less = {keyword: held for keyword, held in schema.items() if keyword not in lost}
        assert_all_are_allowed(schema, less)
        assert_all_are_allowed(less, schema)


@given(ANY_SCHEMA, ANY_SCHEMA)
@settings(max_examples=200, deadline=None)
def test_a_careless_schema_is_judged_without_an_error(then: Any, now: Any) -> None:
    """Ours: also references in circles; an equal one breaks nothing."""
    try:
        one, other = canonical({"a": then}), canonical({"a": now})
    except ValueError:
        return  # An infinity: such a tool cannot be locked.

    breaks(tool(properties(**one)), tool(properties(**other)))
    assert breaks(tool(properties(**one)), tool(properties(**one))) == []
