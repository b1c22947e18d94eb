"""Arguments as they are typed in a shell."""

from __future__ import annotations

import json
import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.toolspec.assignments import ArgumentSyntaxError, Assignment, number_in, read_assignment, read_object
from tests.protocol_support import steady


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
