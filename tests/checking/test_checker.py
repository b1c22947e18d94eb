"""Checking has an end, whatever the schema and the value."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from gaia_mcp.checking.checker import FITTING_UNITS, MISTAKES_UNITS, Checker, check_schema, validation_errors
from gaia_mcp.checking.process import CHECK_SECONDS
from gaia_mcp.deadline import Deadline
from gaia_mcp.toolspec.cost import Cost
from gaia_mcp.toolspec.validation import ExternalReferenceError, SchemaCostError, SchemaError, as_text
from tests.processes import workers
from tests.schema_support import twice, twice_each

pytestmark = pytest.mark.story

ENDLESS = 34
ROWS = {"items": {"type": "object", "properties": {"name": {"type": "string"}}}}


def nested_list(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


def units(schema: Any, value: Any) -> int:
    return Cost(as_text(schema)).units(value, FITTING_UNITS)


def test_ordinary_values_are_checked_here() -> None:
    """Ours: their calls pay for nothing."""
    checker = Checker({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})

    assert checker.validation_errors({"a": 1}) == []
    assert [str(problem) for problem in checker.validation_errors({})] == ["'a' is missing"]
    assert workers() == []


def test_no_arguments_fit_a_tool_that_names_none() -> None:
    """Ours: not even a schema that cannot be used is looked at for it."""
    assert validation_errors({"type": "object", "properties": {"a": {"type": "strin"}}}, {}) == []


@pytest.mark.parametrize("rows", [3, 20_000, 400_000], ids=["here", "here if it fits", "apart"])
def test_a_large_value_is_checked_wherever_there_is_time_for_it(rows: int) -> None:
    """Ours: a value that fits is found to fit much sooner than mistakes are collected."""
    fitting = [{"name": "x"}] * rows
    assert (units(ROWS, fitting) <= MISTAKES_UNITS, units(ROWS, fitting) <= FITTING_UNITS) == {
        3: (True, True),
        20_000: (False, True),
        400_000: (False, False),
    }[rows]

    assert validation_errors(ROWS, fitting) == []
    assert validation_errors(ROWS, [*fitting, {"name": 1}])[0].where == f"[{rows}].name"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (twice("allOf", ENDLESS), "x"),
        (twice("anyOf", ENDLESS), 1),
        (twice("oneOf", ENDLESS), "x"),
    ],
    ids=["allOf", "anyOf", "oneOf"],
)
def test_what_takes_for_ever_is_given_up(schema: Any, value: Any) -> None:
    """B-5: no schema keeps a command from listening to signals, or from its end."""
    with pytest.raises(SchemaCostError, match=f"more than {CHECK_SECONDS} s"):
        validation_errors(schema, value)
    assert workers() == []


def test_a_deadline_ends_it_sooner() -> None:
    """Ours: `timeout` is about all that a call does."""
    deadline = Deadline(0.4)

    with pytest.raises(SchemaCostError, match=r"more than 0\.2 s"):
        validation_errors(twice("allOf", ENDLESS), "x", deadline)
    assert workers() == []


def test_a_value_that_does_not_fit_is_known_before_the_mistakes_are_collected() -> None:
    """Ours: it is not taken for one that cannot be checked."""
    for schema, value in ((twice("anyOf", 18), 1), (twice_each("oneOf"), nested_list(60))):
        (problem,) = validation_errors(schema, value)
        assert str(problem) == "does not fit, and it takes too long to find out why"


def test_compiling_has_an_end_too() -> None:
    """Ours: what no other part evaluates is calculated when the schema is compiled."""
    schema = {**twice("allOf", ENDLESS), "unevaluatedProperties": False}

    with pytest.raises(SchemaCostError):
        check_schema(schema)
    check_schema({**twice("allOf", 3), "unevaluatedProperties": False})
    check_schema(twice("allOf", ENDLESS))


@pytest.mark.parametrize("padding", [{}, {"description": "x" * 400_000}], ids=["here", "apart"])
def test_an_unusable_schema_is_reported_from_wherever_it_is_compiled(padding: dict[str, Any]) -> None:
    """Ours: with the same words."""
    with pytest.raises(SchemaError, match="is not valid under any of the schemas") as caught:
        check_schema({"type": "strin", **padding})
    assert not isinstance(caught.value, SchemaCostError)
    for check in (check_schema, lambda schema: validation_errors(schema, {"a": 1})):
        with pytest.raises(ExternalReferenceError, match=r"'https://example\.org/a'"):
            check({"$ref": "https://example.org/a", **padding})


def test_what_is_no_json_does_not_fit_wherever_it_is_checked() -> None:
    """Ours: a result, not an exception of the validator."""
    for schema in ({"type": "string"}, {"$ref": "#"}):
        for value in ({"a": {1}}, {"a": object()}, {"a": nested_list(sys.getrecursionlimit() * 20)}):
            assert [problem.keyword for problem in validation_errors(schema, value)] == ["json"]
