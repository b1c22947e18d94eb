"""Schemas: what they say of a value, and how they read in a line."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ClassVar

import pytest
from hypothesis import given

from gaia_mcp.toolspec.schema import (
    MAX_PARTS,
    MAX_STEPS,
    choices_of,
    default_of,
    description_of,
    members_in_words,
    parts_of,
    properties_of,
    required_of,
    resolved,
    signature,
    titled_choices_of,
    type_in_words,
    types_of,
)
from tests.protocol_support import steady
from tests.schema_support import ANY_SCHEMA, nested


class TestResolved:
    """Local references."""

    ROOT: ClassVar[dict[str, Any]] = {
        "$defs": {
            "Point": {"type": "object", "title": "P"},
            "a/b~c d": {"type": "null"},
            "loop": {"$ref": "#/$defs/loop"},
            "one": {"$ref": "#/$defs/Point"},
        },
        "anyOf": [{"type": "string"}, {"type": "integer"}],
        "type": "boolean",
    }

    @pytest.mark.parametrize(
        ("reference", "kind"),
        [
            ("#/$defs/Point", "object"),
            ("#/$defs/one", "object"),
            ("#/$defs/a~1b~0c d", "null"),
            ("#/$defs/a~1b~0c%20d", "null"),
            ("#/anyOf/1", "integer"),
            ("#", "boolean"),
            ("#/anyOf/2", None),
            ("#/anyOf/-1", None),
            ("#/anyOf/x", None),
            ("#/anyOf/\u0661", None),
            ("#/$defs/none", None),
            ("#/type", None),
            ("#anchor", None),
            ("https://example.org/x", None),
            ("", None),
        ],
    )
    def test_a_local_reference_is_followed(self, reference: str, kind: str | None) -> None:
        """JSON Schema 2020-12 and RFC 6901; whatever points elsewhere stays unknown."""
        assert resolved({"$ref": reference}, self.ROOT).get("type") == kind

    def test_what_stands_beside_a_reference_wins(self) -> None:
        """Ours: generators write the description of a parameter there."""
        assert resolved({"$ref": "#/$defs/Point", "title": "mine"}, self.ROOT) == {"type": "object", "title": "mine"}
        assert resolved({"$ref": "#/$defs/none", "title": "mine"}, self.ROOT) == {"title": "mine"}

    @pytest.mark.parametrize("schema", [{"$ref": "#/$defs/loop"}, True, None, [], "x", 5])
    def test_what_is_no_schema_says_nothing(self, schema: Any) -> None:
        """Ours: a broken schema is shown as far as it goes."""
        assert resolved(schema, self.ROOT) == {}

    def test_a_reference_that_is_no_text_is_left(self) -> None:
        """Ours: a property may be called `$ref` by a careless author."""
        assert resolved({"$ref": 5, "type": "null"}, self.ROOT) == {"$ref": 5, "type": "null"}


def test_parts_come_in_the_order_in_which_they_are_written() -> None:
    """Ours: the first match of a union is its author's favourite."""
    schema = {"title": "0", "anyOf": [{"title": "1", "oneOf": [{"title": "2"}]}, {"title": "3"}, True], "allOf": 5}
    assert [part.get("title") for part in parts_of(schema, schema, ("anyOf", "oneOf", "allOf"))] == [*"0123", None]
    assert [part.get("title") for part in parts_of(schema, schema, ("oneOf",))] == ["0"]


def test_a_union_that_contains_itself_has_an_end() -> None:
    """Ours: twice itself would be more parts than there are atoms."""
    schema = {"anyOf": [{"$ref": "#"}, {"$ref": "#"}], "allOf": [{"$ref": "#"}] * 500}
    assert len(parts_of(schema, schema, ("anyOf", "allOf"))) == MAX_PARTS


