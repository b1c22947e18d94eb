from __future__ import annotations

import datetime
import math
from typing import Any

from gaia_mcp.server.members import json_problem, member_problem


def test_a_member_of_a_wrong_type_has_a_problem() -> None:
    """Spec, schema: a member of one name has one type in all objects."""
    wrong: dict[str, tuple[Any, str]] = {
        "title": (5, "is not a text"),
        "_meta": ([], "is not an object"),
        "icons": ({}, "is not a list"),
        "readOnlyHint": ("yes", "is not true or false"),
        "audience": (["robot"], "is not a list of 'user' and 'assistant'"),
        "priority": (True, "is not a number from 0 to 1"),
        "size": ("12", "is not a whole number"),
        "taskSupport": ("maybe", "is not 'forbidden', 'optional' or 'required'"),
    }

    assert {name: (value, member_problem(name, value)) for name, (value, _) in wrong.items()} == wrong


def test_a_valid_member_has_no_problem() -> None:
    """Spec, schema; members that MCP does not know may be anything."""
    members: list[tuple[str, Any]] = [
        ("title", "x"), ("_meta", {}), ("audience", []), ("audience", ["user"]), ("priority", 0.5), ("size", 0),
        ("size", 2.0), ("own", 5),
    ]  # fmt: skip

    assert [(name, problem) for name, value in members if (problem := member_problem(name, value)) is not None] == []


def within_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def test_a_value_that_is_not_json_is_a_problem_in_every_member() -> None:
    """Ours: the whole message could not be written."""
    values: list[Any] = [{1}, b"x", math.nan, datetime.date.min, {(1, 2): 3}, within_itself()]

    assert [value for value in values if json_problem(value) is None] == []
    assert [value for value in values if not (member_problem("own", value) or "").startswith("is not JSON: ")] == []


def test_a_name_that_is_not_json_is_a_problem() -> None:
    """Ours: also of a member that is a text."""
    assert member_problem((1, 2), "x") is not None
