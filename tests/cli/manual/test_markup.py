"""The markup of the manual's prose."""

from __future__ import annotations

import pytest

from gaia_mcp.cli.manual.markup import Definition, Heading, Paragraph, Place, Span, Verbatim, parsed, spans


def test_every_kind_of_block_is_read() -> None:
    """Ours: divided by empty lines, those with spaces in them too."""
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


def test_nothing_is_nothing() -> None:
    """Ours: a command need not have any prose."""
    assert parsed("") == parsed("\n\n") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", [Span("plain")]),
        ("", [Span("")]),
        ("`a b` c", [Span("a b", "B"), Span(" c")]),
        ("`mcp_servers.json`", [Span("mcp_servers.json", "B")]),
        ("mcp_servers.json and a_b_c", [Span("mcp_servers.json and a_b_c")]),
        ("_TWO WORDS_ and _X_", [Span("TWO WORDS", "I"), Span(" and "), Span("X", "I")]),
        ("`--args @`_FILE_", [Span("--args @", "B"), Span("FILE", "I")]),
        ("a ` alone, _, and _ b", [Span("a ` alone, _, and _ b")]),
    ],
)
def test_styles_are_read_where_they_are_meant(text: str, expected: list[Span]) -> None:
    """Ours: the names of files keep their underscores."""
    assert spans(text) == expected
