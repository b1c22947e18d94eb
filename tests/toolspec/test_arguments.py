"""Arguments in the types that a tool wants."""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.toolspec.arguments import (
    MAX_VALUES,
    ArgumentSyntaxError,
    Assignment,
    number_in,
    read_assignment,
    read_object,
    typed_arguments,
    typed_value,
    without_texts,
)
from tests.protocol_support import steady
from tests.schema_support import ANY_SCHEMA

if TYPE_CHECKING:
    from pathlib import Path


def no_file(name: str) -> str:
    raise AssertionError(f"{name} was read")


def typed(*texts: str, schema: Any, base: dict[str, Any] | None = None) -> dict[str, Any]:
    return typed_arguments([read_assignment(text) for text in texts], schema, no_file, base)


class TestTypedValue:
    """One value, as it is typed."""

    def test_a_value_is_converted_to_the_type_of_the_schema(self) -> None:
        """Ours: `key=value` is turned into the schema's type; nothing is guessed."""
        cases = [
            # A string never becomes anything else.
            ({"type": "string"}, "5", "5"),
            ({"type": "string"}, "true", "true"),
            ({"type": "string"}, "null", "null"),
            ({"type": "string"}, " [1] ", " [1] "),
            ({"type": "string"}, "", ""),
            ({"type": "integer"}, "5", 5),
            ({"type": "integer"}, " -5 ", -5),
            ({"type": "integer"}, "+5", 5),
            ({"type": "integer"}, "12345678901234567890", 12345678901234567890),
            ({"type": "integer"}, "5.0", "5.0"),
            ({"type": "integer"}, "5x", "5x"),
            ({"type": "integer"}, "5\n6", "5\n6"),
            ({"type": "integer"}, "1_000", "1_000"),
            ({"type": "integer"}, "9" * 301, int("9" * 301)),
            ({"type": "integer"}, "9" * 5000, "9" * 5000),
            ({"type": "integer"}, "\u0663", "\u0663"),
            ({"type": "integer"}, "true", "true"),
            ({"type": "integer"}, "", ""),
            ({"type": "number"}, "5", 5),
            ({"type": "number"}, "5.5", 5.5),
            ({"type": "number"}, ".5", 0.5),
            ({"type": "number"}, "5.", 5.0),
            ({"type": "number"}, "-1e3", -1000.0),
            ({"type": "number"}, "1e999", "1e999"),
            ({"type": "number"}, "9" * 301, int("9" * 301)),
            ({"type": "number"}, "9" * 5000, "9" * 5000),
            ({"type": "number"}, "\u0663.5", "\u0663.5"),
            ({"type": "number"}, "nan", "nan"),
            ({"type": "number"}, "Infinity", "Infinity"),
            ({"type": "number"}, ".", "."),
            ({"type": "boolean"}, "true", True),
            ({"type": "boolean"}, "Yes", True),
            ({"type": "boolean"}, "on", True),
            ({"type": "boolean"}, "1", True),
            ({"type": "boolean"}, "FALSE", False),
            ({"type": "boolean"}, "no", False),
            ({"type": "boolean"}, "off", False),
            ({"type": "boolean"}, "0", False),
            ({"type": "boolean"}, "maybe", "maybe"),
            ({"type": "boolean"}, "ye\u017f", "ye\u017f"),
            ({"type": "null"}, "null", None),
            ({"type": "null"}, "", ""),
            ({"type": "array"}, "a", ["a"]),
            ({"type": "array"}, "[1, 2]", [1, 2]),
            ({"type": "array"}, "[a, b]", "[a, b]"),
            ({"type": "array"}, "[NaN]", "[NaN]"),
            ({"type": "array"}, "[" * 100_000, "[" * 100_000),
            ({"type": "array", "items": {"type": "integer"}}, "5", [5]),
            ({"type": "array", "items": {"type": "integer"}}, "x", ["x"]),
            ({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}, "5", [[5]]),
            ({"type": "object"}, '{"a": 1}', {"a": 1}),
            # JSON Schema: true is not 1, at whatever depth, and 1.0 is.
            ({"enum": [{"a": True}, {"a": 1}]}, '{"a": 1}', {"a": 1}),
            ({"enum": [{"a": 1}, {"a": True}]}, '{"a": true}', {"a": True}),
            ({"enum": [[[True]], [[1]]]}, "[[1.0]]", [[1]]),
            ({"anyOf": [{"const": {"a": [False]}}, {"const": {"a": [0]}}]}, '{"a": [0]}', {"a": [0]}),
            ({"type": "object"}, "a", "a"),
            ({"type": "object"}, "{a: 1}", "{a: 1}"),
            ({"properties": {"a": {}}}, '{"a": 1}', {"a": 1}),
            ({}, "5", "5"),
            (True, "5", "5"),
            (None, "5", "5"),
            ({"type": "no-such-type"}, "5", "5"),
            ({"type": [5]}, "5", "5"),
        ]

        wrong = []
        for schema, text, value in cases:
            found = typed_value(text, schema, {})
            if (found, repr(found)) != (value, repr(value)):
                wrong.append((schema, text, found))

        assert not wrong

    def test_a_union_that_allows_a_string_keeps_the_text(self) -> None:
        """Ours: a schema that allows text gets what was typed; a number wins over a boolean."""
        cases = [
            ({"type": ["integer", "string"]}, "5", "5"),
            ({"type": ["integer", "null"]}, "null", None),
            ({"type": ["integer", "null"]}, "5", 5),
            ({"type": ["boolean", "integer"]}, "1", 1),
            ({"type": ["boolean", "integer"]}, "true", True),
            ({"type": ["string", "null"]}, "null", "null"),
            ({"type": ["array", "integer"]}, "5", 5),
            ({"type": ["array", "integer"]}, "x", ["x"]),
            ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "5", 5),
            ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "null", None),
            ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "x", "x"),
            ({"anyOf": [{"type": "integer"}, {"type": "string"}]}, "5", "5"),
            ({"oneOf": [{"type": "boolean"}, {"type": "number"}]}, "0", 0),
            ({"allOf": [{"type": "integer"}]}, "5", 5),
            ({"type": "integer", "allOf": [{"type": ["integer", "string"]}]}, "5", 5),
            ({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}, "5", [5]),
            ({"anyOf": [{"anyOf": [{"type": "integer"}]}, True, 5]}, "5", 5),
            ({"anyOf": []}, "5", "5"),
        ]

        wrong = []
        for schema, text, value in cases:
            found = typed_value(text, schema, schema)
            if (found, type(found)) != (value, type(value)):
                wrong.append((schema, text, found))

        assert not wrong

    def test_a_choice_of_any_json_type_is_found(self) -> None:
        """JSON Schema 2020-12, enum and const: choices need not be strings, nor have a type beside them."""
        cases = [
            ({"enum": ["a", "b"]}, "a", "a"),
            ({"enum": ["a", "b"]}, "c", "c"),
            ({"enum": [1, 2]}, "2", 2),
            ({"enum": [1, 2]}, " 2 ", 2),
            ({"enum": [1, 2]}, "3", "3"),
            ({"enum": [1, 2], "type": "integer"}, "3", 3),
            ({"enum": [1, "1"]}, "1", "1"),
            ({"enum": [1, True]}, "true", True),
            ({"enum": [True, 1]}, "1", 1),
            ({"enum": [None]}, "null", None),
            ({"enum": [1.0]}, "1", 1.0),
            ({"enum": [[1, 2], {"a": 1}]}, "[1,2]", [1, 2]),
            ({"enum": [[1, 2], {"a": 1}]}, '{"a":1}', {"a": 1}),
            ({"enum": ["a", 1], "type": ["string", "integer"]}, "1", 1),
            ({"const": 5}, "5", 5),
            ({"const": "5"}, "5", "5"),
            ({"oneOf": [{"const": 1}, {"const": 2}]}, "2", 2),
            ({"anyOf": [{"enum": [1, 2]}, {"type": "null"}]}, "1", 1),
            ({"anyOf": [{"enum": ["auto"]}, {"type": "integer"}]}, "auto", "auto"),
            ({"anyOf": [{"enum": ["auto"]}, {"type": "integer"}]}, "7", 7),
            ({"anyOf": [{"type": "string"}, {"const": 1}]}, "1", "1"),
            ({"enum": []}, "5", "5"),
            ({"enum": 5, "type": "integer"}, "5", 5),
        ]

        wrong = []
        for schema, text, value in cases:
            found = typed_value(text, schema, schema)
            if (found, type(found)) != (value, type(value)):
                wrong.append((schema, text, found))

        assert not wrong

    def test_references_lead_to_the_type(self) -> None:
        """Ours: most generators put an enumeration into `$defs`."""
        root = {
            "$defs": {
                "N": {"type": "integer"},
                "E": {"enum": [1]},
                "L": {"type": "array", "items": {"$ref": "#/$defs/N"}},
            }
        }
        assert typed_value("5", {"$ref": "#/$defs/N"}, root) == 5
        assert typed_value("1", {"anyOf": [{"$ref": "#/$defs/E"}, {"type": "null"}]}, root) == 1
        assert typed_value("5", {"$ref": "#/$defs/L"}, root) == [5]

    def test_a_recursive_array_schema_terminates(self) -> None:
        """Ours: a schema can say so; JSON is the way to fill it."""
        schema = {"type": "array", "items": {"$ref": "#"}}
        assert json.dumps(typed_value("x", schema, schema)).strip("[]") == '"x"'
        assert typed_value("[[]]", schema, schema) == [[]]

    @steady
    @given(st.text(), ANY_SCHEMA)
    def test_any_text_and_any_schema_give_a_value(self, text: str, schema: Any) -> None:
        """Ours: it never raises, and what it gives was said by the word or is a choice of the schema."""
        value = typed_value(text, schema, schema)
        assert value == value or isinstance(value, float)

    @steady
    @given(st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False))
    def test_every_number_is_read_back_from_its_repr(self, number: float) -> None:
        """Ours: what Python writes is what is read."""
        assert typed_value(repr(number), {"type": "number"}, {}) == number

    @steady
    @given(st.text())
    def test_a_string_parameter_takes_any_text_as_it_is(self, text: str) -> None:
        """Ours: for a string parameter nothing needs quoting."""
        assert typed_value(text, {"type": "string"}, {}) == text

    @pytest.mark.parametrize("schema", [{"type": "object"}, {"type": "array"}])
    def test_an_object_with_a_repeated_key_is_refused(self, schema: Any) -> None:
        """Ours: of two values one would be lost without a word."""
        text = '{"a": 1, "a": 2}' if schema["type"] == "object" else '[{"a": 1, "a": 2}]'
        with pytest.raises(ArgumentSyntaxError, match="k: the key 'a' appears twice in one object"):
            typed(f"k={text}", schema={"properties": {"k": schema}})


