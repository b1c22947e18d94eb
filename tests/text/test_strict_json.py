"""Strict JSON: what is refused and where, the canonical form, escapes."""

from __future__ import annotations

import json
import math
import re
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.text.strict_json import (
    DepthError,
    JSONTextError,
    Repeated,
    RepeatedKeyError,
    TextProblemError,
    canonical,
    canonical_text,
    escaped,
    is_same,
    kind_of,
    paired,
    parse_json,
    place_in,
    repeated_key,
    with_pairs,
)
from tests.protocol_support import steady

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


class TestParsing:
    """RFC 8259, and nothing that Python adds to it."""

    @steady
    @given(JSON)
    def test_valid_json_is_parsed(self, value: Any) -> None:
        """RFC 8259."""
        assert parse_json(json.dumps(value)) == value
        assert parse_json(json.dumps(value), unique_keys=True) == value

    def test_a_syntax_error_has_line_and_column(self) -> None:
        """Ours: a person looks for it in an editor, which counts from 1."""
        cases = [
            ("", "Expecting value", (1, 1)),
            ('{"a": tru}', "Expecting value", (1, 7)),
            ('{\n "a": 1,\n "b" 2}', "Expecting ':' delimiter", (3, 6)),
            ("{} {}", "Extra data", (1, 4)),
        ]

        wrong = []
        for text, problem, place in cases:
            try:
                parse_json(text)
            except JSONTextError as error:
                if not (
                    (error.problem, str(error)) == (problem, problem)
                    and (error.line, error.column) == place
                    and place_in(text, error.at) == place
                ):
                    wrong.append((text, problem, place, error))
            else:
                wrong.append((text, problem, place, None))

        assert not wrong

    def test_nan_and_infinity_are_refused(self) -> None:
        """RFC 8259, section 6: such a value could not be written again."""
        cases = ["NaN", "Infinity", "-Infinity", "1e999", "-1e999"]

        wrong = []
        for number in cases:
            try:
                parse_json(f'{{"a": [{number}]}}')
            except JSONTextError as error:
                if not (
                    re.search(f"^{number} is not a number in JSON$", str(error))
                    and (error.at, error.line, error.column) == (-1, 0, 0)
                ):
                    wrong.append((number, error))
            else:
                wrong.append((number, None))

        assert not wrong

    def test_an_integer_beyond_the_limit_of_python_is_refused(self) -> None:
        """Ours: Python's limit on digits is not a crash."""
        with pytest.raises(JSONTextError, match="digits"):
            parse_json("9" * 5000)

    @pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000], ids=["lists", "objects"])
    def test_text_that_is_nested_too_deeply_is_refused(self, text: str) -> None:
        """Ours: Python's limit on recursion is not a crash."""
        with pytest.raises(DepthError, match="is nested too deeply"):
            parse_json(text)

    @pytest.mark.parametrize("text", ['{"b": 1, "a": 2, "a": 3}', '[{"x": {"a": 1, "a": 1}}]'])
    def test_a_repeated_key_is_refused_on_request(self, text: str) -> None:
        """Ours: in a file of a person's one of the two would be lost."""
        with pytest.raises(RepeatedKeyError, match="has the key 'a' twice in one object") as caught:
            parse_json(text, unique_keys=True)
        assert caught.value.key == "a"
        parse_json(text)


class TestCanonicalForm:
    """What hashes and comparisons are made of."""

    @steady
    @given(JSON)
    def test_a_canonical_value_stays_as_it_is(self, value: Any) -> None:
        """Ours: a hash of a hash's source must not change."""
        once = canonical(value)
        assert canonical_text(canonical(once)) == canonical_text(once)
        assert canonical_text(once).isascii()

    def test_key_order_and_a_zero_fraction_do_not_matter(self) -> None:
        """JSON: an object has no order, and 1.0 is 1."""
        assert canonical_text(canonical({"b": 1.0, "a": [-0.0, 1e3, 0.5]})) == '{"a":[0,1000,0.5],"b":1}'

    def test_a_value_that_is_not_json_is_refused(self) -> None:
        """RFC 8259: a text that only Python reads back would be no canonical form."""
        accepted = []
        for value in (math.nan, [math.inf], {"a": {1, 2}}, object()):
            for write in (canonical, canonical_text):
                with suppress(TypeError, ValueError):
                    write(value)
                    accepted.append((write, value))

        assert not accepted

    def test_values_are_compared_as_json(self) -> None:
        """JSON: a boolean is not a number, though Python's `True` equals 1."""
        cases = [
            ({"a": 1, "b": [None]}, {"b": [None], "a": 1}, True),
            (True, 1, False),
            ([0], [False], False),
            (1, 1.5, False),
            ([1, 2.0], [1.0, 2], True),
            ([math.nan], [math.nan], True),
            ("1", 1, False),
        ]

        wrong = [
            (one, other, same) for one, other, same in cases if not (is_same(one, other) is same and is_same(one, one))
        ]

        assert not wrong


