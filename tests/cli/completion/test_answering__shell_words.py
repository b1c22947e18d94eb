"""Words as a shell reads and writes them."""

from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gaia_mcp.cli.completion.answering import Line, quoted, read_line


def test_an_incomplete_line_is_split_into_words() -> None:
    """Shells: quotes and backslashes; the last word is the one being typed."""
    lines: list[tuple[str, list[str], str]] = [
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
    ]

    assert {text: read_line(text) for text, _, _ in lines} == {text: Line(words, quote) for text, words, quote in lines}


def test_redirections_are_not_words() -> None:
    """Shells: nor is the file that a redirection names."""
    lines: list[tuple[str, list[str], bool]] = [
        ("a >", ["a", ""], True),
        ("a > fi", ["a", "fi"], True),
        ("a >> fi", ["a", "fi"], True),
        ("a 2>fi", ["a", "fi"], True),
        ("a > file b", ["a", "b"], False),
        ("a <file b ", ["a", "b", ""], False),
        ("a 2>&1 b", ["a", "b"], False),
        ("a b>file c", ["a", "b", "c"], False),
        ("a '>' b", ["a", ">", "b"], False),
    ]

    assert [(text, (read := read_line(text)).words, read.is_file) for text, _, _ in lines] == lines


WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20)


@given(WORDS)
def test_a_quoted_word_is_read_back(text: str) -> None:
    """Ours: a completed word must reach the program unchanged."""
    for quote in ("", "'", '"'):
        read = read_line(f"a {quote}{quoted(text, quote)}{quote}" if quote else f"a {quoted(text)}")
        assert read.words[-1] == text


@pytest.mark.story
def test_bash_unquotes_quoted_words() -> None:
    """Bash: its own reading decides whether a word is quoted correctly."""
    texts = ["a b", "it's", 'say "x"', "$HOME", "`id`", "a;b|c&d", "*?[x]", "~", "#", "{a,b}", "ä\\", "!x"]
    words = [(text, quote) for text in texts for quote in ("", "'", '"')]

    script = "".join(f"printf '%s\\n' {quote}{quoted(text, quote)}{quote}\n" for text, quote in words)
    ran = subprocess.run(["bash", "-c", script], capture_output=True, check=True)

    read = ran.stdout.decode().splitlines()
    assert [(text, quote, one) for (text, quote), one in zip(words, read, strict=True) if one != text] == []