class TestTypedArguments:
    """All arguments of a call."""

    SCHEMA: ClassVar[dict[str, Any]] = {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "limit": {"type": "integer"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "either": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
        },
    }

    def test_each_argument_is_converted_to_its_own_type(self) -> None:
        """Ours: a call mixes strings, numbers and lists, and none of them needs quoting."""
        assert typed("path=5", "limit=5", "tags=a", schema=self.SCHEMA) == {"path": "5", "limit": 5, "tags": ["a"]}

    def test_an_unknown_key_stays_text(self) -> None:
        """Ours: the check that follows says that there is no such parameter."""
        assert typed("colour=5", schema=self.SCHEMA) == {"colour": "5"}
        assert typed("colour=5", schema={**self.SCHEMA, "additionalProperties": True}) == {"colour": "5"}
        assert typed("colour=5", schema=None) == {"colour": "5"}

    def test_other_keys_have_the_type_that_the_schema_gives_them(self) -> None:
        """JSON Schema 2020-12: additionalProperties."""
        assert typed("a=5", schema={"additionalProperties": {"type": "integer"}}) == {"a": 5}

    def test_a_list_is_given_by_repetition(self) -> None:
        """Ours: as with options of other programs."""
        assert typed("tags=a", "tags=b", "tags=c", schema=self.SCHEMA) == {"tags": ["a", "b", "c"]}
        assert typed("tags=[1]", "tags=b", 'tags:=["c", "d"]', schema=self.SCHEMA) == {"tags": [1, "b", "c", "d"]}
        assert typed('tags:="a"', "tags=b", schema=self.SCHEMA) == {"tags": ["a", "b"]}

    def test_a_repeated_argument_of_a_string_or_array_becomes_an_array(self) -> None:
        """Ours: text comes first, but two are a list."""
        assert typed("either=a", schema=self.SCHEMA) == {"either": "a"}
        assert typed("either=a", "either=b", schema=self.SCHEMA) == {"either": ["a", "b"]}

    def test_a_repeated_argument_of_another_type_is_an_error(self) -> None:
        """Ours: one of the two would be lost."""
        for texts in (["path=a", "path=b"], ["colour=a", "colour=a"], ["limit:=1", "limit=2"]):
            with pytest.raises(ArgumentSyntaxError, match="twice"):
                typed(*texts, schema=self.SCHEMA)

    def test_json_is_taken_as_it_is(self) -> None:
        """Ours: `key:=JSON`, whatever the schema says."""
        assert typed("path:=5", 'limit:="5"', "new:=null", schema=self.SCHEMA) == {"path": 5, "limit": "5", "new": None}

    def test_an_invalid_json_value_names_its_key(self) -> None:
        """Ours: the caller sees which of many arguments to correct."""
        cases = ["limit:=", "limit:=abc", "limit:={", "limit:=NaN", "limit:=1e999"]

        wrong = []
        for text in cases:
            try:
                typed(text, schema=self.SCHEMA)
            except ArgumentSyntaxError as error:
                if not re.search("limit: not JSON", str(error)):
                    wrong.append((text, error))
            else:
                wrong.append((text, None))

        assert not wrong

    def test_an_at_sign_reads_the_value_from_a_file(self, tmp_path: Path) -> None:
        """Ours: `key=@FILE`; its content is typed like a word."""
        (tmp_path / "text").write_text("5\n")
        (tmp_path / "list").write_text('["a"]')

        def read(name: str) -> str:
            return (tmp_path / name).read_text()

        texts = ["path=@text", "limit=@text", "tags=@list", "new:=@list"]
        arguments = typed_arguments([read_assignment(text) for text in texts], self.SCHEMA, read)
        assert arguments == {"path": "5\n", "limit": 5, "tags": ["a"], "new": ["a"]}

    def test_a_lone_at_sign_is_text(self) -> None:
        """Ours: there is no file without a name."""
        assert typed("path=@", schema=self.SCHEMA) == {"path": "@"}

    def test_an_error_of_the_file_reader_is_passed_on(self) -> None:
        """Ours: the reader knows what to say."""

        def read(name: str) -> str:
            raise ArgumentSyntaxError(f"{name} is not there")

        with pytest.raises(ArgumentSyntaxError, match=r"notes\.txt is not there"):
            typed_arguments([read_assignment("path=@notes.txt")], self.SCHEMA, read)

    def test_assignments_override_the_base_object(self) -> None:
        """Ours: `--args` first, then what is typed; the object itself is not touched."""
        base = {"path": "a", "tags": ["x"], "other": {"deep": 1}}
        assert typed("path=b", "tags=y", schema=self.SCHEMA, base=base) == {**base, "path": "b", "tags": ["y"]}
        assert base == {"path": "a", "tags": ["x"], "other": {"deep": 1}}


