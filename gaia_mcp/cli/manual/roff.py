"""Blocks as roff, the language of manual pages. The only place that knows it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gaia_mcp.cli.manual.markup import Block, Definition, Heading, Paragraph, Place, Span, Verbatim

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

# What has another meaning to roff, and what it would show as a typographer's sign rather than as the one on the keys.
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
    """What stands at the head and foot of every sheet."""

    name: str
    section: int
    source: str
    volume: str


def page(title: Title, blocks: Sequence[Block]) -> str:
    """A whole manual page. Raises `ValueError` for a place that nobody has filled."""
    # Ragged and without hyphenation: what is typed has to be readable, and found by searching.
    head = [
        r".\" Made by `gaia mcp generate`: change the commands or the prose, not this file.",
        f'.TH {_quoted(title.name)} {title.section} "" {_quoted(title.source)} {_quoted(title.volume)}',
        ".nr HY 0",
        ".hy 0",
        ".ad l",
    ]
    return "\n".join([*head, *_lines(blocks)]) + "\n"


def link(target: str) -> str:
    """A page that is another one under a further name; `target` as seen from the manual's folder."""
    return f".so {target}\n"


def escaped(text: str) -> str:
    """`text` so that roff shows just that."""
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
    """A line that is not taken for a request, nor for the break that an empty or indented one makes."""
    return rf"\&{line}" if line.startswith((".", " ")) or not line else line


def _quoted(text: str) -> str:
    return f'"{escaped(text)}"'
