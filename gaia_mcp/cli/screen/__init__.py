"""The output for a person: results, remarks, tables, colours, images, and progress.

What a terminal can show is here, and text that fits on it: cut, wrapped, or as rows in columns. Only the environment
and the system are consulted; the terminal itself is never queried, because its response would arrive like typed input.
In a pipe nothing is cut; on a terminal the important columns get its width. Loaded at every TAB: annotations are
evaluated, as in `cli/grammar`.
"""

import os
import re
import sys
from collections.abc import Sequence
from typing import NamedTuple, TextIO

# For a terminal of unknown size.
USUAL_COLUMNS, USUAL_LINES = 80, 24
# The gap between two columns, and the indentation of continuation lines.
GAP_CELLS, INDENT_CELLS = 2, 4
# On a wider terminal its own wrapping is readable enough, and leaves lines whole for copying.
NARROW_COLUMNS = 60
# A narrower last column, which is cut to the remaining width, would be useless.
LEAST_CELLS = 12


def on_terminal(stream: TextIO) -> bool:
    """Whether `stream` is a terminal."""
    try:
        return stream.isatty()
    except ValueError:  # closed
        return False


def width_of(stream: TextIO) -> int:
    """The number of columns of the terminal of `stream`."""
    return _told("COLUMNS") or _asked(stream)[0] or USUAL_COLUMNS


def height_of(stream: TextIO) -> int:
    """The number of lines of the terminal of `stream`."""
    return _told("LINES") or _asked(stream)[1] or USUAL_LINES


def can_redraw(stream: TextIO) -> bool:
    """Whether a line on `stream` can be overwritten."""
    unknown = "dumb" if os.name == "posix" else ""
    return on_terminal(stream) and os.environ.get("TERM", unknown) not in ("", "dumb", "unknown")


def has_colours() -> bool:
    """Whether the result may be coloured."""
    return not os.environ.get("NO_COLOR") and can_redraw(sys.stdout)


def fitted(line: str, name: str = "", *, margin: int = 0) -> str:
    """`line`, on a terminal cut to its width less `margin`. The leading `name` is never cut."""
    if not on_terminal(sys.stdout):
        return line
    room = width_of(sys.stdout) - margin
    if cell_width(line) <= room:
        return line
    # A space before the cut is removed.
    return f"{cells_cut(line, room - 1).rstrip()}…" if cell_width(name) < room - 1 else name


def folded(line: str, *, margin: int = 0) -> list[str]:
    """The signature `line`, on a terminal broken before parameters if it is wider than the terminal less `margin`, and
    between words within a parameter that is too wide.
    """
    if not on_terminal(sys.stdout) or cell_width(line) <= (room := width_of(sys.stdout) - margin):
        return [line]
    indent = INDENT_CELLS // 2 if is_narrow(sys.stdout) else INDENT_CELLS
    name, bracket, parameters = line.partition("(")
    lines = [name + bracket]
    for part in re.split(r"(?<=,) ", parameters):
        joined = lines[-1] + part if len(lines) == 1 and lines[-1].endswith("(") else f"{lines[-1]} {part}"
        if cell_width(joined) <= room or part == ")":
            lines[-1] = joined
        else:
            lines.append(" " * indent + part)
    return [each for begun in lines for each in wrapped(begun, room, indent)]


def wrapped(line: str, width: int, indent: int = 0) -> list[str]:
    """`line` broken at spaces if it is wider than `width`; continuation lines are indented by `indent` more than the
    first. A word is never broken, so that it can be copied.
    """
    begun, *words = re.findall(r"(?<!\s)\s*\S+", line) or [line]
    after = " " * (len(line) - len(line.lstrip()) + indent)
    lines = []
    for word in words:
        if cell_width(begun + word) <= width:
            begun += word
        else:
            lines.append(begun)
            begun = after + word.lstrip()
    return [*lines, begun]