def test_an_argument_of_several_branches_has_the_type_in_the_branch_that_fits() -> None:
    """Ours: a branch is told by the values that it names, and the arguments that it requires."""
    kinds: list[dict[str, Any]] = [
        {"properties": {"kind": {"const": "count"}, "value": {"type": "integer"}}, "required": ["kind"]},
        {"properties": {"kind": {"enum": ["text", 3]}, "value": {"type": "string"}}, "required": ["kind"]},
        {"properties": {"value": {"type": "boolean"}, "sure": True}, "required": ["sure"]},
    ]
    for schema in ({"oneOf": kinds}, {"allOf": [{"anyOf": [{"$ref": f"#/$defs/{n}"} for n in range(3)]}]}):
        schema = {**schema, "$defs": {str(number): branch for number, branch in enumerate(kinds)}}
        assert typed("kind=count", "value=1", schema=schema) == {"kind": "count", "value": 1}
        assert typed("kind=text", "value=1", schema=schema) == {"kind": "text", "value": "1"}
        assert typed("kind=3", "value=1", schema=schema) == {"kind": 3, "value": "1"}
        assert typed("value=1", "sure=", schema=schema) == {"value": True, "sure": ""}
        assert typed("value=1", schema=schema) == {"value": "1"}
    first = {"anyOf": [{"properties": {"v": {"type": "integer"}}}, {"properties": {"v": {"type": "string"}}}]}
    assert (typed("v=1", schema=first), typed("v=a", schema=first)) == ({"v": 1}, {"v": "a"})
    text = {"properties": {"v": {"type": "string"}}}
    for stated in ({**first, **text}, {"allOf": [first, text]}):
        assert typed("v=1", schema=stated) == {"v": "1"}


