"""The work of a schema's regular expressions."""

from __future__ import annotations

import pytest

from gaia_mcp.toolspec.patterns import MAX_STATES, backtracks, states_of


@pytest.mark.parametrize(
    ("pattern", "states"),
    [
        ("", 0),
        ("abc", 3),
        ("a{5}", 5),
        ("a{2,5}", 5),
        ("a{5,}", 5),
        ("(ab){5}c{3}", 13),
        ("((a{10}){10}){10}", 1000),
        ("a{0}", 1),
        (r"\{5}", 3),
        ("{5}", 0),
        ("a{99999999999}", MAX_STATES),
        ("(((((a{99999}){99999}){99999}", MAX_STATES),
        ("(a", 1),
        ("a)b", 2),
    ],
)
def test_states_are_those_of_what_is_repeated_times_its_number(pattern: str, states: int) -> None:
    """Ours: what is written once in a pattern is there as often as it may be repeated."""
    assert states <= states_of(pattern) <= states + 2


def test_a_class_has_as_many_states_as_it_may_have_ranges() -> None:
    """Ours."""
    assert 0 < states_of("[0-9a-f]{8}") <= 64
    assert states_of(r"\p{L}{8}") > 1000


@pytest.mark.parametrize(
    "pattern", ["(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b", r"(a)\1", r"(?<n>a)\k<n>", "(?>a)", "a++", "a{2}+", r"a\Z"]
)
def test_what_may_go_back_is_known(pattern: str) -> None:
    """Ours: the validator has a second engine for these."""
    assert backtracks(pattern)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(?:a|b)*c", "(?i)a", "(?i:a)", r"\d+\.\d*", "a+b?", "[+]+"])
def test_what_is_matched_in_one_pass_is_known(pattern: str) -> None:
    """Ours."""
    assert not backtracks(pattern)
