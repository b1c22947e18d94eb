"""How much work a validation is, before it is done."""

from __future__ import annotations

import contextlib
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from referencing.exceptions import Unresolvable

from gaia_mcp.checking import MISTAKES_UNITS
from gaia_mcp.toolspec.cost import MOST_STATES, UNBOUNDED, Cost, backtracks, states_of
from gaia_mcp.toolspec.validation import as_text
from tests.protocol_support import steady
from tests.schema_support import ANY_SCHEMA, JSON, twice, twice_each

LIMIT = 1_000_000


def units(schema: Any, value: Any) -> int:
    return Cost(as_text(schema)).units(value, LIMIT)


def test_ordinary_schemas_cost_little() -> None:
    """Ours: their calls pay for nothing."""
    cases = [
        {"type": "object", "properties": {"path": {"type": "string"}, "tags": {"items": {"type": "string"}}}},
        {
            "properties": {"path": {"$ref": "#/$defs/p"}, "tags": {"items": {"$ref": "#/$defs/p"}}},
            "$defs": {"p": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]}},
        },
        # A value of any kind, as pydantic describes it.
        {
            "$ref": "#/$defs/any",
            "$defs": {
                "any": {
                    "anyOf": [
                        {"type": "array", "items": {"$ref": "#/$defs/any"}},
                        {"type": "object", "additionalProperties": {"$ref": "#/$defs/any"}},
                        {"type": ["string", "number", "boolean", "null"]},
                    ]
                }
            },
        },
        {"$id": "https://example.org/tree", "properties": {"tags": {"$ref": "#"}, "path": {"$ref": "#"}}},
        {"properties": {"path": {"pattern": "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{12}$"}}, "unevaluatedProperties": False},
    ]

    wrong = [schema for schema in cases if units(schema, {"path": "/home", "tags": ["a", "b"]}) >= MISTAKES_UNITS]

    assert not wrong


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_a_schema_that_doubles_at_each_level_costs_exponentially(keyword: str) -> None:
    """B-5: 34 lines are 2**34 times the work."""
    assert units(twice(keyword, 10), "x") >= 2**10
    assert units(twice(keyword, 34), "x") >= 2**34
    assert units(twice(keyword, 300), "x") == UNBOUNDED


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_a_recursive_schema_that_doubles_costs_exponentially_in_the_depth_of_the_value(keyword: str) -> None:
    """Ours: a schema may refer to itself; here it does so twice for each item."""
    value: Any = "x"
    for _ in range(12):
        value = [value]

    assert units(twice_each(keyword), [["x"]]) < 100
    assert units(twice_each(keyword), value) >= 2**12


def test_a_schema_that_cannot_be_counted_is_unbounded() -> None:
    """Ours: such a schema is rare, and may be anything."""
    cases = [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"$ref": "#name", "$defs": {"a": {"$anchor": "name"}}},
        {"$ref": "https://json-schema.org/draft/2020-12/schema"},
        {"$ref": "#/$defs/missing"},
        {"$ref": "#/$defs/a%2Fb", "$defs": {"a/b": {}, "a": {"b": {}}}},
        {"$dynamicAnchor": "a", "items": {"$dynamicRef": "#a"}},
        {"$recursiveAnchor": True, "items": {"$recursiveRef": "#"}},
        # A reference that starts elsewhere than it seems to.
        {"$ref": "#/$defs/e/$defs/a", "$defs": {"e": {"$id": "e", "$defs": {"a": {"$ref": "#/$defs/b"}}}}},
        {"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"a": {"id": "e", "$ref": "#/b"}}},
        {"$ref": "#/$defs/a", "$defs": {"a": {}}, "unevaluatedProperties": False},
        {"properties": {"p": {"pattern": "(?:a{1000}){1000}"}}},
        {"patternProperties": {"(?:a{1000}){1000}": {}}},
        {"anyOf": [{"pattern": "(?:a{1000}){1000}"}]},
        {"description": "x" * 300_001},
        {"anyOf": [{"$ref": "#/$defs/a"}] * 1001, "$defs": {"a": {}}},
    ]

    wrong = [schema for schema in cases if units(schema, {}) != UNBOUNDED]

    assert not wrong


