"""The markup that the manual's prose is written in, read into blocks. Knows nothing of roff.

    # HEADING                     ## Smaller heading
    `typed as it is`              _STANDS_FOR_SOMETHING_
    a term                        four spaces: lines kept as they are
    : and its description         @name words: a place that the program fills

Everything else is paragraphs, with empty lines between them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

# Underscores only around a whole word, so that the names of files keep theirs.
_MARKED = re.compile(r"`(?P<typed>[^`]+)`|(?<!\w)_(?P<stands>[^_\s](?:[^_\n]*[^_\s])?)_(?!\w)")


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