@steady
@given(st.text())
def test_escapes_do_not_change_the_value(text: str) -> None:
    """JSON: `\\u0061` is `a`."""
    written = json.dumps(text, ensure_ascii=False)
    safe = escaped(written, re.compile("[\x7f-\U0010ffff]"))
    assert safe.isascii()
    assert json.loads(safe) == text


class TestHalvesOfSurrogatePairs:
    """RFC 8259, section 8.2: what a reader makes of one cannot be foretold. Ours: none is written."""

    # What resembles one, and what makes it look like something else.
    PIECES = st.sampled_from(
        ["\ud800", "\udbff", "\udc00", "\udfff", "\\", "ud800", "\\udc00", "\U0001f600", '"', "x", "\n"]
    )

    @steady
    @given(st.lists(PIECES | st.text(), max_size=8).map("".join))
    def test_a_lone_surrogate_becomes_the_replacement_character(self, text: str) -> None:
        """Unicode, U+FFFD: it stands for what cannot be represented."""
        mended = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")

        assert json.loads(paired(json.dumps({text: [text, {"a": text}]}))) == {mended: [mended, {"a": mended}]}

    def test_any_other_text_stays_as_it_is(self) -> None:
        """RFC 8259: a whole pair is one character, and an escaped backslash begins no escape."""
        cases = ["", "a\n", "\U0001f600", "\\\U0001f600", r"\ud800"]

        wrong = []
        for text in cases:
            written = json.dumps(text)
            if paired(written) != written:
                wrong.append(text)

        assert not wrong

    def test_many_lone_surrogates_are_replaced(self) -> None:
        """Ours: one expression replaces all of them, however many."""
        assert paired(json.dumps("\ud800" * 20_000)) == json.dumps("\ufffd" * 20_000)


def test_every_kind_of_value_has_a_name() -> None:
    """Ours: for sentences such as "holds a list, not an object"."""
    cases = [
        (None, "null"),
        (False, "a boolean"),
        (1, "a number"),
        (1.5, "a number"),
        ("", "a string"),
        ([], "a list"),
        ({}, "an object"),
    ]

    wrong = [(value, found) for value, kind in cases if (found := kind_of(value)) != kind]

    assert not wrong


def test_the_first_repeated_key_is_found() -> None:
    """Ours: the error about an object names one key."""
    assert repeated_key([("a", 1), ("b", 2), ("b", 3), ("a", 4)]) == "b"
    assert repeated_key([("a", 1), ("b", 2)]) is None


def test_an_object_with_a_repeated_key_knows_it() -> None:
    """Ours: which of the two values a host uses is unknown, so that such a file is not changed."""
    once, twice = with_pairs([("a", 1), ("b", 2)]), with_pairs([("a", 1), ("b", 2), ("a", 3)])

    assert (once, type(once)) == ({"a": 1, "b": 2}, dict)
    assert isinstance(twice, Repeated)
    assert (twice, twice.key) == ({"a": 3, "b": 2}, "a")


def test_a_problem_of_a_text_gets_its_line_and_column() -> None:
    """Ours: a person looks for it in an editor; a problem that has its place already keeps it."""
    placed = TextProblemError("is wrong", at=5).placed("a\nbc\ndef")
    assert (placed.problem, placed.line, placed.column) == ("is wrong", 3, 1)
    known = TextProblemError("is wrong", line=7, column=8)
    assert known.placed("a\nb") is known
