"""Rows in columns. In a pipe nothing is cut; on a terminal the important columns get its width."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from gaia_mcp.cli.screen.terminal import GAP_CELLS, cell_width, fitted, on_terminal, width_of, wrapped

# A narrower last column, which is cut to the remaining width, would be useless.
LEAST_CELLS = 12


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
