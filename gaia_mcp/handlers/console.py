"""Prints a message on the console of a program, which is any object with a method to print."""

from __future__ import annotations

import logging
from typing import Any

logger = logging.getLogger("gaia_mcp")

# Tried after the method for the kind of message. Rich's consoles print text unchanged with `out`, but their `print`
# interprets markup.
_PLAIN = ("out", "print")


def was_shown(console: Any, method: str, message: str) -> bool:
    """Print a message with `method` of `console`, or with a method for any text. Returns whether it was printed.

    An exception of the console is logged, not raised: it must not interrupt the operation that the message is about.
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
