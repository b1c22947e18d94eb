from __future__ import annotations

import datetime
import math
from typing import Any

import pytest

from gaia_mcp.server.members import json_problem, member_problem

WRONG = {
    "title": (5, "is not a text"),
    "_meta": ([], "is not an object"),
    "icons": ({}, "is not a list"),
    "readOnlyHint": ("yes", "is not true or false"),
    "audience": (["robot"], "is not a list of 'user' and 'assistant'"),
    "priority": (True, "is not a number from 0 to 1"),
    "size": ("12", "is not a number"),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_optional_member_has_a_type(name: str) -> None:
    """Spec, schema: the same wherever it has the name."""
    value, problem = WRONG[name]
    assert member_problem(name, value) == problem


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("title", "x"),
        ("_meta", {}),
        ("audience", []),
        ("audience", ["user"]),
        ("priority", 0.5),
        ("size", 0),
        ("own", 5),
    ],
)
def test_a_member_that_fits_has_no_problem(name: str, value: Any) -> None:
    """Spec, schema; members that MCP does not know may be anything."""
    assert member_problem(name, value) is None


def within_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize("value", [{1}, b"x", math.nan, datetime.date.min, {(1, 2): 3}, within_itself()])
def test_what_is_not_json_is_a_problem_in_every_member(value: Any) -> None:
    """Ours: the whole message could not be written."""
    assert json_problem(value) is not None
    problem = member_problem("own", value)
    assert problem is not None
    assert problem.startswith("is not JSON: ")


def test_a_name_that_is_not_json_is_a_problem() -> None:
    """Ours: also of a member that is a text."""
    assert member_problem((1, 2), "x") is not None
