"""A person who grants access: their browser is opened here, or they open the URL elsewhere and paste where it led."""

from __future__ import annotations

import os
import sys
import threading
from queue import Empty, SimpleQueue

from gaia_mcp.cli.screen.output import to_stderr
from gaia_mcp.cli.screen.terminal import on_terminal

# Longer than any URL that a browser was sent to.
MAX_PASTED_BYTES = 65536


class Browser:
    """The person at this terminal. With `is_elsewhere` their browser is on another machine."""

    def __init__(self, *, is_elsewhere: bool = False) -> None:
        self._is_elsewhere = is_elsewhere
        self._pasted: SimpleQueue[str] = SimpleQueue()

    def show(self, url: str) -> None:
        """Open `url` here, or print it for the person to open. It is printed in any case, whole and on one line."""
        if self._is_elsewhere or not has_browser():
            to_stderr("open this URL in a browser, and grant access there:")
            to_stderr(f"  {url}")
            to_stderr("the browser is then redirected to a page that may not open; paste the URL of that page:")
            threading.Thread(target=self._read, name="gaia-mcp paste", daemon=True).start()
            return
        to_stderr("grant access in the browser; if it does not open, open this URL:")
        to_stderr(f"  {url}")
        # A browser that runs in the terminal would keep this waiting.
        threading.Thread(target=_open, args=(url,), name="gaia-mcp browser", daemon=True).start()

    def pasted(self) -> str | None:
        """The URL that was pasted, once; None as long as there is none."""
        try:
            return self._pasted.get_nowait()
        except Empty:
            return None

    def _read(self) -> None:
        """Read a line, without the buffer of `sys.stdin`: its lock would hinder the end of the program."""
        line = b""
        while len(line) < MAX_PASTED_BYTES:
            try:
                piece = os.read(sys.stdin.fileno(), 4096)
            except (OSError, ValueError):
                return
            line += piece
            if b"\n" in piece or (not piece and line):
                self._pasted.put(line.decode("ascii", "replace").strip())
                line = b""
            if not piece:
                return


def has_browser() -> bool:
    """Whether a browser can be opened here: on a desktop, or one that `BROWSER` names."""
    if os.environ.get("BROWSER"):
        return True
    if sys.platform in ("win32", "darwin"):
        return not os.environ.get("SSH_CONNECTION")
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def can_ask() -> bool:
    """Whether a person can grant access: with a browser, or a terminal to paste into."""
    return has_browser() or on_terminal(sys.stdin)


def _open(url: str) -> None:
    import contextlib
    import webbrowser

    with contextlib.suppress(webbrowser.Error, OSError):
        webbrowser.open(url)
