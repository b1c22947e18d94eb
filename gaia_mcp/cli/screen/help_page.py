"""A help page as wide as its terminal. On a narrow one, explanations are printed below their options, and examples are
not broken, so that they can be copied.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from gaia_mcp.cli.screen.terminal import INDENT_CELLS, NARROW_COLUMNS, cell_width, width_of, wrapped
from gaia_mcp.cli.typer_internals import HelpFormatter

# Some terminals wrap the line when the last column is written.
MARGIN_CELLS = 2
# The least width for an explanation next to its option.
LEAST_CELLS = 20
EXAMPLE = "Example: "


class HelpPage(HelpFormatter):  # type: ignore[misc]
    """Formats the help pages that Typer writes."""

    def __init__(self, width: int | None = None, **_: object) -> None:
        super().__init__(width=width or width_of(sys.stdout) - MARGIN_CELLS)

    def write_heading(self, heading: str) -> None:
        self._write(wrapped(" " * self.current_indent + f"{heading}:", self.width))

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        if self.width >= NARROW_COLUMNS:
            super().write_usage(prog, args, prefix)
        else:
            self._write(wrapped(f"Usage: {prog} {args}", self.width, INDENT_CELLS))

    def write_text(self, text: str) -> None:
        if self.width >= NARROW_COLUMNS:
            super().write_text(text)
            return
        before, example, command = text.rpartition(EXAMPLE)
        if before or not example:
            super().write_text(before.rstrip() or command)
        if example:
            if before:
                self.write_paragraph()
            self.write_text(example.rstrip())
            self._write([command])

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        rows = list(rows)
        widest = min(max((cell_width(first) for first, _ in rows), default=0), col_max)
        if self.width - self.current_indent - widest - col_spacing >= LEAST_CELLS:
            super().write_dl(rows, col_max, col_spacing)
            return
        indent = " " * self.current_indent
        for first, second in rows:
            self._write(wrapped(indent + first.rstrip(), self.width, INDENT_CELLS))
            if second:
                self._write(wrapped(indent + " " * col_spacing + second, self.width))

    def _write(self, lines: Sequence[str]) -> None:
        self.write("".join(f"{line}\n" for line in lines))
