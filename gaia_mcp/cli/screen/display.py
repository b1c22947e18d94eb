"""A text from a server on a terminal: clean, coloured, and not endless. In a pipe it goes as it is."""

from __future__ import annotations

import sys

from gaia_mcp.cli.screen.colours import coloured, kind_of
from gaia_mcp.cli.screen.output import Form, remark, write_text
from gaia_mcp.cli.screen.terminal import cell_width, has_colours, height_of, width_of
from gaia_mcp.safetext import clean, clean_json

# A person does not read more than this on a terminal, and some terminals take long to print it.
MAX_CHARS = 100_000
# So many screens of a longer text are shown.
SCREENS = 3


def show_text(text: str, mime_type: object = None) -> str:
    """Write `text` to the terminal, with a remark if that is not all of it; what is there now."""
    # Without the remark, the beginning would be taken for the whole.
    is_cut = len(text) > MAX_CHARS and not Form.quiet
    kind = kind_of(text, mime_type)
    beginning = text[:MAX_CHARS] if is_cut else text
    # JSON with escapes of its own, so that it is still JSON when it is copied.
    shown = clean_json(beginning.replace("\r\n", "\n")) if kind == "json" else clean(beginning)
    if is_cut:
        shown = _screens(shown)
    write_text(coloured(shown, kind) if has_colours() else shown)
    if is_cut:
        size = len(text.encode("utf-8", "replace")) / 1000
        remark(f"this is the beginning of {size:,.0f} kB; for all of it add | less, > FILE or --json")
    return shown


def _screens(text: str) -> str:
    """The first screens of `text`, in whole lines where it has any."""
    width = width_of(sys.stdout)
    left = SCREENS * height_of(sys.stdout)
    kept: list[str] = []
    for line in text.split("\n"):
        # A line that is broken by the terminal takes several of its own.
        takes = max(1, -(-cell_width(line) // width))
        if takes > left:
            break
        kept.append(line)
        left -= takes
    return ("\n".join(kept) or text[: left * width]) + "\n"
