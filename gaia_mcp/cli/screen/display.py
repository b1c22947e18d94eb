"""Prints a server's text on a terminal: sanitized, coloured, and of limited length. In a pipe it is unchanged."""

from __future__ import annotations

import sys

from gaia_mcp.cli.screen.colours import coloured, kind_of
from gaia_mcp.cli.screen.output import Form, remark, write_text
from gaia_mcp.cli.screen.terminal import cell_width, has_colours, height_of, width_of
from gaia_mcp.safetext import clean, clean_json

# A person does not read more on a terminal, and some terminals take long to print it.
MAX_CHARS = 100_000
# The number of screens that are printed of a longer text.
SCREENS = 3


def show_text(text: str, mime_type: object = None) -> str:
    """Write `text` to the terminal, with a remark if it was cut. Returns the text that was written."""
    # Without the remark, the beginning would be mistaken for the whole text.
    is_cut = len(text) > MAX_CHARS and not Form.quiet
    kind = kind_of(text, mime_type)
    beginning = text[:MAX_CHARS] if is_cut else text
    # In JSON, control characters become JSON escapes, so that it is still JSON when it is copied.
    shown = clean_json(beginning.replace("\r\n", "\n")) if kind == "json" else clean(beginning)
    if is_cut:
        shown = _screens(shown)
    write_text(coloured(shown, kind) if has_colours() else shown)
    if is_cut:
        size = len(text.encode("utf-8", "replace")) / 1000
        remark(f"this is the beginning of {size:,.0f} kB; for all of it add | less, > FILE or --json")
    return shown


def _screens(text: str) -> str:
    """The first screens of `text`, in whole lines if possible."""
    width = width_of(sys.stdout)
    left = SCREENS * height_of(sys.stdout)
    kept: list[str] = []
    for line in text.split("\n"):
        # A line that the terminal wraps takes several of its lines.
        takes = max(1, -(-cell_width(line) // width))
        if takes > left:
            break
        kept.append(line)
        left -= takes
    return ("\n".join(kept) or text[: left * width]) + "\n"
