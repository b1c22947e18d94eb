"""Pictures in the terminal, where one can show them.

The environment names what it can do. A terminal within a terminal (tmux, screen, Zellij) would take the picture
for text, so there it is not tried.
"""

from __future__ import annotations

import base64
import os
import sys
from collections.abc import Iterator, Mapping

from gaia_mcp.cli.screen.terminal import can_redraw

# Beyond this a terminal is busy for seconds; the file is there.
MAX_BYTES = 8 * 1024 * 1024
# The most that the kitty protocol allows in one escape sequence.
CHUNK_CHARS = 4096

_PNG = b"\x89PNG\r\n\x1a\n"
# What the terminals decode is what begins like one of these, whatever its type says.
_READABLE: dict[str, tuple[bytes, ...]] = {"kitty": (_PNG,), "iterm2": (_PNG, b"\xff\xd8\xff", b"GIF8")}
_KITTY_PROGRAMS = ("ghostty", "kitty")
_ITERM2_PROGRAMS = ("iTerm.app", "WezTerm")


def way_to_show(environ: Mapping[str, str]) -> str:
    """The protocol for pictures of the terminal that `environ` tells of; "" if it has none that we know."""
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
    """What shows the picture `data` on this terminal, on lines of its own; "" if it cannot."""
    way = way_to_show(os.environ) if can_redraw(sys.stdout) else ""
    if not way or len(data) > MAX_BYTES or not data.startswith(_READABLE[way]):
        return ""
    encoded = base64.b64encode(data).decode()
    if way == "iterm2":
        return f"\x1b]1337;File=inline=1;size={len(data)}:{encoded}\x07\n"
    return "".join(_kitty_pieces(encoded)) + "\n"


def _kitty_pieces(encoded: str) -> Iterator[str]:
    # `q=2`: no answer, which would arrive like typed input.
    control = "a=T,f=100,q=2,"
    for start in range(0, len(encoded), CHUNK_CHARS):
        more = int(start + CHUNK_CHARS < len(encoded))
        yield f"\x1b_G{control}m={more};{encoded[start : start + CHUNK_CHARS]}\x1b\\"
        control = ""
