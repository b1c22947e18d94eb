"""Numbers as a person types them."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.toolspec.typed_numbers import number_in
from tests.protocol_support import steady


@pytest.mark.parametrize(
    ("text", "number"),
    [
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
    ],
    ids=lambda value: str(value)[:20] if isinstance(value, str) else "",
)
def test_a_number_is_read_exactly(text: str, number: Any) -> None:
    """Ours: what is typed is what is sent."""
    found = number_in(text)
    assert (found, type(found)) == (number, type(number))


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", ".", "e3", "+", "--3", "3 4", "0x10", "1,5", "3\n4", "true"),
        # What Python reads as well.
        *("\u0663", "1\u0663", "\u0967.\u096b", "\uff13", "1_000", "1_0.5", "nan", "inf", "-Infinity", "1e\u0663"),
        *("1e400", "-1e400", "9" * 4301),
    ],
    ids=lambda text: text[:20],
)
def test_any_other_text_is_no_number(text: str) -> None:
    """Ours: also what would be infinite, or has more digits than Python reads."""
    assert number_in(text) is None


@steady
@given(st.integers() | st.floats(allow_nan=False, allow_infinity=False))
def test_whatever_json_writes_is_read_as_the_same(number: float) -> None:
    """Ours."""
    found = number_in(json.dumps(number))
    assert (found, type(found)) == (number, type(number))


@steady
@given(st.text(st.characters(categories=["Nd", "Nl", "No", "Zs", "Pc"]), min_size=1))
def test_only_the_digits_of_ascii_count(text: str) -> None:
    """Ours: the digits of other scripts are text, whatever Python makes of them."""
    found = number_in(text)
    assert found is None or (text.strip().isascii() and math.isfinite(found))
