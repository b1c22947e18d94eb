from __future__ import annotations

from typing import Any

from gaia_mcp.toolspec.repair import MAX_DEPTH, repaired_schema

Wire = dict[str, Any]


def repaired(schema: Any) -> tuple[Wire, list[str]]:
    """The repaired schema, and what was noted."""
    noted: list[str] = []
    return repaired_schema(schema, "it", noted.append), noted


def test_a_schema_of_valid_form_is_returned_unchanged() -> None:
    """Ours: only what strict clients refuse is repaired, in a schema of any dialect."""
    valid: list[Wire] = [
        {},
        {"type": "object", "properties": {"a": True, "required": {"type": ["string", "null"]}}, "required": ["a"]},
        {"type": "object", "properties": {"type": {"enum": [None]}, "properties": {"const": []}}},
        {"$defs": {"a": {"not": {}}}, "anyOf": [{"$ref": "#/$defs/a"}, False], "additionalProperties": False},
        {"items": [{"type": "string"}], "exclusiveMinimum": True, "minimum": 0.5, "default": [], "own": None},
        {"dependencies": {"a": ["b"]}, "examples": None, "const": {"type": "int"}},
    ]

    assert [schema for schema in valid if repaired_schema(schema, "it") is not schema] == []


def test_an_empty_list_or_null_for_an_object_is_read_as_an_empty_object() -> None:
    """Ours: PHP writes an empty object as a list; its meaning is not in doubt."""
    for empty in ([], None):
        inner = {"type": "object", "properties": empty}
        assert repaired({**inner, "$defs": {"a": inner}})[0] == {
            "type": "object", "properties": {}, "$defs": {"a": {"type": "object", "properties": {}}},
        }  # fmt: skip

    assert repaired({"properties": []})[1] == ["it.properties is [], and is read as {}"]
    assert repaired({"properties": {"a": None, "b": []}})[0] == {"properties": {"a": {}, "b": {}}}
    assert repaired({"items": []})[0] == {"items": {}}


def test_a_type_of_another_language_is_read_as_the_type_of_json() -> None:
    """Ours: the APIs of models refuse every tool for it."""
    given = {"properties": {"n": {"type": "int"}, "b": "Boolean", "l": {"type": ["str", "None"]}}}

    assert repaired(given) == (
        {"properties": {"n": {"type": "integer"}, "b": {"type": "boolean"}, "l": {"type": ["string", "null"]}}},
        [
            'it.properties.n.type is "int", and is read as "integer"',
            'it.properties.b is "Boolean", and is read as {"type": "boolean"}',
            'it.properties.l.type is ["str", "None"], and is read as ["string", "null"]',
        ],
    )


def test_required_is_read_where_it_was_meant() -> None:
    """Ours: a single name, the keyword among the properties, and `true` at a property, as in draft 3."""
    expected = {"properties": {"a": {"type": "string"}}, "required": ["a"]}
    a = {"type": "string"}
    for given in (
        {"properties": {"a": a}, "required": "a"},
        {"properties": {"a": a, "required": ["a"]}},
        {"properties": {"a": {**a, "required": True}}},
        {"properties": {"a": a}, "required": ["a", 1, "a"]},
        {"properties": {"a": {**a, "required": True}}, "required": False},
    ):
        found, noted = repaired(given)
        assert found == expected
        assert len(noted) == 1
        assert '["a"]' in noted[0]
    assert repaired({"properties": {"a": {**a, "required": False}}, "required": None}) == (
        {"properties": {"a": a}},
        [],
    )


def test_a_keyword_without_a_meaning_is_left_out_with_a_note() -> None:
    """Ours: the parameter stays, so that it can be given."""
    given = {
        "properties": {
            "a": ["x"],
            "b": "everything",
            "c": {"type": "file"},
            "d": 5,
            "e": {"enum": []},
            "f": {"type": ["string", 3]},
        },
        "required": {"a": 1},
        "description": ["d"],
        "anyOf": [],
        "minProperties": "2",
        "oneOf": {"required": ["a"]},
    }

    assert repaired(given) == (
        {"properties": {name: {} for name in "abcdef"}, "oneOf": [{"required": ["a"]}]},
        [
            'it.properties.a is not a schema but ["x"], and is read as that of any value',
            'it.properties.b is not a schema but "everything", and is read as that of any value',
            'it.properties.c.type is "file", not a type of JSON, and is left out',
            "it.properties.d is not a schema but 5, and is read as that of any value",
            "it.properties.e.enum is [], not a list of values, and is left out",
            'it.properties.f.type is ["string", 3], not a type of JSON, and is left out',
            'it.required is {"a": 1}, not a list of names, and is left out',
            'it.description is ["d"], not a text, and is left out',
            "it.anyOf is [], not a list of schemas, and is left out",
            'it.minProperties is "2", not a number, and is left out',
            "it.oneOf is not a list, and is read as a list of this one",
        ],
    )
    assert repaired({"properties": 7})[1] == ["it.properties is not an object but 7, and is read as empty"]
    assert repaired({"anyOf": [{"type": "int"}], "items": None})[0] == {"anyOf": [{"type": "integer"}]}


def test_the_given_schema_is_not_modified_and_a_deep_one_is_read_to_a_depth() -> None:
    """Ours: it belongs to the caller, and a hostile one must not exhaust the stack."""
    given: Wire = {"properties": {"a": {"type": "int"}}}
    repaired(given)
    assert given == {"properties": {"a": {"type": "int"}}}

    deep: Any = {"type": "int"}
    for _ in range(MAX_DEPTH):
        deep = {"items": deep}
    assert repaired_schema(deep, "it") is deep
    assert repaired_schema(["a"], "it") == {}


def test_a_schema_of_python_values_is_read_as_it_is_written_in_json() -> None:
    """Ours: an agent may have written its lists as tuples; what JSON cannot express is named."""
    notes: list[str] = []
    schema = {"type": "object", "properties": {"a": {"enum": ("x", "y")}, "b": {"enum": {"x"}}}, "required": ("a",)}

    assert repaired_schema(schema, "inputSchema", notes.append) == {
        "type": "object",
        "properties": {"a": {"enum": ["x", "y"]}, "b": {}},
        "required": ["a"],
    }
    assert [note.partition(" is ")[0] for note in notes] == ["inputSchema.properties.b.enum"]
