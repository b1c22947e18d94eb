"""The markup of the manual's prose."""

from __future__ import annotations

from gaia_mcp.cli.manual.markup import Definition, Heading, Paragraph, Place, Span, Verbatim, parsed, spans


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