def test_a_value_counts_with_all_its_parts_and_its_longest_text() -> None:
    """Ours: a keyword is applied to each item, and reads each character."""
    schema = {"items": {"type": "string", "maxLength": 10}}

    assert units(schema, ["x"] * 1000) >= 100 * units(schema, ["x"] * 10) / 11
    assert units(schema, ["x" * 1_000_000]) > 100 * units(schema, ["x"])
    assert units({"propertyNames": {"maxLength": 9}}, {"x" * 1_000_000: 1}) > 100
    assert units(schema, ["x"] * (LIMIT + 1)) == UNBOUNDED
    cost = Cost(as_text(schema))
    assert cost.units(["x", "y"], LIMIT) == cost.units(["a", "b"], LIMIT) < cost.units(["a", ["b"]], LIMIT)
    assert units({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {}}}, _nested_list(21)) == UNBOUNDED


def test_expensive_keywords_are_counted() -> None:
    """Ours: each of these keywords does more than one step for a value, so a limit must see it."""
    cases = [
        ({"pattern": "(?!x)(a|a)*(?!y)c"}, {"pattern": "(?:x|a|b)*c"}),
        ({"pattern": "(?:[ab]{1,100}c){1,100}"}, {"pattern": "[ab]{1,100}c{1,100}"}),
        ({"enum": list(range(10_000))}, {"enum": [1, 2]}),
        ({"unevaluatedProperties": False, "allOf": [{"unevaluatedProperties": False}]}, {"allOf": [{"not": {}}]}),
        ({"propertyNames": {"pattern": "a{1000}"}}, {"propertyNames": {"maxLength": 3}}),
        ({"patternProperties": {"a{1000}": {}}}, {"patternProperties": {"a": {}}}),
    ]

    value = {"abc": "def"}
    wrong = [(dear, cheap) for dear, cheap in cases if units(dear, value) <= 2 * units(cheap, value)]

    assert not wrong


@steady
@given(ANY_SCHEMA, JSON)
def test_a_validation_applies_no_more_keywords_than_were_counted(schema: Any, value: Any) -> None:
    """Ours, by another validator, which counts the keywords that it applies."""
    applied = 0

    def counted(keyword: Any) -> Any:
        def apply(*arguments: Any) -> Any:
            nonlocal applied
            applied += 1
            return keyword(*arguments)

        return apply

    known = jsonschema.Draft202012Validator.VALIDATORS
    counting = jsonschema.validators.extend(
        jsonschema.Draft202012Validator, {name: counted(keyword) for name, keyword in known.items()}
    )
    if not isinstance(schema, (dict, bool)) or (most := units(schema, value)) == UNBOUNDED:
        return
    with contextlib.suppress(jsonschema.SchemaError):
        jsonschema.Draft202012Validator.check_schema(schema)
        with contextlib.suppress(Unresolvable):
            list(counting(schema).iter_errors(value))
    # A schema has so many keywords in these tests.
    assert applied <= 11 * most


def _nested_list(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_a_repetition_multiplies_the_states() -> None:
    """Ours: what is written once in a pattern is there as often as it may be repeated."""
    cases = [
        ("", 0),
        ("abc", 3),
        ("a{5}", 5),
        ("a{2,5}", 5),
        ("a{5,}", 5),
        ("(ab){5}c{3}", 13),
        ("((a{10}){10}){10}", 1000),
        ("a{0}", 1),
        (r"\{5}", 3),
        ("{5}", 0),
        ("a{99999999999}", MOST_STATES),
        ("(((((a{99999}){99999}){99999}", MOST_STATES),
        ("(a", 1),
        ("a)b", 2),
    ]

    wrong = [(pattern, states) for pattern, states in cases if not states <= states_of(pattern) <= states + 2]

    assert not wrong


def test_a_class_has_as_many_states_as_it_may_have_ranges() -> None:
    """Ours: a class is compiled into its ranges, and that of all letters has hundreds."""
    assert 0 < states_of("[0-9a-f]{8}") <= 64
    assert states_of(r"\p{L}{8}") > 1000


def test_a_pattern_that_needs_backtracking_is_recognised() -> None:
    """Ours: the validator has a second engine for these."""
    cases = ["(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b", r"(a)\1", r"(?<n>a)\k<n>", "(?>a)", "a++", "a{2}+", r"a\Z"]

    wrong = [pattern for pattern in cases if not backtracks(pattern)]

    assert not wrong


def test_a_pattern_that_is_matched_in_one_pass_is_recognised() -> None:
    """Ours: these take linear time, however they are nested."""
    cases = ["(a+)+$", "(?:a|b)*c", "(?i)a", "(?i:a)", r"\d+\.\d*", "a+b?", "[+]+"]

    wrong = [pattern for pattern in cases if backtracks(pattern)]

    assert not wrong
