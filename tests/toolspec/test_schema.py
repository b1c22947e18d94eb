"""Schemas: what they say of a value."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

from gaia_mcp.toolspec.describe import signature
from gaia_mcp.toolspec.schema import (
    MAX_PARTS,
    MAX_STEPS,
    argument_names,
    choices_of,
    default_of,
    description_of,
    needed_members,
    needed_of,
    parts_of,
    properties_for,
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

    def test_a_local_reference_is_followed(self) -> None:
        """JSON Schema 2020-12 and RFC 6901; whatever points elsewhere stays unknown."""
        cases = [
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
        ]

        assert {reference: resolved({"$ref": reference}, self.ROOT).get("type") for reference, _ in cases} == dict(
            cases
        )

    def test_members_beside_a_reference_override_it(self) -> None:
        """Ours: generators write the description of a parameter there."""
        assert resolved({"$ref": "#/$defs/Point", "title": "mine"}, self.ROOT) == {"type": "object", "title": "mine"}
        assert resolved({"$ref": "#/$defs/none", "title": "mine"}, self.ROOT) == {"title": "mine"}

    def test_a_value_that_is_not_a_schema_resolves_to_an_empty_one(self) -> None:
        """Ours: a broken schema is shown as far as it goes."""
        cases = [{"$ref": "#/$defs/loop"}, True, None, [], "x", 5]

        wrong = [schema for schema in cases if resolved(schema, self.ROOT) != {}]

        assert not wrong

    def test_a_ref_that_is_not_a_string_stays(self) -> None:
        """Ours: a property may be called `$ref` by a careless author."""
        assert resolved({"$ref": 5, "type": "null"}, self.ROOT) == {"$ref": 5, "type": "null"}


def test_parts_come_in_the_order_in_which_they_are_written() -> None:
    """Ours: the first match of a union is its author's favourite."""
    schema = {"title": "0", "anyOf": [{"title": "1", "oneOf": [{"title": "2"}]}, {"title": "3"}, True], "allOf": 5}
    assert [part.get("title") for part in parts_of(schema, schema, ("anyOf", "oneOf", "allOf"))] == [*"0123", None]
    assert [part.get("title") for part in parts_of(schema, schema, ("oneOf",))] == ["0"]


def test_a_recursive_union_ends_at_the_limit() -> None:
    """Ours: twice itself would be more parts than there are atoms."""
    schema = {"anyOf": [{"$ref": "#"}, {"$ref": "#"}], "allOf": [{"$ref": "#"}] * 500}
    assert len(parts_of(schema, schema, ("anyOf", "allOf"))) == MAX_PARTS


def test_properties_are_collected_from_references_and_all_of() -> None:
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


def test_properties_are_collected_from_the_branches_of_unions_and_conditions() -> None:
    """Ours: they are arguments too, which only some calls take. Those of `if` are tests."""
    app, window = {"type": "string"}, {"type": "integer"}
    branches: list[Any] = [
        {"properties": {"app": app}, "required": ["app"]},
        {"$ref": "#/$defs/Window"},
        {"type": "null", "required": []},
    ]
    condition = {
        "if": {"properties": {"app": {"const": "x"}}, "required": ["app"]},
        "then": {"properties": {"wait": {"type": "number"}}, "required": ["wait", "all"]},
        "else": {"required": ["all"], "oneOf": [{"properties": {"deep": True}}]},
    }
    defined = {"Window": {"properties": {"window": window}, "required": ["window"]}}
    for keyword in ("anyOf", "oneOf"):
        schema: dict[str, Any] = {"type": "object", keyword: branches, "$defs": defined}
        assert (properties_of(schema), required_of(schema)) == ({"app": app, "window": window}, [])
        inner = {"allOf": [schema], "$defs": defined}
        assert (properties_of(inner), required_of(inner)) == ({"app": app, "window": window}, [])
    assert (properties_of(condition), required_of(condition)) == ({"wait": {"type": "number"}, "deep": True}, ["all"])
    assert required_of({"then": condition["then"]}) == []


def test_a_property_of_several_branches_has_the_types_of_all() -> None:
    """Ours: most often it is the member that tells the branches apart. A type that is stated for all counts."""
    a, b = ({"properties": {"kind": {"const": kind}, "n": {"type": "integer"}}, "required": ["kind"]} for kind in "ab")
    kinds = {"anyOf": [{"const": "a"}, {"const": "b"}]}

    assert properties_of({"oneOf": [a, b]}) == {"kind": kinds, "n": {"type": "integer"}}
    assert required_of({"oneOf": [a, b]}) == ["kind"]
    described = {"description": "Which."}
    assert properties_of({"properties": {"kind": described}, "oneOf": [a, b]})["kind"] == {**described, **kinds}
    stated = {"type": "string"}
    assert properties_of({"properties": {"kind": stated}, "oneOf": [a, b]})["kind"] == stated


def test_a_property_of_several_branches_is_that_of_the_branch_that_fits() -> None:
    """Ours: by what is typed of the values that a branch names, and of what it requires."""
    branches = [
        {"properties": {"kind": {"enum": ["a", 1]}, "n": {"type": "integer"}}, "required": ["kind"]},
        {"properties": {"kind": {"const": "b"}, "n": {"type": "string"}, "stated": False}, "required": ["kind"]},
    ]
    schema = {"oneOf": branches, "properties": {"stated": {"type": "null"}}}

    assert properties_for(schema, {"kind": "1"})["n"] == {"type": "integer"}
    assert properties_for(schema, {"kind": "b"})["n"] == {"type": "string"}
    assert properties_for(schema, {"kind": "b"})["stated"] == {"type": "null"}
    for typed in ({}, {"kind": "c"}):
        assert properties_for(schema, typed) == properties_of(schema)


