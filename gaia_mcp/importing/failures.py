"""Exceptions of the user's code, as one line."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from gaia_mcp.paths import shown
from gaia_mcp.safetext import one_line

# A message may quote a whole document.
MAX_CHARS = 1000
_OURS = Path(__file__).parents[1]
_PYTHON = Path(importlib.__file__).parents[1]


def failure_in_words(error: BaseException) -> str:
    """The exception and its position in the code, on one line: `KeyError: 'HOME', at agent.py:7`."""
    try:
        message = one_line(str(error), MAX_CHARS)
    except Exception:  # noqa: BLE001 (this is the user's code too)
        message = ""
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    # The text of a syntax error contains its position.
    place = "" if isinstance(error, SyntaxError) else place_of(error)
    return f"{text}, at {place}" if place else text


def missing_package(error: BaseException) -> str:
    """What to do about a module that is not installed; empty for any other error."""
    # A dotted name is missing from an installed package.
    if not isinstance(error, ModuleNotFoundError) or not error.name or "." in error.name:
        return ""
    return f"install the package of {error.name!r} for {shown(Path(sys.executable))}"


def place_of(error: BaseException) -> str:
    """`FILE:LINE` of the user's code that raised the error, directly or indirectly; empty for an error elsewhere."""
    import traceback

    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        is_foreign = path.is_relative_to(_OURS) or path.is_relative_to(_PYTHON) or "site-packages" in path.parts
        if path.is_file() and not is_foreign:
            return f"{shown(path)}:{frame.lineno}"
    return ""
