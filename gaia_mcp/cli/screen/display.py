"""Prints a server's text and pictures on a terminal: the text sanitized, coloured, and of limited length; a picture
only if the environment identifies a terminal that can display it.

A terminal within a terminal (tmux, screen, Zellij) would treat the picture as text, so none is drawn there.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterator, Mapping

from gaia_mcp.cli.screen.colours import coloured, kind_of
from gaia_mcp.cli.screen.output import OutputMode, remark, write_text
from gaia_mcp.cli.screen.terminal import can_redraw, cell_width, has_colours, height_of, width_of
from gaia_mcp.text import clean, clean_json

# A person does not read more on a terminal, and some terminals take long to print it.
MAX_CHARS = 100_000
# The number of screens that are printed of a longer text.
SCREENS = 3
# A larger picture would keep a terminal busy for seconds; it can be saved to a file instead.
MAX_BYTES = 8 * 1024 * 1024
# The limit of the kitty protocol for one escape sequence.
CHUNK_CHARS = 4096
_PNG = b"\x89PNG\r\n\x1a\n"
# The first bytes of the formats that each terminal decodes, whatever the declared type.
_READABLE: dict[str, tuple[bytes, ...]] = {"kitty": (_PNG,), "iterm2": (_PNG, b"\xff\xd8\xff", b"GIF8")}
_KITTY_PROGRAMS = ("ghostty", "kitty")
_ITERM2_PROGRAMS = ("iTerm.app", "WezTerm")


def show_text(text: str, mime_type: object = None) -> str:
    """Write `text` to the terminal, with a remark if it was cut. Returns the text that was written."""
    # Without the remark, the beginning would be mistaken for the whole text.
    is_cut = len(text) > MAX_CHARS and not OutputMode.quiet
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


def way_to_show(environ: Mapping[str, str]) -> str:
    """The image protocol of the terminal that `environ` describes; "" if no supported one is known."""
    wanted = environ.get("GAIA_IMAGES", "auto")
    if wanted in ("kitty", "iterm2"):
        return wanted
    term, program = environ.get("TERM", ""), environ.get("TERM_PROGRAM", "")
    is_inside = any(environ.get(name) for name in ("TMUX", "STY", "ZELLIJ")) or term.startswith(("tmux", "screen"))
    if wanted != "auto" or is_inside:
        return ""
    if environ.get("KITTY_WINDOW_ID") or term in ("xterm-kitty", "xterm-ghostty") or program in _KITTY_PROGRAMS:
        return "kitty"
    return "iterm2" if program in _ITERM2_PROGRAMS or environ.get("LC_TERMINAL") == "iTerm2" else ""


def drawn(data: bytes) -> str:
    """The escape sequences that draw the picture `data` on this terminal, on lines of its own; "" if it cannot be
    drawn.
    """
    way = way_to_show(os.environ) if can_redraw(sys.stdout) else ""
    if not way or len(data) > MAX_BYTES or not data.startswith(_READABLE[way]):
        return ""
    encoded = base64.b64encode(data).decode()
    if way == "iterm2":
        return f"\x1b]1337;File=inline=1;size={len(data)}:{encoded}\x07\n"
    return "".join(_kitty_pieces(encoded)) + "\n"


def _kitty_pieces(encoded: str) -> Iterator[str]:
    # `q=2` suppresses the terminal's response, which would arrive like typed input.
    control = "a=T,f=100,q=2,"
    for start in range(0, len(encoded), CHUNK_CHARS):
        more = int(start + CHUNK_CHARS < len(encoded))
        yield f"\x1b_G{control}m={more};{encoded[start : start + CHUNK_CHARS]}\x1b\\"
        control = ""
