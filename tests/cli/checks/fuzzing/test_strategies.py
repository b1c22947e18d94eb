"""The arguments that are generated from a schema."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.checking import validation_errors
from gaia_mcp.cli.checks.fuzzing import engine, strategies
from gaia_mcp.cli.checks.fuzzing.strategies import UnmakeableError, drawn_at_once, joinable, merged, together
from gaia_mcp.toolspec.validation import SchemaError
from tests.protocol_support import check_rows, steady
from tests.schema_support import ANY_SCHEMA


def obj(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required or [], "additionalProperties": False}


def drawn(strategy: Any, examples: int = 60) -> list[Any]:
    found: list[Any] = []
    engine.draw(strategy, "a seed", found.append, examples)
    return found


SCHEMAS: list[Any] = [
    obj(["a"], a={"type": "string", "minLength": 2, "maxLength": 5}),
    obj(["a"], a={"type": "string", "minLength": 5_000}),
    obj(["a"], a={"type": "string", "maxLength": 3_000}, b={"type": "boolean"}),
    obj(["a"], a={"type": "string", "pattern": "^[a-f0-9]{8}$"}),
    obj(["a"], a={"type": "integer", "minimum": 3, "maximum": 3}),
    obj(["a"], a={"type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 6.5}),
    obj(["a"], a={"type": "integer", "multipleOf": 5, "minimum": 1}),
    obj(["a"], a={"type": "integer", "multipleOf": 2.5, "maximum": 100}),
    obj(["a"], a={"type": "number", "exclusiveMinimum": 0, "maximum": 1}),
    obj(["a"], a={"type": "number", "minimum": 0.25, "exclusiveMaximum": 0.75}),
    obj(["a"], a={"type": "number", "multipleOf": 0.5}),
    obj(["a", "b"], a={"enum": ["x", 1, None]}, b={"const": {"c": []}}),
    obj(["a"], a={"type": ["string", "null"]}),
    obj(["a"], a={"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3}),
    obj(["a"], a={"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "minItems": 2}),
    obj(["a"], a={"type": "array", "items": {"type": "null"}, "minItems": 500}),
    obj(["a"], a={"type": "array", "prefixItems": [{"type": "string"}, {}], "items": False, "minItems": 2}),
    obj(["a"], a={"type": "array", "prefixItems": [{"const": 1}], "items": {"const": 2}}),
    obj(["a"], a={"anyOf": [{"type": "integer", "maximum": 0}, {"type": "string", "maxLength": 1}]}),
    obj(["a"], a={"allOf": [{"type": "number", "minimum": 1}, {"type": "integer"}, {"maximum": 4}]}),
    obj(["a"], a={"oneOf": [obj(["k"], k={"const": "x"}), obj(["k", "n"], k={"const": "y"}, n={"type": "integer"})]}),
    {"type": "object", "properties": {"a": {}, "b": True}, "required": ["a", "c"]},
    {"type": "object", "additionalProperties": {"type": "integer"}, "minProperties": 1},
    {"type": "object", "properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"type": "integer", "minimum": 7}},
     "additionalProperties": False},
    {**obj(value={"type": "integer"}, next={"$ref": "#"}), "required": ["value"]},
    {**obj(a={"type": "string"}, b={"type": "integer"}), "anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
]  # fmt: skip


def test_what_is_made_to_be_valid_is_valid() -> None:
    """Ours: each keyword that schemas of tools have is understood; the validator has the last word."""

    def check(schema: Any) -> None:
        found = drawn(strategies.valid(schema))
        assert found
        assert not [each for each in found if validation_errors(schema, each)]

    check_rows(check, ((schema,) for schema in SCHEMAS))


def test_what_is_made_to_be_invalid_is_invalid() -> None:
    """Ours: a value that is valid after all would be no finding, only a call that proves nothing."""

    def check(schema: Any) -> None:
        made = strategies.invalid(schema)
        assert made is not None
        found = drawn(made)
        wrong = [each for each in found if not validation_errors(schema, each)]
        assert all(isinstance(each, dict) for each in found)
        assert len(wrong) <= len(found) // 3, wrong[:3]

    rows = [schema for schema in SCHEMAS if schema.get("additionalProperties") is False]
    check_rows(check, ((schema,) for schema in rows))


def test_each_way_to_break_a_rule_is_used() -> None:
    """Issue: missing, of another type, null, out of bounds, and unknown arguments."""
    schema = obj(["n"], n={"type": "integer", "minimum": 1, "maximum": 5}, o=obj(["p"], p={"type": "string"}))

    problems = {str(validation_errors(schema, each)[0]) for each in drawn(strategies.invalid(schema), 500)}

    for said in ("'n' is missing", "null is not", "less than the minimum", "greater than the maximum", "there is no "):
        assert any(said in problem for problem in problems), (said, problems)
    assert any(problem.startswith(("o.p", "o:")) for problem in problems)


def test_a_value_of_any_type_and_every_branch_is_drawn() -> None:
    """Issue: every branch of an `enum` or `anyOf`, missing optional members, the empty text and long ones."""
    schema = obj(a={"anyOf": [{"type": "integer"}, {"type": "string"}, {"enum": [True, None]}]})

    found = drawn(strategies.valid(schema), 400)

    kinds = {type(each["a"]) for each in found if "a" in each}
    assert kinds >= {int, str, bool, type(None)}
    assert {} in found
    texts = {each["a"] for each in found if isinstance(each.get("a"), str)}
    assert "" in texts
    assert any(len(text) >= 1_000 for text in texts)
    assert any(not text.isascii() for text in texts)


def test_texts_have_the_format_that_is_asked_for() -> None:
    """Ours: a server that checks a format would else refuse most texts, which the validator accepts."""
    formats = ("date", "time", "date-time", "email", "uuid", "ipv4", "ipv6", "hostname", "uri", "duration", "regex")
    schema = obj(list(formats), **{name: {"type": "string", "format": name} for name in formats})

    (example, *_) = drawn(strategies.valid(schema))

    assert example["date"].count("-") == 2
    assert example["email"].endswith("@example.com")
    assert example["date-time"].endswith("Z")
    assert example["ipv4"].count(".") == 3


@pytest.mark.parametrize(
    "schema",
    [
        obj(["a"], a={"type": "array", "minItems": 10**9}),
        obj(["a"], a={"type": "string", "minLength": 10**9}),
        obj(["a"], a={"type": "integer", "minimum": 5, "maximum": 4}),
        obj(["a"], a={"enum": []}),
        obj(["a"], a={"type": "no such type"}),
        {**obj(next={"$ref": "#"}), "required": ["next"]},
        {"type": "object", "required": ["a"], "additionalProperties": False},
    ],
)
def test_a_schema_without_values_of_a_bounded_size_is_refused(schema: Any) -> None:
    """Ours: neither a hang nor billions of items."""
    with pytest.raises(UnmakeableError):
        strategies.valid(schema)


@pytest.mark.parametrize("pattern", ["(a+)+$", r"(?<!a)b(?=c)", "(", r"\p{L}+", "(a{50}){50}"])
def test_an_expression_that_is_costly_or_not_of_python_is_left_to_the_validator(pattern: str) -> None:
    """Ours: an expression of a server must not hang us."""
    found = drawn(strategies.valid(obj(["a"], a={"type": "string", "pattern": pattern})))

    assert all(isinstance(each["a"], str) for each in found)


def test_arguments_together_are_valid_ones_and_some_invalid_ones() -> None:
    """Ours: most defects are behind the check of the arguments."""
    schema = obj(["a"], a={"type": "integer"})

    for example in drawn(together(schema, 20), 10):
        assert sum(bool(validation_errors(schema, each)) for each in example) == 6
    assert [len(example) for example in drawn(together({"type": "object"}, 3), 2)] == [3, 3]
    assert all(len(example) == 1 for example in drawn(together(schema, 1), 5))


def test_fewer_large_arguments_are_drawn_at_once() -> None:
    """Ours: the engine has a limit for the size of an example."""
    large = obj(**{f"p{number}": {"type": "integer"} for number in range(60)})

    assert drawn_at_once(obj(a={"type": "string"}), 20) == 20
    assert drawn_at_once(large, 20) == 3
    assert drawn_at_once({"type": "no"}, 20) == 20


def test_each_of_the_arguments_is_announced() -> None:
    """Ours: drawing may take long, and can be ended in between."""
    seen: list[None] = []

    drawn(together(obj(["a"], a={"type": "integer"}), 6, lambda: seen.append(None)), 1)

    assert len(seen) >= 4


def test_only_arguments_without_a_form_of_their_own_are_joined() -> None:
    """Ours: two choices make no third one."""
    dated = {"type": "string", "format": "date"}
    union = {"anyOf": [{"type": "integer"}, {"type": "number"}]}
    closed = {"anyOf": [{"type": "integer"}, {"enum": ["a"]}]}
    schema = obj(
        free={"type": "string"},
        union=union,
        closed=closed,
        chosen={"enum": ["a"]},
        dated=dated,
        ref={"$ref": "#/$defs/e"},
    )

    assert joinable({**schema, "$defs": {"e": {"enum": [1]}}}) == {"free", "union"}


def test_two_schemas_are_merged_to_the_stricter_one() -> None:
    """JSON Schema: a value matches each part of an `allOf`."""
    one = {"type": ["integer", "null"], "minimum": 1, "maximum": 9, "required": ["a"], "enum": [1, 2]}
    other = {"type": "integer", "minimum": 3, "maximum": 5, "required": ["b", "a"], "enum": [2, 3]}

    both = merged(one, other)

    assert both == {"type": ["integer"], "minimum": 3, "maximum": 5, "required": ["a", "b"], "enum": [2]}
    assert merged({"properties": {"a": {}}}, {"properties": {"a": True, "b": {}}})["properties"] == {
        "a": {"allOf": [{}, True]}, "b": {},
    }  # fmt: skip


def test_a_schema_that_refers_to_itself_in_many_places_is_bounded() -> None:
    """Ours: a million ways to nest it are neither made nor tried."""

    def members() -> dict[str, Any]:
        return {f"p{number}": {"$ref": "#"} for number in range(12)}

    simple = obj(**members())
    shared = {"anyOf": [obj(**members()), obj(**members())]}
    merging = {**shared, "type": "object", "properties": members()}

    for schema in (simple, shared, merging):
        assert drawn(together(schema, drawn_at_once(schema, 20)), 5)


@steady
@given(ANY_SCHEMA, st.integers(0, 3))
def test_whatever_a_server_sends_as_a_schema_is_no_bug(schema: Any, seed: int) -> None:
    """Ours: it is refused, or values are drawn, in bounded time."""
    try:
        strategies.valid(schema).validate()
        made = strategies.invalid(schema)
        if made is not None:
            made.validate()
    except (UnmakeableError, SchemaError):
        pass
