"""Words as a shell reads and writes them."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.cli.completion.shell_words import Line, quoted, read_line


@pytest.mark.parametrize(
    ("text", "words", "quote"),
    [
        ("", [""], ""),
        ("gaia", ["gaia"], ""),
        ("gaia ", ["gaia", ""], ""),
        ("gaia  mcp\tca", ["gaia", "mcp", "ca"], ""),
        ("a b\\ c", ["a", "b c"], ""),
        ("a 'b c", ["a", "b c"], "'"),
        ("a 'b\\c' d", ["a", "b\\c", "d"], ""),
        ('a "b \\" \\n c', ["a", 'b " \\n c'], '"'),
        ('a ""', ["a", ""], ""),
        ('a "" ', ["a", "", ""], ""),
        ("a b=\"c d\"'e f'", ["a", "b=c de f"], ""),
        ("a b\\", ["a", "b"], ""),
        ("ä \U0001f600 ש", ["ä", "\U0001f600", "ש"], ""),
    ],
)
def test_a_line_is_read_as_far_as_it_goes(text: str, words: list[str], quote: str) -> None:
    """Shells: quotes and backslashes; the last word is whatever has been begun."""
    assert read_line(text) == Line(words, quote)


@pytest.mark.parametrize(
    ("text", "words", "is_file"),
    [
        ("a >", ["a", ""], True),
        ("a > fi", ["a", "fi"], True),
        ("a >> fi", ["a", "fi"], True),
        ("a 2>fi", ["a", "fi"], True),
        ("a > file b", ["a", "b"], False),
        ("a <file b ", ["a", "b", ""], False),
        ("a 2>&1 b", ["a", "b"], False),
        ("a b>file c", ["a", "b", "c"], False),
        ("a '>' b", ["a", ">", "b"], False),
    ],
)
def test_redirections_are_not_words(text: str, words: list[str], is_file: bool) -> None:
    """Shells: the file that one names is none either."""
    read = read_line(text)

    assert (read.words, read.is_file) == (words, is_file)


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)


@given(WORDS)
def test_what_is_quoted_is_read_again(text: str) -> None:
    """Ours."""
    for quote in ("", "'", '"'):
        read = read_line(f"a {quote}{quoted(text, quote)}{quote}" if quote else f"a {quoted(text)}")
        assert read.words[-1] == text


@pytest.mark.parametrize(
    "text", ["a b", "it's", 'say "x"', "$HOME", "`id`", "a;b|c&d", "*?[x]", "~", "#", "{a,b}", "ä\\", "!x"]
)
@pytest.mark.story
def test_bash_reads_what_is_quoted(text: str) -> None:
    """Ours: the real shell agrees."""
    for quote in ("", "'", '"'):
        ran = subprocess.run(
            ["bash", "-c", f"printf %s {quote}{quoted(text, quote)}{quote}"], capture_output=True, check=True
        )
        assert ran.stdout.decode() == text