def is_narrow(stream: TextIO) -> bool:
    """Whether `stream` is a terminal so narrow that lines are broken here."""
    return on_terminal(stream) and width_of(stream) < NARROW_COLUMNS


def broken(line: str, stream: TextIO) -> list[str]:
    """`line`, on a narrow terminal broken between words. A command is not broken, so that it can be copied."""
    is_command = line.lstrip().startswith("gaia ") and "  " not in line.lstrip()
    return [line] if is_command or not is_narrow(stream) else wrapped(line, width_of(stream), INDENT_CELLS // 2)


def broken_message(line: str, stream: TextIO) -> list[str]:
    """A line of a message, broken as by `broken`. A command to type, after the last colon, gets its own line and is not
    broken, so that it can be copied.
    """
    before, colon, command = line.rpartition(": gaia ")
    if not (colon and is_narrow(stream)):
        return broken(line, stream)
    return [*broken(f"{before}:", stream), f"gaia {command}"]


def cell_width(text: str) -> int:
    """The number of terminal columns that `text` takes."""
    if text.isascii():
        return len(text)
    # Imported late, so that `list` starts fast.
    from rich.cells import cell_len

    return cell_len(text)


def fits(text: str, width: int) -> bool:
    """Whether `text` takes no more than `width` columns."""
    # If the beginning is ASCII, its length suffices: a longer text does not fit in any case. Some texts end in `…`
    # because they were cut before.
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


class Columns(NamedTuple):
    """The columns of a table by number, and their widths. The first `names` columns are never cut."""

    shown: list[int]
    widths: list[int]
    names: int

    def lines(self, row: Sequence[str]) -> list[str]:
        """A row as one line, or as several if a name leaves too little room for the other columns."""
        padded = [
            row[column] + " " * (max(width - cell_width(row[column]), 0) + GAP_CELLS)
            for column, width in zip(self.shown, self.widths, strict=True)
        ]
        *begun, last = padded[: self.names]
        name, rest = "".join([*begun, last]), "".join(padded[self.names :]).rstrip()
        before = sum(self.widths[: self.names]) + self.names * GAP_CELLS
        if not on_terminal(sys.stdout) or cell_width((name + rest).rstrip()) <= width_of(sys.stdout):
            return [(name + rest).rstrip()]
        if rest and cell_width(name) <= before:
            return [fitted(name + rest, name.rstrip())]
        # Continuation lines are aligned with the name.
        indent = cell_width("".join(begun)) - (len(name) - len(name.lstrip()))
        named = wrapped(name.rstrip(), width_of(sys.stdout), indent)
        return [*named, fitted(" " * before + rest)] if rest else named


def fitting(widths: Sequence[int], names: int, spare: Sequence[int]) -> Columns:
    """Columns of these widths. On a terminal, columns in `spare` are omitted in that order until the last column has
    room.
    """
    shown = list(range(len(widths)))
    for column in spare if on_terminal(sys.stdout) else ():
        *others, last = [widths[each] for each in shown]
        if sum(others) + len(others) * GAP_CELLS + min(last, LEAST_CELLS) <= width_of(sys.stdout):
            break
        shown.remove(column)
    return Columns(shown, [widths[each] for each in shown], names)


def columns(rows: Sequence[Sequence[str]], *, names: int = 1, spare: Sequence[int] = ()) -> list[str]:
    """`rows` in columns, on a terminal cut to its width, except for the first `names` columns, which matter most.

    On a terminal that is too narrow, columns in `spare` are omitted, in that order.
    """
    if not rows:
        return []
    widths = [max(cell_width(row[column]) for row in rows) for column in range(len(rows[0]))]
    if on_terminal(sys.stdout):
        # One long name must not push the other columns off the screen.
        most = width_of(sys.stdout) // (2 * names)
        for column in range(names):
            widths[column] = max((width for row in rows if (width := cell_width(row[column])) <= most), default=most)
    table = fitting(widths, names, spare)
    return [line for row in rows for line in table.lines(row)]
