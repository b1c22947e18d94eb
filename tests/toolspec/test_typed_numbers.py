"""Numbers as a person types them."""

from __future__ import annotations

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.toolspec.typed_numbers import number_in
from tests.protocol_support import steady


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
