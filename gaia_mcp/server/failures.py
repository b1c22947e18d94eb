"""Exceptions of an agent's own code: its client gets an answer about them, its author reads of them on stderr."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TypeAlias

from gaia_mcp.safetext import one_line

# Called with what failed, in words, and the exception.
OnFailure: TypeAlias = Callable[[str, BaseException], None]

# A message of a library may hold a whole page.
LINE_CHARS = 2000


def note_failure(what: str, _: BaseException) -> None:
    """Write one line to stderr."""
    print(f"error: {one_line(what, LINE_CHARS)}", file=sys.stderr)  # noqa: T201


def raised(error: BaseException) -> str:
    """`ValueError: no such file`, or `ValueError` for one without a text."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
