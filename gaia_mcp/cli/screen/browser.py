"""The browser in which a person grants access: opened here, or elsewhere, with the redirect URL pasted here."""

from __future__ import annotations

import os
import sys
import threading
from queue import Empty, SimpleQueue

from gaia_mcp.cli.screen.output import to_stderr
from gaia_mcp.cli.screen.terminal import on_terminal

# Longer than any redirect URL.
MAX_PASTED_BYTES = 65536


class Browser:
    """The browser of the person at this terminal. `is_elsewhere`: it runs on another machine."""

    def __init__(self, *, is_elsewhere: bool = False) -> None:
        self._is_elsewhere = is_elsewhere
        self._pasted: SimpleQueue[str] = SimpleQueue()

    def show(self, url: str) -> None:
        """Open `url` here, or print it for the person to open. It is always printed, complete and on one line."""
        if self._is_elsewhere or not has_browser():
            to_stderr("open this URL in a browser, and grant access there:")
            to_stderr(f"  {url}")
            to_stderr("the browser is then redirected to a page that may not open; paste the URL of that page:")
            threading.Thread(target=self._read, name="gaia-mcp paste", daemon=True).start()
            return
        to_stderr("grant access in the browser; if it does not open, open this URL:")
        to_stderr(f"  {url}")
        # A browser that runs in the terminal would block this thread.
        threading.Thread(target=_open, args=(url,), name="gaia-mcp browser", daemon=True).start()

    def pasted(self) -> str | None:
        """Return the pasted URL, once; None if there is none yet."""
        try:
            return self._pasted.get_nowait()
        except Empty:
            return None

    def _read(self) -> None:
        """Read lines without the buffer of `sys.stdin`, whose lock would delay the end of the program."""
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
    """Whether a browser can be opened here: on a desktop, or with the variable `BROWSER`."""
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