def test_an_assignment_is_split_at_its_first_sign() -> None:
    """Ours: `key=value` and `key:=JSON`."""
    cases = [
        ("a=b", Assignment("a", "b", False)),
        ("a=", Assignment("a", "", False)),
        ("a==b", Assignment("a", "=b", False)),
        ("a=b=c", Assignment("a", "b=c", False)),
        ("a:=1", Assignment("a", "1", True)),
        ("a=:=1", Assignment("a", ":=1", False)),
        ("a:b=c", Assignment("a:b", "c", False)),
        ("a::=1", Assignment("a:", "1", True)),
        ("a.b-c d=x", Assignment("a.b-c d", "x", False)),
        ("a=x\ny\n", Assignment("a", "x\ny\n", False)),
        ("a=@file", Assignment("a", "@file", False)),
        (":=1", Assignment(":", "1", False)),
    ]

    assert {text: read_assignment(text) for text, _ in cases} == dict(cases)


def test_text_that_is_not_an_assignment_is_refused() -> None:
    """Ours: exit code 2 says which word was wrong."""
    cases = ["", "a", "=b", "--flag", "a:b"]

    wrong = []
    for text in cases:
        try:
            read_assignment(text)
        except ArgumentSyntaxError as error:
            if not re.search("is not key=value", str(error)):
                wrong.append((text, error))
        else:
            wrong.append((text, None))

    assert not wrong


