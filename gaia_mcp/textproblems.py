"""Errors in the text of a hand-written file, without its path."""

from __future__ import annotations

from typing import Any

from gaia_mcp.jsontext import place_in, repeated_key


class TextProblemError(ValueError):
    """Text that cannot be read, or cannot be changed without touching more than one entry. `at` counts characters."""

    def __init__(self, problem: str, *, at: int | None = None, line: int = 0, column: int = 0) -> None:
        super().__init__(problem)
        self.problem = problem
        self.at = at
        self.line = line
        self.column = column

    def placed(self, text: str) -> TextProblemError:
        """The same with line and column of `text`, both counted from 1."""
        if self.at is None:
            return self
        line, column = place_in(text, self.at)
        return TextProblemError(self.problem, line=line, column=column)


class Repeated(dict[str, Any]):
    """An object that has `key` twice; which of the two the host uses is unknown."""

    key = ""


def with_pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as an object, or as `Repeated`."""
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    repeated = Repeated(value)
    repeated.key = repeated_key(pairs) or ""
    return repeated
