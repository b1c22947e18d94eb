"""What a terminal can do, and what fits on it.

The environment is read; the terminal itself is never asked, since its answer would arrive like typed input. In a pipe
nothing is cut.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TextIO

# For a terminal that does not know how large it is.
USUAL_COLUMNS, USUAL_LINES = 80, 24
# Between two columns, and before the rest of a line that is broken.
GAP_CELLS, INDENT_CELLS = 2, 4


def on_terminal(stream: TextIO) -> bool:
    """Whether a person reads `stream` as it is written."""
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def width_of(stream: TextIO) -> int:
    """How many columns the terminal of `stream` has."""
    return _told("COLUMNS") or _asked(stream)[0] or USUAL_COLUMNS


def height_of(stream: TextIO) -> int:
    """How many lines it has."""
    return _told("LINES") or _asked(stream)[1] or USUAL_LINES


def can_redraw(stream: TextIO) -> bool:
    """Whether a line on `stream` can be replaced by another."""
    unknown = "dumb" if os.name == "posix" else ""
    return on_terminal(stream) and os.environ.get("TERM", unknown) not in ("", "dumb", "unknown")


def has_colours() -> bool:
    """Whether the answer may be coloured."""
    return not os.environ.get("NO_COLOR") and can_redraw(sys.stdout)


def columns(rows: Sequence[Sequence[str]], *, names: int = 1) -> list[str]:
    """`rows` in columns, on a terminal cut to its width, but for the first `names` of them: those are the point."""
    if not rows:
        return []
    widths = [max(cell_width(row[column]) for row in rows) for column in range(len(rows[0]))]
    if on_terminal(sys.stdout):
        # One long name must not push the other columns away.
        widths = [min(width, width_of(sys.stdout) // (2 * names)) for width in widths[:names]] + widths[names:]
    padded = [
        [cell + " " * (max(width - cell_width(cell), 0) + GAP_CELLS) for cell, width in zip(row, widths, strict=True)]
        for row in rows
    ]
    return [fitted("".join(cells).rstrip(), "".join(cells[:names]).rstrip()) for cells in padded]


def fitted(line: str, name: str = "", *, margin: int = 0) -> str:
    """`line`, on a terminal cut to its width less `margin`, but for the `name` with which it begins."""
    if not on_terminal(sys.stdout):
        return line
    room = width_of(sys.stdout) - margin
    if cell_width(line) <= room:
        return line
    # A space at the cut is not needed.
    return f"{cells_cut(line, room - 1).rstrip()}…" if cell_width(name) < room - 1 else name


def folded(line: str, *, margin: int = 0) -> list[str]:
    """`line`, on a terminal broken after commas where it is wider than that less `margin`."""
    if not on_terminal(sys.stdout) or cell_width(line) <= (room := width_of(sys.stdout) - margin):
        return [line]
    first, *rest = line.split(", ")
    lines = [first]
    for part in rest:
        if cell_width(f"{lines[-1]}, {part}") < room:
            lines[-1] += f", {part}"
        else:
            lines[-1] += ","
            lines.append(" " * INDENT_CELLS + part)
    return lines


def cell_width(text: str) -> int:
    """How many columns of a terminal `text` takes."""
    if text.isascii():
        return len(text)
    # Only now: `list` is to start as fast as it can.
    from rich.cells import cell_len

    return cell_len(text)


def fits(text: str, width: int) -> bool:
    """Whether `text` takes no more than `width` columns."""
    # Of a long text the beginning tells, such as one that was cut before and ends in `…`.
    return len(text) <= width if text[: width + 1].isascii() else cell_width(text) <= width


def cells_cut(text: str, width: int) -> str:
    """The beginning of `text`, no wider than `width`."""
    width = max(width, 0)
    if text[:width].isascii():
        return text[:width]
    from rich.cells import set_cell_size

    return text if fits(text, width) else set_cell_size(text, width)


def _told(variable: str) -> int:
    value = os.environ.get(variable, "")
    return int(value) if value.isdecimal() else 0


def _asked(stream: TextIO) -> tuple[int, int]:
    try:
        columns, lines = os.get_terminal_size(stream.fileno())
    except (OSError, ValueError):
        return 0, 0
    return columns, lines