class TestReadObject:
    """`--args JSON`."""

    def test_an_object_is_read(self) -> None:
        """Ours: the arguments of a call are a JSON object, here in one piece."""
        assert read_object(' {"a": [1, null, 1.5]} ', "--args") == {"a": [1, None, 1.5]}
        assert read_object('\ufeff{"a": 1}', "--args") == {"a": 1}

    def test_another_json_type_is_named_in_the_error(self) -> None:
        """Ours: the commonest slip is to forget the braces."""
        cases = [
            ("[1]", "a list"),
            ("null", "null"),
            ("true", "a boolean"),
            ("1", "a number"),
            ("1.5", "a number"),
            ('"a"', "a string"),
        ]

        wrong = []
        for text, kind in cases:
            try:
                read_object(text, "--args")
            except ArgumentSyntaxError as error:
                if not re.search(f"--args holds {kind}", str(error)):
                    wrong.append((text, kind, error))
            else:
                wrong.append((text, kind, None))

        assert not wrong

    def test_invalid_json_is_refused(self) -> None:
        """RFC 8259: no infinities; and Python's own limits are no crash."""
        cases = [
            "",
            "{",
            "{'a': 1}",
            '{"a": NaN}',
            '{"a": -Infinity}',
            '{"a": 1e999}',
            '{"a": ' + "9" * 5000 + "}",
            "[" * 100_000,
        ]

        wrong = []
        for text in cases:
            try:
                read_object(text, "--args")
            except ArgumentSyntaxError as error:
                if not re.search("--args", str(error)):
                    wrong.append((text, error))
            else:
                wrong.append((text, None))

        assert not wrong

    @pytest.mark.parametrize("text", ['{"a": 1, "b": 2, "a": 1}', '{"b": [{"a": {}, "a": {}}]}'])
    def test_a_key_that_appears_twice_is_named(self, text: str) -> None:
        """Ours: of two values one would be lost without a word."""
        with pytest.raises(ArgumentSyntaxError, match=r"^--args: the key 'a' appears twice in one object$"):
            read_object(text, "--args")

    @pytest.mark.parametrize("text", [r'{"a": "\ud800"}', r'{"a": [{"\udfff": 1}]}'])
    def test_half_of_a_surrogate_pair_is_refused(self, text: str) -> None:
        """Ours: what is typed is what is sent, and it cannot be sent."""
        with pytest.raises(ArgumentSyntaxError, match=r"^--args: half of a surrogate pair"):
            read_object(text, "--args")

    def test_bytes_that_are_not_text_are_refused(self) -> None:
        """Ours: Python reads them as halves of surrogate pairs."""
        with pytest.raises(ArgumentSyntaxError, match=r"^--args: not UTF-8$"):
            read_object('{"a": "\udcff"}', "--args")

    def test_a_surrogate_pair_and_an_escaped_backslash_are_read(self) -> None:
        """RFC 8259, section 7."""
        assert read_object(r'{"a": "\ud83d\ude00 \\ud800"}', "--args") == {"a": "\U0001f600 \\ud800"}


