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


def note_failure(what: str, _: BaseException) -> None:
    """Write one line to stderr."""
    print(f"error: {one_line(what, LINE_CHARS)}", file=sys.stderr)  # noqa: T201


def raised(error: BaseException) -> str:
    """The exception as `ValueError: no such file`, or `ValueError` if it has no message."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
