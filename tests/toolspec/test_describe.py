"""Schemas in a few words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from gaia_mcp.toolspec.describe import (
    closest_words,
    example_of,
    members_in_words,
    score,
    search_words,
    signature,
    type_in_words,
)
from tests.protocol_support import steady
from tests.schema_support import ANY_SCHEMA, nested

STRINGS = {"type": "array", "items": {"type": "string"}}


def test_a_type_is_described_briefly() -> None:
    """Ours: `tools` shows signatures."""
    cases = [
        ({"type": "string"}, "string"),
        ({"type": ["integer", "null"]}, "integer | null"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer | null"),
        ({"oneOf": [{"type": "string"}, {"const": 1}, {"type": "string"}]}, "string | 1"),
        ({"enum": ["a", 1, None, "é"]}, '"a" | 1 | null | "é"'),
        ({"enum": [], "type": "string"}, "string"),
        ({"const": "x", "type": "string"}, '"x"'),
        ({"type": "array", "items": {"type": "string"}}, "array of string"),
        ({"type": "array"}, "array"),
        ({"type": "array", "items": {"type": "array", "items": {"enum": [1]}}}, "array of (array of 1)"),
        # What belongs together.
        (
            {"type": "array", "items": {"type": "array", "items": {"type": ["object", "null"]}}},
            "array of (array of (object | null))",
        ),
        ({"anyOf": [STRINGS, {"type": "null"}]}, "(array of string) | null"),
        ({"type": ["array", "null"], "items": {"type": "string"}}, "(array of string) | null"),
        ({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}, "array of (string | null)"),
        ({"anyOf": [STRINGS, STRINGS]}, "array of string"),
        # Where a person stops reading.
        ({"enum": list(range(20))}, "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | … 12 more"),
        ({"anyOf": [{"const": n} for n in range(200)]}, "0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | … 192 more"),
        (nested(9), "array of (array of array)"),
        ({"properties": {}}, "object"),
        ({"anyOf": []}, "any"),
        ({}, "any"),
        (True, "any"),
        (None, "any"),
        ({"type": 5}, "any"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": ["string", "null"], "format": "uri"}, "uri | null"),
        ({"type": "array", "items": {"type": "string", "format": "email"}}, "array of email"),
        ({"type": "integer", "format": "date"}, "integer"),
        ({"type": "string", "format": "our-own"}, "string"),
        ({"type": "string", "format": ["date"]}, "string"),
        ({"$ref": "#/$defs/P"}, "boolean"),
    ]

    wrong = [
        (schema, found)
        for schema, words in cases
        if (found := type_in_words(schema, {"$defs": {"P": {"type": "boolean"}}})) != words
    ]

    assert not wrong


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"$ref": "#"}},
        {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"oneOf": [{"$ref": "#"}, {"$ref": "#"}]}]},
    ],
    ids=["a list of itself", "either itself or itself", "both"],
)
def test_a_recursive_type_is_cut_off(schema: Any) -> None:
    """Ours: a server can write such a schema, and we must still list its tools."""
    assert 0 < len(type_in_words(schema, schema)) < 2000


def test_a_deeply_nested_type_is_cut_off() -> None:
    """Ours: as above, without a reference."""
    words = type_in_words(nested(100_000), {})
    assert words == "array of (array of array)"
    assert len(words) < 2000


class TestSignature:
    """A tool in a line."""

    def test_required_parameters_come_first(self) -> None:
        """Ours: signatures with required parameters first."""
        schema = {
            "type": "object",
            "properties": {
                "limit": {"type": "integer", "default": 10},
                "path": {"type": "string"},
                "name": {"type": "string", "default": "é"},
                "deep": {"$ref": "#/$defs/D"},
                "none": {"type": "null", "default": None},
            },
            "required": ["path", "gone", "path"],
            "$defs": {"D": {"type": "boolean", "default": False}},
        }
        assert signature("read", schema) == (
            "read(path: string, gone: any, [limit: integer = 10], "
            '[name: string = "é"], [deep: boolean = false], [none: null])'
        )

    def test_a_required_parameter_with_a_default_is_shown_as_optional(self) -> None:
        """Ours: its default is shown, also null, which is sent."""
        scale = {"type": "string", "default": "css"}
        schema = {
            "properties": {"scale": scale, "area": {"type": "null", "default": None}, "name": {"type": "string"}},
            "required": ["scale", "area", "name"],
        }
        assert signature("shoot", schema) == 'shoot(name: string, [scale: string = "css"], [area: null = null])'
        assert signature("shoot", schema, 40) == "shoot(name: string, …)"

    def test_a_tool_without_parameters_has_empty_brackets(self) -> None:
        """Ours: there is nothing to give."""
        cases = [{}, {"type": "object"}, None, True, {"properties": {}}]

        wrong = [schema for schema in cases if signature("now", schema) != "now()"]

        assert not wrong

    @pytest.mark.parametrize(
        ("room", "expected"),
        [
            (80, "book(hotel: string, kind, [nights: integer = 1], [meals])"),
            (48, "book(hotel: string, kind, …)"),
            (20, "book(…)"),
        ],
    )
    def test_parameters_beyond_the_width_are_left_out(self, room: int, expected: str) -> None:
        """Ours: long types first, which are enumerations, and then the last parameters."""
        many = {"enum": [f"choice {number}" for number in range(20)]}
        known = {"hotel": {"type": "string"}, "kind": many, "nights": {"type": "integer", "default": 1}, "meals": many}
        schema = {"properties": known, "required": ["hotel", "kind"]}

        assert signature("book", schema, room) == expected

    @steady
    @given(ANY_SCHEMA)
    def test_any_schema_can_be_shown(self, schema: Any) -> None:
        """Ours: a careless server's tools are listed all the same."""
        assert signature("tool", schema).startswith("tool(")
        assert signature("tool", schema, 20) == signature("tool", schema) or len(signature("tool", schema, 20)) <= 20


