"""The markup of the manual's prose."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gaia_mcp.cli.manual import (
    Block,
    Definition,
    Heading,
    Paragraph,
    Place,
    Span,
    Title,
    Verbatim,
    escaped,
    link,
    page,
    parsed,
    spans,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Shown = Callable[[list[Block]], list[str]]


def test_every_kind_of_block_is_parsed() -> None:
    """Ours: blocks are separated by blank lines, also ones with spaces."""
    text = """
# TITLE

## Part of it

Two lines
of text.

`--x` _Y_
: What is said,
in two lines.
   \t
    kept as

    it  is

@place one two
"""

    assert parsed(text) == [
        Heading("TITLE"),
        Heading("Part of it", 2),
        Paragraph([Span("Two lines of text.")]),
        Definition([Span("--x", "B"), Span(" "), Span("Y", "I")], [Span("What is said, in two lines.")]),
        Verbatim(["kept as", "", "it  is"]),
        Place("place", ["one", "two"]),
    ]


def test_empty_text_has_no_blocks() -> None:
    """Ours: a command need not have any prose."""
    assert parsed("") == parsed("\n\n") == []


def test_styles_are_parsed() -> None:
    """Ours: the names of files keep their underscores."""
    expected = {
        "plain": [Span("plain")],
        "": [Span("")],
        "`a b` c": [Span("a b", "B"), Span(" c")],
        "`mcp_servers.json`": [Span("mcp_servers.json", "B")],
        "mcp_servers.json and a_b_c": [Span("mcp_servers.json and a_b_c")],
        "_TWO WORDS_ and _X_": [Span("TWO WORDS", "I"), Span(" and "), Span("X", "I")],
        "`--args @`_FILE_": [Span("--args @", "B"), Span("FILE", "I")],
        "a ` alone, _, and _ b": [Span("a ` alone, _, and _ b")],
    }

    assert {text: spans(text) for text in expected} == expected


TITLE = Title("NAME", 1, "program 1.0", "Commands")

# Letters of many scripts, and all that could mean something to roff. Terminals show others in ways of their own.
TEXT = st.text(st.sampled_from("abcXYZ 019.'\"\\-`^~%&@#$*()[]{}<>|/_:;,=+!?éüñßøŁ…"), min_size=1, max_size=60)


@pytest.fixture(scope="module")
def shown(groff: str) -> Shown:
    """Shows the lines of a page between its head and foot, without indentation. Fails at a warning."""

    def run(blocks: list[Block]) -> list[str]:
        text = page(TITLE, blocks).encode()
        command = [groff, "-ww", "-man", "-Tutf8", "-P-c", "-P-b", "-P-u", "-rLL=200n"]
        ran = subprocess.run(command, input=text, capture_output=True, check=True)
        assert ran.stderr == b""
        lines = [line.strip() for line in ran.stdout.decode().splitlines()]
        return [line for line in lines if line][1:-1]

    return run


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(TEXT.map(str.strip).filter(bool), min_size=1, max_size=8))
def test_any_text_is_shown_unchanged(shown: Shown, texts: list[str]) -> None:
    """Ours: requests, escapes and typographers' signs included."""
    expected = [text.replace("…", "...") for text in texts]

    assert [" ".join(line.split()) for line in shown([Paragraph([Span(text)]) for text in texts])] == [
        " ".join(text.split()) for text in expected
    ]
    assert shown([Verbatim([text]) for text in texts]) == expected


def test_every_block_is_shown(shown: Shown) -> None:
    """Ours: a block that roff drops would be missing from the page without an error."""
    blocks = [
        Heading("FIRST"),
        Paragraph([Span("Text "), Span("-x", "B"), Span(".")]),
        Heading('a "part"', 2),
        Verbatim([".dot", "", "  more"]),
        Definition([Span("term", "I")], [Span("'said'")]),
    ]

    assert shown(blocks) == ["FIRST", "Text -x.", 'a "part"', ".dot", "more", "term   'said'"]


def test_an_option_and_its_value_stay_on_one_line() -> None:
    """Ours: a line break between them would be read as two arguments."""
    assert escaped("--x\xa0Y") == r"\-\-x\ Y"


def test_nothing_is_hyphenated(shown: Shown) -> None:
    """Ours: a word that is searched for is found."""
    words = "understandable incomprehensibilities " * 40

    assert not [line for line in shown([Heading("X"), Paragraph([Span(words)])]) if line.endswith(("-", "‐"))]


def test_an_unfilled_place_is_an_error() -> None:
    """Ours: otherwise the page would lack a section."""
    with pytest.raises(ValueError, match="@commands"):
        page(TITLE, [Place("commands", [])])


def test_a_link_page_includes_the_page() -> None:
    """man: `.so` includes another page, so that `man gmcp` finds it."""
    assert link("man1/x.1") == ".so man1/x.1\n"
