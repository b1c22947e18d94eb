"""The markup that the manual's prose is written in, read into blocks; and blocks as roff, the language of manual pages.

The only place that knows either.

    # HEADING                     ## Smaller heading
    `typed as it is`              _STANDS_FOR_SOMETHING_
    a term                        four spaces: lines kept as they are
    : and its description         @name words: a place that the program fills

Everything else is paragraphs, with empty lines between them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

# Underscores only around a whole word, so that the names of files keep theirs.
_MARKED = re.compile(r"`(?P<typed>[^`]+)`|(?<!\w)_(?P<stands>[^_\s](?:[^_\n]*[^_\s])?)_(?!\w)")
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


class Span(NamedTuple):
    """A piece of text in one style: "" for plain, "B" for literal text, "I" for placeholders."""

    text: str
    style: str = ""


class Heading(NamedTuple):
    """The title of a section, or with `level` 2 of a part of one."""

    text: str
    level: int = 1


class Paragraph(NamedTuple):
    """Running text."""

    spans: list[Span]


class Definition(NamedTuple):
    """A term and its description."""

    term: list[Span]
    text: list[Span]


class Verbatim(NamedTuple):
    """Lines that are not filled."""

    lines: list[str]


class Place(NamedTuple):
    """A place that the program fills, with the words beside its name."""

    name: str
    words: list[str]


Block = Heading | Paragraph | Definition | Verbatim | Place


def parsed(text: str) -> list[Block]:
    """The blocks of `text`."""
    blocks: list[Block] = []
    for part in re.split(r"\n(?:[ \t]*\n)+", text.strip("\n")):
        lines = part.split("\n")
        if part.startswith("    "):
            kept = [line[4:] for line in lines]
            # An empty line within does not end the lines that are kept as they are.
            if blocks and isinstance(blocks[-1], Verbatim):
                blocks[-1] = Verbatim([*blocks[-1].lines, "", *kept])
            else:
                blocks.append(Verbatim(kept))
        elif part.startswith("#"):
            marks, _, title = part.partition(" ")
            blocks.append(Heading(title, len(marks)))
        elif part.startswith("@"):
            name, *words = part[1:].split()
            blocks.append(Place(name, words))
        elif len(lines) > 1 and lines[1].startswith(": "):
            said = " ".join(line.strip() for line in [lines[1][2:], *lines[2:]])
            blocks.append(Definition(spans(lines[0]), spans(said)))
        elif part:
            blocks.append(Paragraph(spans(" ".join(line.strip() for line in lines))))
    return blocks


def spans(text: str) -> list[Span]:
    """A line of text, divided where its style changes."""
    found: list[Span] = []
    end = 0
    for match in _MARKED.finditer(text):
        found += [Span(text[end : match.start()])] if match.start() > end else []
        found.append(Span(match["typed"], "B") if match["typed"] else Span(match["stands"], "I"))
        end = match.end()
    return [*found, Span(text[end:])] if end < len(text) or not found else found


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