def test_properties_are_found_in_the_schema_and_what_it_is_made_of() -> None:
    """Ours: generators split objects into `allOf` and references."""
    schema = {
        "definitions": {
            "Base": {
                "properties": {"b": {"type": "null"}},
                "required": ["b"],
                "allOf": [{"$ref": "#/definitions/Root"}],
            },
            "Root": {"properties": {"c": True}, "required": ["c", 5]},
        },
        "properties": {"a": {"type": "string"}},
        "required": ["a", "b"],
        "allOf": [{"$ref": "#/definitions/Base"}, {"properties": 7, "required": 7}],
    }
    assert properties_of(schema) == {"a": {"type": "string"}, "b": {"type": "null"}, "c": True}
    assert list(properties_of(schema)) == ["a", "b", "c"]
    assert required_of(schema) == ["a", "b", "c"]
    assert properties_of({"$ref": "#/definitions/Base", **schema}) == properties_of(schema)


@pytest.mark.parametrize("schema", [True, None, [], {"properties": []}, {"allOf": [{"$ref": "#"}]}])
def test_a_schema_without_properties_has_none(schema: Any) -> None:
    """Ours: also one that consists of itself."""
    assert properties_of(schema) == {}
    assert required_of(schema) == []


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["integer", "null"]}, "integer | null"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "integer | null"),
        ({"oneOf": [{"type": "string"}, {"const": 1}, {"type": "string"}]}, "string | 1"),
        ({"enum": ["a", 1, None, "é"]}, '"a" | 1 | null | "é"'),
        ({"enum": [], "type": "string"}, "string"),
        ({"const": "x", "type": "string"}, '"x"'),
        ({"type": "array", "items": {"type": "string"}}, "array of string"),
        ({"type": "array"}, "array"),
        ({"type": "array", "items": {"type": "array", "items": {"enum": [1]}}}, "array of array of 1"),
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
    ],
)
def test_a_type_is_said_in_a_few_words(schema: Any, words: str) -> None:
    """Ours: `tools` shows signatures."""
    assert type_in_words(schema, {"$defs": {"P": {"type": "boolean"}}}) == words


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "array", "items": {"$ref": "#"}},
        {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"anyOf": [{"type": "array", "items": {"$ref": "#"}}, {"oneOf": [{"$ref": "#"}, {"$ref": "#"}]}]},
    ],
    ids=["a list of itself", "either itself or itself", "both"],
)
def test_a_type_without_end_is_cut_off(schema: Any) -> None:
    """Ours: a server can write such a schema, and we must still list its tools."""
    assert 0 < len(type_in_words(schema, schema)) < 2000


def test_a_type_without_bottom_is_cut_off() -> None:
    """Ours: as above, without a reference."""
    words = type_in_words(nested(100_000), {})
    assert words.startswith("array of array of")
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

    @pytest.mark.parametrize("schema", [{}, {"type": "object"}, None, True, {"properties": {}}])
    def test_a_tool_without_parameters_has_empty_brackets(self, schema: Any) -> None:
        """Ours: there is nothing to give."""
        assert signature("now", schema) == "now()"

    @pytest.mark.parametrize(
        ("room", "expected"),
        [
            (80, "book(hotel: string, kind, [nights: integer = 1], [meals])"),
            (48, "book(hotel: string, kind, …)"),
            (20, "book(…)"),
        ],
    )
    def test_what_has_no_room_is_left_out(self, room: int, expected: str) -> None:
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


@pytest.mark.parametrize(
    ("part", "types"),
    [
        ({"type": "string"}, ["string"]),
        ({"type": ["integer", 5, "null"]}, ["integer", "null"]),
        ({"type": []}, []),
        ({"type": 5}, []),
        ({"properties": {}}, []),
    ],
)
def test_the_types_are_those_that_are_named(part: dict[str, Any], types: list[str]) -> None:
    """JSON Schema: `type` is a name or a list of names; anything else says nothing."""
    assert types_of(part) == types


@pytest.mark.parametrize(
    ("part", "choices"),
    [
        ({"const": None}, [None]),
        ({"const": 1, "enum": [1, 2]}, [1]),
        ({"enum": ["a", 1]}, ["a", 1]),
        ({"enum": "a"}, []),
        ({}, []),
    ],
)
def test_the_choices_are_those_that_are_listed(part: dict[str, Any], choices: list[Any]) -> None:
    """JSON Schema: `const` allows one value, `enum` several."""
    assert choices_of(part) == choices


