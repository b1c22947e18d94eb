"""Checking has an end, whatever the schema and the value."""

from __future__ import annotations

import re
import sys
import threading
from typing import Any

import pytest

from gaia_mcp.checking import (
    FITTING_UNITS,
    MISTAKES_UNITS,
    SEARCHED_CHARS,
    Checker,
    check_schema,
    matches,
    validation_errors,
)
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.toolspec.cost import Cost
from gaia_mcp.toolspec.validation import ExternalReferenceError, SchemaCostError, SchemaError, as_text
from tests.processes import processor_seconds, workers
from tests.schema_support import twice, twice_each
from tests.waiting import ENOUGH_SECONDS, wait_until

pytestmark = pytest.mark.story

ENDLESS = 34
# A second of processor time may take this long beside many other programs.
LONG_SECONDS = 120.0
ROWS = {"items": {"type": "object", "properties": {"name": {"type": "string"}}}}


def test_arguments_are_read_as_values_only_if_that_makes_them_valid() -> None:
    """Ours: otherwise the errors are about what was sent."""
    checker = Checker({"properties": {"n": {"type": "integer"}, "m": {"type": "integer", "minimum": 3}}})
    wrong, valid = {"n": "1", "m": "2"}, {"n": 1}

    assert checker.checked_arguments({"n": "1", "m": "3"}) == ({"n": 1, "m": 3}, [])
    assert checker.checked_arguments(wrong)[0] is wrong
    assert [str(error) for error in checker.checked_arguments(wrong)[1]] == [
        'n: "1" is not of type "integer"',
        'm: "2" is not of type "integer"',
    ]
    assert checker.checked_arguments(valid)[0] is valid


def nested_list(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


def cancel_after_work(deadline: Deadline, seconds: float) -> None:
    """Cancel a deadline once the process that checks has used so much processor time, or has ended."""
    wait_until(workers, LONG_SECONDS)
    wait_until(lambda: all(processor_seconds(pid) > seconds for pid in workers()), LONG_SECONDS)
    deadline.cancel()


def units(schema: Any, value: Any) -> int:
    return Cost(as_text(schema)).units(value, FITTING_UNITS)


def test_ordinary_values_are_checked_in_this_process() -> None:
    """Ours: an ordinary call must not pay for starting a process."""
    checker = Checker({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]})

    assert checker.validation_errors({"a": 1}) == []
    assert [str(problem) for problem in checker.validation_errors({})] == ["'a' is missing"]
    assert workers() == []


def test_no_arguments_are_valid_for_a_tool_without_required_ones() -> None:
    """Ours: not even a schema that cannot be used is looked at for it."""
    assert validation_errors({"type": "object", "properties": {"a": {"type": "strin"}}}, {}) == []


@pytest.mark.parametrize("rows", [3, 20_000, 400_000], ids=["here", "here if it fits", "apart"])
def test_a_large_value_is_checked_in_either_process(rows: int) -> None:
    """Ours: a value that fits is found to fit much sooner than mistakes are collected."""
    fitting = [{"name": "x"}] * rows
    assert (units(ROWS, fitting) <= MISTAKES_UNITS, units(ROWS, fitting) <= FITTING_UNITS) == {
        3: (True, True),
        20_000: (False, True),
        400_000: (False, False),
    }[rows]

    assert validation_errors(ROWS, fitting, seconds=ENOUGH_SECONDS) == []
    (problem,) = validation_errors(ROWS, [*fitting, {"name": 1}], seconds=ENOUGH_SECONDS)
    assert problem.where == f"[{rows}].name"


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (twice("allOf", ENDLESS), "x"),
        (twice("anyOf", ENDLESS), 1),
        (twice("oneOf", ENDLESS), "x"),
    ],
    ids=["allOf", "anyOf", "oneOf"],
)
def test_an_endless_check_is_stopped(schema: Any, value: Any) -> None:
    """B-5: no schema keeps a command from listening to signals, or from its end."""
    with pytest.raises(SchemaCostError, match=r"more than 1\.0 s"):
        validation_errors(schema, value, seconds=1.0)
    assert workers() == []


def test_a_deadline_stops_a_check() -> None:
    """Ours: `timeout` is about all that a call does."""
    deadline = Deadline(0.4)

    # Half of what is left by then, and not the three seconds that it may take otherwise.
    with pytest.raises(SchemaCostError, match=r"more than 0\.[0-2] s"):
        validation_errors(twice("allOf", ENDLESS), "x", deadline)
    assert workers() == []


def test_an_invalid_value_is_reported_if_its_errors_take_too_long() -> None:
    """Ours: it must not be taken for one that cannot be validated."""
    for schema, value in ((twice("anyOf", 18), 1), (twice_each("oneOf"), nested_list(60))):
        deadline = Deadline(2 * LONG_SECONDS)
        # By then it has long known that the value is invalid.
        stopping = threading.Thread(target=cancel_after_work, args=(deadline, 0.5))
        stopping.start()
        (problem,) = validation_errors(schema, value, deadline, seconds=LONG_SECONDS)
        stopping.join()
        assert str(problem) == "does not fit, and it takes too long to find out why"


def test_an_endless_compilation_is_stopped() -> None:
    """Ours: what no other part evaluates is calculated when the schema is compiled."""
    schema = {**twice("allOf", ENDLESS), "unevaluatedProperties": False}

    with pytest.raises(SchemaCostError):
        check_schema(schema, seconds=1)
    check_schema({**twice("allOf", 3), "unevaluatedProperties": False})
    check_schema(twice("allOf", ENDLESS))


@pytest.mark.parametrize("padding", [{}, {"description": "x" * 400_000}], ids=["here", "apart"])
def test_an_invalid_schema_is_reported_from_either_process(padding: dict[str, Any]) -> None:
    """Ours: with the same message."""
    with pytest.raises(SchemaError, match="is not valid under any of the schemas") as caught:
        check_schema({"type": "strin", **padding}, seconds=ENOUGH_SECONDS)
    assert not isinstance(caught.value, SchemaCostError)
    external = {"$ref": "https://example.org/a", **padding}
    for check in (check_schema, lambda schema, **limit: validation_errors(schema, {"a": 1}, **limit)):
        with pytest.raises(ExternalReferenceError, match=r"'https://example\.org/a'"):
            check(external, seconds=ENOUGH_SECONDS)


def test_a_value_that_is_not_json_is_a_validation_error() -> None:
    """Ours: a result, not an exception of the validator."""
    for schema in ({"type": "string"}, {"$ref": "#"}):
        for value in ({"a": {1}}, {"a": object()}, {"a": nested_list(sys.getrecursionlimit() * 20)}):
            assert [problem.keyword for problem in validation_errors(schema, value)] == ["json"]


def test_an_expression_is_searched_in_bounded_time() -> None:
    """Ours: a person's expression may take years on a text of a server, and nothing else would run meanwhile."""
    evil = "a" * 40 + "!"

    assert matches("b+c", "a bbc")
    assert not matches("^b", "a b")
    assert matches("(a+)+(b*)c", "aaabbc")
    assert not matches("(a+)+(b*)c", "aaabb")
    assert matches("x$", "a" * (SEARCHED_CHARS + 1) + "x")
    with pytest.raises(SchemaCostError, match=r"takes more than 0.5 s"):
        matches("^(a+)+$", evil, seconds=0.5)
    with pytest.raises(re.error):
        matches("(a", "a")
