"""Reporting of exceptions in an agent's own code on stderr, for its author."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeAlias

from gaia_mcp.safetext import one_line

# Called with a description of the failure, and the exception.
OnFailure: TypeAlias = Callable[[str, BaseException], None]

# Some libraries raise exceptions with a page of text.
LINE_CHARS = 2000


def note_failure(what: str, error: BaseException) -> None:
    """Write one line to stderr."""
    print(f"error: {placed(what, error)}", file=sys.stderr)  # noqa: T201


def placed(what: str, error: BaseException) -> str:
    """`what` on one line, with the file and the line of the user's code that raised the exception, if any did."""
    from gaia_mcp.importing import place_of

    text, place = one_line(what, LINE_CHARS), place_of(error)
    return f"{text}, at {place}" if place else text


def raised(error: BaseException) -> str:
    """The exception as `ValueError: no such file`, or `ValueError` if it has no message."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
