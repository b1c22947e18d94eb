from __future__ import annotations

import json
from typing import Any

from gaia_mcp.toolspec.stringified import MAX_VALUES, without_texts

KINDS: dict[str, Any] = {
    "i": {"type": "integer"},
    "f": {"anyOf": [{"type": "number"}, {"type": "null"}]},
    "b": {"type": "boolean"},
    "l": {"type": "array", "items": {"type": "integer"}},
    "o": {"$ref": "#/$defs/O"},
    "e": {"enum": [1, 2]},
    "s": {"type": "string"},
    "either": {"type": ["integer", "string"]},
    "word": {"enum": [1, "1"]},
    "any": {},
}
SCHEMA = {
    "type": "object",
    "properties": KINDS,
    "$defs": {"O": {"properties": {"n": {"type": "integer"}}, "type": "object"}},
}


def test_a_text_is_read_where_the_schema_allows_none() -> None:
    """Ours: as the official SDKs do; some hosts send every argument as a text."""
    cases: list[tuple[str, Any, Any]] = [
        ("i", "5", 5), ("i", "-5", -5), ("f", "1.5", 1.5), ("f", "5", 5), ("f", "null", None),
        ("b", "true", True), ("b", "False", False), ("l", "[1, 2]", [1, 2]), ("l", ["1", 2], [1, 2]),
        ("l", '["1"]', [1]), ("o", '{"n": 1}', {"n": 1}), ("o", {"n": "1", "x": "2"}, {"n": 1, "x": "2"}),
        ("e", "2", 2),
    ]  # fmt: skip

    assert [case for case in cases if without_texts({case[0]: case[1]}, SCHEMA) != {case[0]: case[2]}] == []


def test_any_other_text_stays() -> None:
    """Ours: a text for a text above all, and what is not exactly a JSON value of the type."""
    cases: list[tuple[str, Any]] = [
        ("s", "5"), ("either", "5"), ("word", "1"), ("any", "5"), ("unknown", "5"), ("i", "x"), ("i", "1.5"), ("i", ""),
        ("i", "5 apples"), ("b", "yes"), ("b", "1"), ("l", "1,2"), ("o", "[]"), ("o", '{"n": 1, "n": 2}'), ("f", "NaN"),
        ("l", [1]), ("o", {"n": 1}), ("i", '"5"'), ("i", None),
    ]  # fmt: skip

    changed = [case for case in cases if without_texts(given := {case[0]: case[1]}, SCHEMA) is not given]
    assert changed == []


def test_texts_in_the_branches_of_a_union_are_read() -> None:
    """Ours: as its other readers understand the schema."""
    schema = {"oneOf": [{"properties": {"a": {"type": "integer"}}}, {"properties": {"b": {"type": "boolean"}}}]}

    assert without_texts({"a": "1"}, schema) == {"a": 1}
    assert without_texts({"b": "true"}, schema) == {"b": True}


def test_the_arguments_are_not_modified_and_read_up_to_a_number() -> None:
    """Ours: they are a caller's, and a million of them must not hold up others."""
    given: dict[str, Any] = {"l": ["1"], "o": {"n": "1"}}
    before = json.dumps(given)
    without_texts(given, SCHEMA)
    assert json.dumps(given) == before

    many = without_texts({"l": ["1"] * (2 * MAX_VALUES)}, SCHEMA)["l"]
    assert 0 < many.count(1) <= MAX_VALUES
