"""The words of an argument, from a schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.cli.completion.argument_words import argument_words, needs_json

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "verbose": {"type": "boolean", "default": False, "description": "Say more.\nAnd more."},
        "path": {"type": "string", "description": "Where"},
        "mode": {"enum": ["fast", "slow", 3, None, True]},
        "point": {"$ref": "#/$defs/point"},
        "points": {"type": "array", "items": {"$ref": "#/$defs/point"}},
        "tags": {"type": "array", "items": {"enum": ["a", "b c"]}},
        "limit": {"type": ["integer", "null"], "default": 10},
    },
    "required": ["path", "unheard of"],
    "$defs": {"point": {"type": "object", "properties": {"x": {"type": "number"}}}},
}


def words(incomplete: str, *given: str, schema: Any = SCHEMA) -> list[str]:
    return [word for word, _ in argument_words(schema, given, incomplete)]


def values(described: Any, *, json: bool = False) -> list[str]:
    mark = "k:=" if json else "k="
    return [word.removeprefix(mark) for word in words(mark, schema={"properties": {"k": described}})]


def test_names_come_with_the_required_ones_first() -> None:
    """Ours: what takes only objects and lists of them is written as JSON; a name without a description is left out."""
    assert words("") == ["path=", "verbose=", "mode=", "point:=", "points:=", "tags=", "limit="]


def test_a_name_says_its_type_whether_it_is_required_its_default_and_what_it_is() -> None:
    """Ours."""
    said = dict(argument_words(SCHEMA, [], ""))

    assert said["path="] == "string, required: Where"
    assert said["verbose="] == "boolean, default false: Say more."
    assert said["tags="] == 'array of ("a" | "b c")'


def test_what_is_given_already_is_not_offered_again() -> None:
    """Ours: however it was given."""
    assert words("", "path=/tmp", "mode:=3", "point:={}", "odd") == ["verbose=", "points:=", "tags=", "limit="]


def test_behind_two_dashes_the_names_are_those_of_options() -> None:
    """Ours: with the same descriptions; a space follows a name, and then its value."""
    assert words("--") == ["--path", "--verbose", "--mode", "--point", "--points", "--tags", "--limit"]
    assert words("--", "--path", "x", "mode=fast", "--verbose") == ["--point", "--points", "--tags", "--limit"]
    assert words("--mode=f")[0] == "--mode=fast"
    assert words("", "--mode") == ["fast", "slow", "3", "null", "true"]
    assert words("b", "--tags") == ["a", "b c"]
    assert words("", "--verbose")[0] == "path="
    assert words("", "--verbose", "true")[0] == "path="
    assert words("", "--nonsense") == []


def test_after_the_colon_values_are_json() -> None:
    """Ours."""
    assert "mode:=" in words("mode:")
    assert words("mode:=") == ['mode:="fast"', 'mode:="slow"', "mode:=3", "mode:=null", "mode:=true"]


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        ({"type": "boolean"}, ["true", "false"]),
        ({"enum": ["fast", 3, None]}, ["fast", "3", "null"]),
        ({"const": "only"}, ["only"]),
        ({"anyOf": [{"const": "a"}, {"const": "b"}]}, ["a", "b"]),
        ({"type": ["integer", "null"], "default": 10}, ["null", "10"]),
        ({"type": "array", "items": {"enum": ["a", "b c"]}}, ["a", "b c"]),
        ({"type": "string", "default": "x"}, ["x"]),
        ({"type": "string"}, []),
        ({"type": ["string", "boolean", "null"]}, []),
        ({"enum": ["@file", "x" * 201, "ok"]}, ["ok"]),
        ({"enum": "none"}, []),
        (True, []),
        ("nonsense", []),
    ],
)
def test_values_are_those_that_become_what_is_meant(described: Any, expected: list[str]) -> None:
    """Ours: a text such as "true" where text is wanted stays text, so it is not offered for the boolean."""
    assert values(described) == expected


def test_the_default_is_marked() -> None:
    """Ours."""
    schema = {"properties": {"k": {"enum": ["a", "b"], "default": "b"}}}

    assert argument_words(schema, [], "k=")[:2] == [("k=a", ""), ("k=b", "default")]


def test_a_long_value_is_no_candidate_as_json_either() -> None:
    """Ours."""
    assert values({"enum": ["x" * 300, 7]}, json=True) == ["7"]


def test_files_follow_the_at_sign(tmp_path: Path) -> None:
    """Ours: for every key, known or not."""
    (tmp_path / "note.txt").touch()

    assert words(f"path=@{tmp_path}/") == [f"path=@{tmp_path}/note.txt"]
    assert words(f"other=@{tmp_path}/n") == [f"other=@{tmp_path}/note.txt"]


@pytest.mark.parametrize(
    "schema", [None, [], "x", 7, {"properties": 7}, {"properties": {"a": 7, "": {}}}, {"$ref": "#"}]
)
def test_an_invalid_schema_does_no_harm(schema: Any) -> None:
    """Ours: whatever a server has sent."""
    assert words("", schema=schema) == (["a="] if "'a'" in str(schema) else [])
    assert words("a=", schema=schema) == []


def test_a_name_may_hold_anything() -> None:
    """Ours: also what looks like the mark of JSON."""
    schema = {"properties": {"a:": {"enum": ["x"]}, "ä b": {"type": "boolean"}}}

    assert words("", schema=schema) == ["a:=", "ä b="]
    assert words("a:=", schema=schema) == ["a:=x"]
    assert words("ä b=", schema=schema) == ["ä b=true", "ä b=false"]


@pytest.mark.parametrize(
    ("described", "needs"),
    [
        ({"type": "object"}, True),
        ({"type": ["object", "null"]}, True),
        ({"type": "array", "items": {"type": "object"}}, True),
        ({"type": "array", "items": {"type": "string"}}, False),
        ({"type": "array"}, False),
        ({"type": ["object", "string"]}, False),
        ({}, False),
    ],
)
def test_json_is_needed_for_what_has_no_other_form(described: Any, needs: bool) -> None:
    """Ours."""
    assert needs_json(described, {}) is needs
