"""The tests' own reading of what a program advises: each form of a hint, and nothing that is not typed."""

from __future__ import annotations

import pytest

from tests.cli.typed_lines import advised, filled, refusal


@pytest.mark.parametrize(
    ("printed", "typed", "words"),
    [
        ("hint: see: gaia mcp tools 'my x'", "", "tools|my x"),
        ("note: no servers yet; add one with: /a/python -m gaia_mcp add NAME -- COMMAND", "", "add|NAME|--|COMMAND"),
        ("hint: allow more time with --timeout SECONDS", "call x y -- z", "call|x|y|--timeout|SECONDS|--|z"),
        ("hint: write --header 'Name: value'", "add x", ""),
        ("hint: choose it with --header 'Name: value'", "add x", "add|x|--header|Name: value"),
        ("hint: leave --args out", "call x y --args {}", "call|x|y"),
        ("hint: for all of it leave out --max-chars", "call x y --max-chars 1 z", "call|x|y|z"),
        ("hint: leave --args out", "call x y", ""),
        ("error: server 'x' has no tool 'b'\nhint: did you mean 'a'?", "call x b", "call|x|a"),
        ("error: no such option: --b, and more\nhint: did you mean '--a'?", "call x --b", "call|x|--a"),
        ("error: no server 'b' in x\nhint: did you mean 'a'?", "call b.tool", ""),
        ("hint: check its permissions", "list", ""),
        ("an answer: gaia mcp list", "list", ""),
    ],
)
def test_a_hint_is_read_as_what_to_type(printed: str, typed: str, words: str) -> None:
    """Ours."""
    assert ["|".join(one.words) for one in advised(printed, typed.split())] == [words] * bool(words)


def test_values_make_no_new_shape_and_options_do() -> None:
    """Ours: what is typed once for all stories must not hide another line."""

    def shape(printed: str) -> tuple[str, ...]:
        (found,) = advised(f"hint: {printed}")
        return found.shape

    assert shape("'a' is odd; see: gaia mcp tools a") == shape("'b/c' is odd; see: gaia mcp tools 'b c'")
    different = [
        "see: gaia mcp tools a",
        "see: gaia mcp tools a --schema",
        "see: gaia mcp show a",
        "x: gaia mcp show a",
    ]
    assert len({shape(each) for each in different}) == len(different)


def test_every_placeholder_is_filled_in_or_reported() -> None:
    """Ours: a hint with a new one fails the story that prints it."""
    assert filled(["add", "NAME", "--env", "TOKEN", "--", "COMMAND"], ["its"]) == [
        *("add", "a-name", "--env", "TOKEN", "--"),
        *("gaia", "mcp", "serve", "demo"),
    ]
    assert filled(["show", "NAME"], ["its"]) == ["show", "its"]
    assert filled(["edit", "x", "--env", "A=VALUE"], []) == ["edit", "x", "--env", "A=1"]
    for word in ("THING", "THING...", "a…b"):
        with pytest.raises(AssertionError, match="no test types anything"):
            filled(["show", word], [])


def test_a_line_that_the_program_does_not_take_is_noticed() -> None:
    """Ours."""
    assert refusal(["tools", "x", "--schema"]) == ""
    for words in (["tools", "--nonsense"], ["nonsense"], ["nonsense", "--help"], ["show"]):
        assert refusal(words), words
