"""The tests' own reading of what a program advises: each form of a hint, and nothing that is not typed."""

from __future__ import annotations

import pytest

from tests.cli.typed_lines import advised, filled, refusal


def test_advised_lines_are_read_from_hints() -> None:
    """Ours: a line that is not recognised here would never be tried by a story."""
    hints: list[tuple[str, str, str]] = [
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
    ]

    for printed, typed, words in hints:
        found = ["|".join(one.words) for one in advised(printed, typed.split())]
        assert found == [words] * bool(words), printed


def test_the_shape_of_a_line_depends_on_its_options_and_not_on_values() -> None:
    """Ours: a line that is tried once for all stories must not hide a different one."""

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


def test_a_line_that_the_program_refuses_is_reported() -> None:
    """Ours: a story fails when a hint advises a command or an option that does not exist."""
    assert refusal(["tools", "x", "--schema"]) == ""
    for words in (["tools", "--nonsense"], ["nonsense"], ["nonsense", "--help"], ["show"]):
        assert refusal(words), words