@pytest.mark.parametrize(
    ("part", "titled"),
    [
        ({"oneOf": [{"const": "a", "title": "A"}, {"const": 2}, True]}, [("a", "A"), (2, "")]),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}, [("a", "A")]),
        ({"enum": ["a", "b"], "enumNames": ["A", "B"]}, [("a", "A"), ("b", "B")]),
        ({"enum": ["a", "b"], "enumNames": ["A"]}, [("a", "A")]),
        ({"enum": ["a"]}, []),
        ({"oneOf": 5, "items": True}, []),
    ],
)
def test_choices_have_their_titles(part: dict[str, Any], titled: list[tuple[Any, Any]]) -> None:
    """Spec, elicitation: titled single and multiple choices, and the older `enumNames`."""
    assert titled_choices_of(part) == titled


def test_the_first_default_and_description_count() -> None:
    """Ours: what stands at the parameter itself is written for it; generators also put both into a part of a union."""
    union = {"anyOf": [{"type": "null"}, {"default": 1, "description": "one"}, {"default": 2, "description": "two"}]}
    assert (default_of(union, union), description_of(union, union)) == (1, "one")
    outer = {**union, "default": False, "description": "outer"}
    assert (default_of(outer, outer), description_of(outer, outer)) == (False, "outer")
    assert (default_of({"description": 5}, {}), description_of({"description": 5}, {})) == (None, "")


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"properties": {"n": {"type": "integer"}, "a": {}}, "required": ["a"]}, "{a: any, [n: integer]}"),
        ({"items": {"$ref": "#/$defs/P"}}, "array of {[x: date]}"),
        ({"anyOf": [{"type": "null"}, {"$ref": "#/$defs/P"}]}, "{[x: date]}"),
        ({"items": {"items": {"$ref": "#/$defs/P"}}}, ""),
        ({"$ref": "#/$defs/endless"}, ""),
        ({"properties": {}, "required": 5}, ""),
        ({"type": "string"}, ""),
        (True, ""),
    ],
)
def test_the_members_of_an_object_are_said_in_a_few_words(schema: Any, words: str) -> None:
    """Ours: of one level, since that is where a mistake usually is."""
    point = {"properties": {"x": {"type": "string", "format": "date"}}}
    endless = {"items": {"$ref": "#/$defs/endless"}}
    assert members_in_words(schema, {"$defs": {"P": point, "endless": endless}}) == words


@pytest.mark.parametrize(
    ("shared", "references"),
    [
        ({"anyOf": [{"$ref": "#/$defs/c0"}] * 100}, True),
        ({"enum": [f"choice {number}" for number in range(1000)]}, True),
        ({"properties": {f"k{number}": {} for number in range(1000)}}, True),
        ({"type": "string"}, False),
    ],
    ids=["a union of references to references", "many choices", "many properties", "required"],
)
def test_what_is_read_of_a_schema_grows_as_its_text_does(shared: dict[str, Any], references: bool) -> None:
    """Ours: each of many properties may refer to the same large part. A TAB, a list and a search read all of them."""
    chain: dict[str, Any] = {f"c{level}": {"$ref": f"#/$defs/c{level + 1}"} for level in range(31)}

    def read(properties: int) -> None:
        each = {"$ref": "#/$defs/u", "x": 1} if references else shared
        names = [f"p{number}" for number in range(properties)]
        schema = {
            "properties": dict.fromkeys(names, each),
            "required": names,
            "$defs": {**chain, "c31": {"type": "string"}, "u": shared},
        }
        signature("t", schema)
        for described in properties_of(schema).values():
            description_of(described, schema)
            default_of(described, schema)

    # For each property three functions read it, each in so many steps at most, of a few calls each.
    assert calls_of(read, 40) < 40 * 3 * MAX_STEPS * 60


def calls_of(work: Callable[[int], object], size: int) -> int:
    """The calls of functions that some work makes."""
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        work(size)
    finally:
        sys.setprofile(None)
    return calls
