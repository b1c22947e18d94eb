"""Showing a message on the console of a program, which is any object that can print."""

from __future__ import annotations

import logging
from typing import Any

logger = logging.getLogger("gaia_mcp")

# After the method for the kind of message: `out` of a console of rich takes a text as it is, its `print` has a markup.
_PLAIN = ("out", "print")


def was_shown(console: Any, method: str, message: str) -> bool:
    """Show a message with `method` of `console`, or with one for any text; whether it was shown.

    A console that raises is logged: the program's own code must not end what it is told about.
    """
    shows = (getattr(console, name, None) for name in (method, *_PLAIN))
    show = next(filter(callable, shows), None)
    if show is None:
        return False
    try:
        show(message)
    except Exception:
        logger.exception("the console failed to show a message")
        return False
    return True
