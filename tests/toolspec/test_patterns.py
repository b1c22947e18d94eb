"""The work of a schema's regular expressions."""

from __future__ import annotations

from gaia_mcp.toolspec.patterns import MAX_STATES, backtracks, states_of


def test_a_repetition_multiplies_the_states() -> None:
    """Ours: what is written once in a pattern is there as often as it may be repeated."""
    cases = [
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
    ]

    wrong = [(pattern, states) for pattern, states in cases if not states <= states_of(pattern) <= states + 2]

    assert not wrong


def test_a_class_has_as_many_states_as_it_may_have_ranges() -> None:
    """Ours: a class is compiled into its ranges, and that of all letters has hundreds."""
    assert 0 < states_of("[0-9a-f]{8}") <= 64
    assert states_of(r"\p{L}{8}") > 1000


def test_a_pattern_that_needs_backtracking_is_recognised() -> None:
    """Ours: the validator has a second engine for these."""
    cases = ["(?=a)b", "(?!a)b", "(?<=a)b", "(?<!a)b", r"(a)\1", r"(?<n>a)\k<n>", "(?>a)", "a++", "a{2}+", r"a\Z"]

    wrong = [pattern for pattern in cases if not backtracks(pattern)]

    assert not wrong


def test_a_pattern_that_is_matched_in_one_pass_is_recognised() -> None:
    """Ours: these take linear time, however they are nested."""
    cases = ["(a+)+$", "(?:a|b)*c", "(?i)a", "(?i:a)", r"\d+\.\d*", "a+b?", "[+]+"]

    wrong = [pattern for pattern in cases if backtracks(pattern)]

    assert not wrong