def test_argument_names_include_the_members_of_objects_and_of_lists_of_objects() -> None:
    """Ours: a search finds a tool by them."""
    edit = {"properties": {"oldText": {"type": "string"}}}
    schema = {
        "properties": {
            "edits": {"type": "array", "items": {"anyOf": [edit, {"type": "null"}]}},
            "options": {"$ref": "#/$defs/options"},
            "text": {"type": "string", "properties": {"none": True}},
            "any": True,
        },
        "$defs": {"options": {"properties": {"dryRun": True}}},
    }
    assert argument_names(schema) == ["edits", "options", "text", "any", "oldText", "dryRun"]


def test_a_schema_without_properties_has_none() -> None:
    """Ours: also one that consists of itself."""
    cases = [True, None, [], {"properties": []}, {"allOf": [{"$ref": "#"}]}]

    wrong = [schema for schema in cases if not (properties_of(schema) == {} and required_of(schema) == [])]

    assert not wrong


def test_a_required_member_with_a_default_is_not_needed() -> None:
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


def test_the_types_are_read_from_type() -> None:
    """JSON Schema: `type` is a name or a list of names; anything else says nothing."""
    cases = [
        ({"type": "string"}, ["string"]),
        ({"type": ["integer", 5, "null"]}, ["integer", "null"]),
        ({"type": []}, []),
        ({"type": 5}, []),
        ({"properties": {}}, []),
    ]

    wrong = [(part, found) for part, types in cases if (found := types_of(part)) != types]

    assert not wrong


def test_the_choices_are_read_from_const_and_enum() -> None:
    """JSON Schema: `const` allows one value, `enum` several."""
    cases = [
        ({"const": None}, [None]),
        ({"const": 1, "enum": [1, 2]}, [1]),
        ({"enum": ["a", 1]}, ["a", 1]),
        ({"enum": "a"}, []),
        ({}, []),
    ]

    wrong = [(part, found) for part, choices in cases if (found := choices_of(part)) != choices]

    assert not wrong


def test_choices_have_their_titles() -> None:
    """Spec, elicitation: titled single and multiple choices, and the older `enumNames`."""
    cases = [
        ({"oneOf": [{"const": "a", "title": "A"}, {"const": 2}, True]}, [("a", "A"), (2, "")]),
        ({"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}}, [("a", "A")]),
        ({"enum": ["a", "b"], "enumNames": ["A", "B"]}, [("a", "A"), ("b", "B")]),
        ({"enum": ["a", "b"], "enumNames": ["A"]}, [("a", "A")]),
        ({"enum": ["a"]}, []),
        ({"oneOf": 5, "items": True}, []),
    ]

    wrong = [(part, found) for part, titled in cases if (found := titled_choices_of(part)) != titled]

    assert not wrong


def test_the_first_default_and_description_count() -> None:
    """Ours: what stands at the parameter itself is written for it; generators also put both into a part of a union."""
    union = {"anyOf": [{"type": "null"}, {"default": 1, "description": "one"}, {"default": 2, "description": "two"}]}
    assert (default_of(union, union), description_of(union, union)) == (1, "one")
    outer = {**union, "default": False, "description": "outer"}
    assert (default_of(outer, outer), description_of(outer, outer)) == (False, "outer")
    assert (default_of({"description": 5}, {}), description_of({"description": 5}, {})) == (None, "")


def test_reading_a_schema_takes_a_linear_number_of_steps() -> None:
    """Ours: each of many properties may refer to the same large part. A TAB, a list and a search read all of them."""
    chain: dict[str, Any] = {f"c{level}": {"$ref": f"#/$defs/c{level + 1}"} for level in range(31)}
    shared: dict[str, dict[str, Any]] = {
        "a union of references to references": {"anyOf": [{"$ref": "#/$defs/c0"}] * 100},
        "many choices": {"enum": [f"choice {number}" for number in range(1000)]},
        "many properties": {"properties": {f"k{number}": {} for number in range(1000)}},
        "required": {"type": "string"},
    }

    def read(properties: int, part: dict[str, Any], *, is_referred_to: bool) -> None:
        each = {"$ref": "#/$defs/u", "x": 1} if is_referred_to else part
        names = [f"p{number}" for number in range(properties)]
        schema = {
            "properties": dict.fromkeys(names, each),
            "required": names,
            "$defs": {**chain, "c31": {"type": "string"}, "u": part},
        }
        signature("t", schema)
        for described in properties_of(schema).values():
            description_of(described, schema)
            default_of(described, schema)

    calls = {
        name: calls_of(partial(read, 40, part, is_referred_to=name != "required")) for name, part in shared.items()
    }
    # For each property four functions read it, each in so many steps at most, of a few calls each.
    assert {name: count for name, count in calls.items() if count >= 40 * 4 * MAX_STEPS * 60} == {}


def calls_of(work: Callable[[], object]) -> int:
    """The calls of functions that some work makes."""
    calls = 0

    def count(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
    return calls
