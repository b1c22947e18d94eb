"""Blocks as roff, the language of manual pages. The only place that knows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gaia_mcp.cli.manual.markup import Block, Definition, Heading, Paragraph, Place, Span, Verbatim

# Characters with a meaning in roff, and those that it would replace by typographic ones.
_ESCAPES = {
    "\\": r"\e",
    "-": r"\-",
    "'": r"\(aq",
    '"': r"\(dq",
    "`": r"\(ga",
    "^": r"\(ha",
    "~": r"\(ti",
    "\t": "    ",
    "\xa0": r"\ ",
    # Every terminal has these.
    "…": "...",
}


class Title(NamedTuple):
    """The texts in the header and the footer of a page."""

    name: str
    section: int
    source: str
    volume: str


def page(title: Title, blocks: Sequence[Block]) -> str:
    """A whole manual page. Raises `ValueError` for a place that was not filled."""
    # Ragged and without hyphenation, so that commands stay readable and can be found by searching.
    head = [
        r".\" Made by `gaia mcp generate`: change the commands or the prose, not this file.",
        f'.TH {_quoted(title.name)} {title.section} "" {_quoted(title.source)} {_quoted(title.volume)}',
        ".nr HY 0",
        ".hy 0",
        ".ad l",
    ]
    return "\n".join([*head, *_lines(blocks)]) + "\n"


def link(target: str) -> str:
    """A page that is another name of the page `target`, a path from the manual's folder."""
    return f".so {target}\n"


def escaped(text: str) -> str:
    """`text` with escapes, so that roff prints exactly that."""
    return "".join(_ESCAPES.get(sign) or (sign if sign.isascii() else rf"\[u{ord(sign):04X}]") for sign in text)


def _lines(blocks: Sequence[Block]) -> Iterator[str]:
    after_heading = False
    for block in blocks:
        match block:
            case Heading(text, level):
                yield f"{'.SH' if level == 1 else '.SS'} {_quoted(text)}"
            case Paragraph(spans):
                if not after_heading:
                    yield ".PP"
                yield _running(spans)
            case Definition(term, text):
                yield ".TP"
                yield _running(term)
                yield _running(text)
            case Verbatim(lines):
                yield from (".PP", ".RS 4", ".EX") if not after_heading else (".RS 4", ".EX")
                yield from (_safe(escaped(line)) for line in lines)
                yield from (".EE", ".RE")
            case Place(name):
                raise ValueError(f"nothing fills @{name}")
        after_heading = isinstance(block, Heading)


def _running(spans: Sequence[Span]) -> str:
    text = "".join(rf"\f{span.style}{escaped(span.text)}\fR" if span.style else escaped(span.text) for span in spans)
    return _safe(text.strip())


def _safe(line: str) -> str:
    """A line that roff takes neither for a request nor, if empty or indented, for a break."""
    return rf"\&{line}" if line.startswith((".", " ")) or not line else line


def _quoted(text: str) -> str:
    return f'"{escaped(text)}"'
