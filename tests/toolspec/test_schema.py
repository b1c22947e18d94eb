"""Schemas: what they say of a value."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from gaia_mcp.toolspec.in_words import signature
from gaia_mcp.toolspec.schema import (
    MAX_PARTS,
    MAX_STEPS,
    choices_of,
    default_of,
    description_of,
    needed_members,
    needed_of,
    parts_of,
    properties_of,
    required_of,
    resolved,
    titled_choices_of,
    types_of,
)


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


def test_what_is_required_and_has_a_default_is_not_needed() -> None:
    """JSON Schema: `default` is what stands for a missing value; null is one."""
    schema = {
        "properties": {
            "a": {"default": None},
            "b": {"anyOf": [{"type": "null"}, {"default": 1}]},
            "c": {"type": "string"},
            "d": {"default": 1},
        },
        "required": ["a", "b", "c", "gone"],
        "allOf": [{"properties": {"e": {"$ref": "#/properties/d"}}, "required": ["e", "c"]}],
    }
    assert needed_of(schema) == ["c", "gone"]
    assert needed_members(schema, schema) == ["c", "gone"]
    assert needed_members({"required": ["a", 5], "properties": 7}, {}) == ["a"]
    assert needed_members({"required": "a"}, {}) == []


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

    # For each property four functions read it, each in so many steps at most, of a few calls each.
    assert calls_of(read, 40) < 40 * 4 * MAX_STEPS * 60


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
