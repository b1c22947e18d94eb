"""Pictures in terminals that can display them.

The environment identifies the terminal. A terminal within a terminal (tmux, screen, Zellij) would treat the picture as
text, so none is drawn there.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterator, Mapping

from gaia_mcp.cli.screen.terminal import can_redraw

# A larger picture would keep a terminal busy for seconds; it can be saved to a file instead.
MAX_BYTES = 8 * 1024 * 1024
# The limit of the kitty protocol for one escape sequence.
CHUNK_CHARS = 4096

_PNG = b"\x89PNG\r\n\x1a\n"
# The first bytes of the formats that each terminal decodes, whatever the declared type.
_READABLE: dict[str, tuple[bytes, ...]] = {"kitty": (_PNG,), "iterm2": (_PNG, b"\xff\xd8\xff", b"GIF8")}
_KITTY_PROGRAMS = ("ghostty", "kitty")
_ITERM2_PROGRAMS = ("iTerm.app", "WezTerm")


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