def test_a_number_is_read_exactly() -> None:
    """Ours: what is typed is what is sent."""
    cases = [
        ("3", 3),
        ("+3", 3),
        ("-0", 0),
        ("007", 7),
        (" 3\n", 3),
        ("-3.5", -3.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1E-3", 0.001),
        ("9" * 301, int("9" * 301)),
        ("9" * 4300, int("9" * 4300)),
    ]

    wrong = []
    for text, number in cases:
        found = number_in(text)
        if (found, type(found)) != (number, type(number)):
            wrong.append((text, found))

    assert not wrong


def test_any_other_text_is_not_a_number() -> None:
    """Ours: also what would be infinite, or has more digits than Python reads."""
    cases = [
        *("", " ", ".", "e3", "+", "--3", "3 4", "0x10", "1,5", "3\n4", "true"),
        # What Python reads as well.
        *("\u0663", "1\u0663", "\u0967.\u096b", "\uff13", "1_000", "1_0.5", "nan", "inf", "-Infinity", "1e\u0663"),
        *("1e400", "-1e400", "9" * 4301),
    ]

    wrong = [text for text in cases if number_in(text) is not None]

    assert not wrong


@steady
@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_written_as_json_is_read_back(number: float) -> None:
    """RFC 8259: its numbers are among those that can be typed."""
    found = number_in(json.dumps(number))
    assert (found, type(found)) == (number, type(number))


@steady
@given(st.text(st.characters(categories=["Nd", "Nl", "No", "Zs", "Pc"]), min_size=1))
def test_only_ascii_digits_are_read(text: str) -> None:
    """Ours: the digits of other scripts are text, whatever Python makes of them."""
    found = number_in(text)
    assert found is None or (text.strip().isascii() and math.isfinite(found))


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