def test_the_members_of_an_object_are_described_briefly() -> None:
    """Ours: of one level, since that is where a mistake usually is."""
    cases = [
        ({"properties": {"n": {"type": "integer"}, "a": {}}, "required": ["a"]}, "{a: any, [n: integer]}"),
        ({"properties": {"n": {"default": 1}, "a": {}}, "required": ["n", "a", "gone"]}, "{a: any, [n: any]}"),
        ({"items": {"$ref": "#/$defs/P"}}, "array of {[x: date]}"),
        ({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/P"}]}, "{[x: date]}"),
        ({"items": {"items": {"$ref": "#/$defs/P"}}}, ""),
        ({"$ref": "#/$defs/endless"}, ""),
        ({"properties": {}, "required": 5}, ""),
        ({"type": "string"}, ""),
        (True, ""),
    ]

    point = {"properties": {"x": {"type": "string", "format": "date"}}}
    root = {"$defs": {"P": point, "endless": {"items": {"$ref": "#/$defs/endless"}}}}
    wrong = [(schema, found) for schema, words in cases if (found := members_in_words(schema, root)) != words]

    assert not wrong


def test_limits_and_members_are_shown_on_request() -> None:
    """Ours: what a call has to keep to. The limits of the items of a list are left out: they look like its own."""
    limited: list[tuple[dict[str, Any], str]] = [
        ({"type": "integer", "minimum": 1, "maximum": 9}, "integer (1 to 9)"),
        ({"type": "number", "exclusiveMinimum": 0, "maximum": 5}, "number (at most 5, above 0)"),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, "integer (at least 1)"),
        ({"type": "integer", "minimum": 1, "maximum": 2**53 - 1}, "integer (at least 1)"),
        ({"type": "integer", "minimum": 1 - 2**53, "maximum": 2**53 - 1}, "integer"),
        ({"type": "string", "maxLength": 20}, "string (at most 20 characters)"),
        ({"type": "string", "format": "uri", "minLength": 3}, "uri (at least 3 characters)"),
        (
            {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
            "array of string (not empty)",
        ),
        ({"anyOf": [{"type": "integer", "minimum": 1}, {"type": "null"}]}, "integer (at least 1) | null"),
        ({"type": "boolean", "minimum": 1}, "boolean"),
        ({"enum": [1, 2], "minimum": 1}, "1 | 2"),
        ({"type": "integer", "maximum": 10**99}, f"integer (at most 1{'0' * 50}…)"),
    ]
    edit = {"properties": {"oldText": {"type": "string"}, "n": {"type": "integer"}}, "required": ["n"]}
    many = {"type": "object", "properties": {f"p{number}": {} for number in range(9)}}
    shown = [
        ({"type": "array", "items": {"$ref": "#/$defs/E"}}, "array of {n: integer, [oldText: string]}"),
        ({"anyOf": [{"$ref": "#/$defs/E"}, {"type": "null"}]}, "{n: integer, [oldText: string]} | null"),
        (many, f"{{{', '.join(f'[p{number}: any]' for number in range(8))}, …}}"),
        ({"type": "object"}, "object"),
        ({"properties": {"inner": edit}}, "{[inner: object]}"),
    ]
    root = {"$defs": {"E": edit}}

    assert [(schema, type_in_words(schema, root, limits=True)) for schema, _ in limited] == limited
    assert [(schema, type_in_words(schema, root, members=True)) for schema, _ in shown] == shown
    assert type_in_words(limited[0][0], root) == "integer"


def test_a_signature_has_limits_and_members_where_there_is_room() -> None:
    """Ours: `edits: array of object` says nothing of how to call the tool."""
    item = {"type": "object", "properties": {"oldText": {"type": "string"}}, "required": ["oldText"]}
    edits = {"type": "array", "items": item}
    schema = {
        "properties": {"edits": edits, "n": {"type": "integer", "minimum": 0, "default": 1}},
        "required": ["edits"],
    }

    whole = "edit(edits: array of {oldText: string}, [n: integer (at least 0) = 1])"
    assert signature("edit", schema) == signature("edit", schema, len(whole)) == whole
    assert signature("edit", schema, len(whole) - 1) == "edit(edits: array of object, [n: integer = 1])"


ROOT = {"$defs": {"Size": {"enum": ["xl", "s"]}, "List": {"type": "array", "items": {"$ref": "#/$defs/List"}}}}


def test_an_example_is_valid_for_its_field() -> None:
    """Ours: the line that is advised works when it is copied, where the schema tells enough."""
    cases = [
        ({"type": "string"}, "VALUE"),
        ({"type": "string", "enum": ["small", "large"]}, "small"),
        ({"oneOf": [{"const": "n", "title": "North"}]}, "n"),
        ({"type": "string", "default": "Ada"}, "Ada"),
        ({"type": "string", "format": "email"}, "ada@example.com"),
        ({"type": "boolean"}, "true"),
        ({"type": "boolean", "default": False}, "false"),
        ({"type": "integer"}, "1"),
        ({"type": "integer", "minimum": 3}, "3"),
        ({"type": "number", "maximum": -2.5}, "-2.5"),
        ({"type": "array", "items": {"enum": ["ham"]}}, "ham"),
        ({"type": "array"}, "VALUE"),
        ({"$ref": "#/$defs/Size"}, "xl"),
        ({"$ref": "#/$defs/List"}, "VALUE"),
        (None, "VALUE"),
    ]

    wrong = [(field, found) for field, typed in cases if (found := example_of(field, ROOT)) != typed]

    assert not wrong


@steady
@given(ANY_SCHEMA)
def test_every_schema_has_an_example(schema: Any) -> None:
    """Ours: a schema may be invalid."""
    assert isinstance(example_of(schema, schema), str)


def points(tool: dict[str, Any], *words: str) -> int:
    return score({"name": "x", **tool}, search_words(words))


def test_every_word_has_to_occur() -> None:
    """Ours: each further search term narrows the list."""
    tool = {"name": "get_weather", "description": "The forecast for a city"}

    assert points(tool, "weather", "city")
    assert not points(tool, "weather", "tides")


def test_a_name_counts_more_than_a_description_and_that_more_than_a_parameter() -> None:
    """Ours: a title is part of the name."""
    in_name, in_title = points({"name": "weather"}, "weather"), points({"title": "Weather"}, "weather")
    in_description = points({"description": "the weather"}, "weather")
    in_parameter = points({"inputSchema": {"properties": {"weather": {}}}}, "weather")

    assert in_name == in_title > in_description > in_parameter > 0


def test_arguments_of_a_branch_and_members_of_a_list_count_as_parameters() -> None:
    """Ours: what a call may give is found, wherever its schema states it."""
    list_of = {"properties": {"edits": {"type": "array", "items": {"properties": {"oldText": {}}}}}}

    assert points({"inputSchema": {"oneOf": [{"properties": {"window": {}}}]}}, "window")
    assert points({"inputSchema": list_of}, "oldtext")


def test_a_word_that_stands_alone_counts_more_than_a_part_of_another() -> None:
    """Ours: an underscore ends a word, as it does in most names of tools."""
    assert points({"name": "find_person"}, "person") > points({"name": "impersonation"}, "person") > 0


def test_case_is_ignored_and_a_word_with_spaces_is_several() -> None:
    """Ours: quotes on a command line mean nothing else here."""
    tool = {"name": "add", "description": "Add two NUMBERS"}

    assert points(tool, "Two numbers") == points(tool, "two", "numbers") > 0


def test_a_regular_expression_in_a_search_term_is_literal() -> None:
    """Ours: only `*`, `?` and `[` have a meaning in a search."""
    assert points({"name": "a+b"}, "a+b")
    assert not points({"name": "aab"}, "a+b")


def test_a_glob_has_to_match_the_whole_name() -> None:
    """Ours: as a file's name in a shell; and it counts as a word of the name."""
    tool = {"name": "Read_File", "description": "read a file"}

    assert points(tool, "read*") == points({"name": "read"}, "read") > 0
    assert points(tool, "*file", "read*") == 2 * points(tool, "*file")
    assert not points(tool, "*fil")
    assert not points(tool, "?ile")


def test_an_invalid_input_schema_is_skipped() -> None:
    """Ours: it was kept as the server sent it."""
    cases = [None, [], {}, {"properties": None}, {"properties": []}]

    wrong = [schema for schema in cases if points({"inputSchema": schema}, "weather")]

    assert not wrong


def test_the_closest_words_match_a_tool() -> None:
    """Ours: a mistyped word is corrected, and one that no tool has is left out."""
    tools = [{"name": "create_issue"}, {"name": "list-labels", "description": "Of an issue"}, {"name": "read"}]
    cases = [
        (["creat", "issue", "quickly"], ["creat", "issue"]),
        (["isue"], ["issue"]),
        (["labels", "create", "issue"], ["create", "issue"]),
        (["*_isue", "read"], ["read"]),
        (["weather"], []),
    ]

    wrong = [(words, found) for words, want in cases if (found := closest_words(tools, search_words(words))) != want]

    assert not wrong
    assert closest_words([], search_words(["x"])) == []
