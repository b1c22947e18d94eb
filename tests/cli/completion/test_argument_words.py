"""Candidates for the arguments of a tool, from its schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


def test_required_arguments_are_offered_first() -> None:
    """Ours: `:=` follows the name of an object or a list of objects; a required name without a schema is omitted."""
    assert words("") == ["path=", "verbose=", "mode=", "point:=", "points:=", "tags=", "limit="]


def test_an_argument_is_described_with_type_requirement_and_default() -> None:
    """Ours: a person chooses an argument by what it is for."""
    said = dict(argument_words(SCHEMA, [], ""))

    assert said["path="] == "string, required: Where"
    assert said["verbose="] == "boolean, default false: Say more."
    assert said["tags="] == 'array of ("a" | "b c")'


def test_a_given_argument_is_not_offered_again() -> None:
    """Ours: whether it was given with `=` or `:=`."""
    assert words("", "path=/tmp", "mode:=3", "point:={}", "odd") == ["verbose=", "points:=", "tags=", "limit="]


def test_arguments_are_offered_as_options_after_two_dashes() -> None:
    """Ours: with the same descriptions; a space follows a name, and then its value."""
    assert words("--") == ["--path", "--verbose", "--mode", "--point", "--points", "--tags", "--limit"]
    assert words("--", "--path", "x", "mode=fast", "--verbose") == ["--point", "--points", "--tags", "--limit"]
    assert words("--mode=f")[0] == "--mode=fast"
    assert words("", "--mode") == ["fast", "slow", "3", "null", "true"]
    assert words("b", "--tags") == ["a", "b c"]
    assert words("", "--verbose")[0] == "path="
    assert words("", "--verbose", "true")[0] == "path="
    assert words("", "--nonsense") == []


def test_values_after_a_colon_are_json() -> None:
    """Ours: `key:=` takes JSON on the command line, so that a number and a text differ."""
    assert "mode:=" in words("mode:")
    assert words("mode:=") == ['mode:="fast"', 'mode:="slow"', "mode:=3", "mode:=null", "mode:=true"]


def test_values_of_the_schema_are_offered() -> None:
    """Ours: `true` is not offered where a string is allowed too, since it would be sent as a string."""
    schemas: list[tuple[Any, list[str]]] = [
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
    ]

    assert [(described, values(described)) for described, _ in schemas] == schemas


def test_the_default_value_is_marked() -> None:
    """Ours: a person need not type it."""
    schema = {"properties": {"k": {"enum": ["a", "b"], "default": "b"}}}

    assert argument_words(schema, [], "k=")[:2] == [("k=a", ""), ("k=b", "default")]


def test_a_long_json_value_is_not_offered() -> None:
    """Ours: it would fill the screen; the limit is that of a text."""
    assert values({"enum": ["x" * 300, 7]}, json=True) == ["7"]


def test_files_are_offered_after_an_at_sign(tmp_path: Path) -> None:
    """Ours: `key=@FILE` takes the value from a file, for every key."""
    (tmp_path / "note.txt").touch()

    assert words(f"path=@{tmp_path}/") == [f"path=@{tmp_path}/note.txt"]
    assert words(f"other=@{tmp_path}/n") == [f"other=@{tmp_path}/note.txt"]


def test_an_invalid_schema_offers_no_values() -> None:
    """Ours: a server may send anything as a schema."""
    names: list[tuple[Any, list[str]]] = [
        (None, []),
        ([], []),
        ("x", []),
        (7, []),
        ({"properties": 7}, []),
        ({"properties": {"a": 7, "": {}}}, ["a="]),
        ({"$ref": "#"}, []),
    ]

    assert [(schema, words("", schema=schema)) for schema, _ in names] == names
    assert not [schema for schema, _ in names if words("a=", schema=schema)]


def test_an_argument_name_may_contain_any_character() -> None:
    """Ours: JSON Schema allows every name, also one that ends with a colon as `key:=` does."""
    schema = {"properties": {"a:": {"enum": ["x"]}, "ä b": {"type": "boolean"}}}

    assert words("", schema=schema) == ["a:=", "ä b="]
    assert words("a:=", schema=schema) == ["a:=x"]
    assert words("ä b=", schema=schema) == ["ä b=true", "ä b=false"]


def test_objects_and_arrays_of_objects_need_json() -> None:
    """Ours: `key=` has no form for an object."""
    schemas: list[tuple[dict[str, Any], bool]] = [
        ({"type": "object"}, True),
        ({"type": ["object", "null"]}, True),
        ({"type": "array", "items": {"type": "object"}}, True),
        ({"type": "array", "items": {"type": "string"}}, False),
        ({"type": "array"}, False),
        ({"type": ["object", "string"]}, False),
        ({}, False),
    ]

    assert [(described, needs_json(described, {})) for described, _ in schemas] == schemas
