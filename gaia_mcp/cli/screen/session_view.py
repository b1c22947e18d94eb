"""The output on stderr while a command uses servers: a progress line on a terminal while a person waits, remarks, log
messages, and with `--debug` the servers' stderr.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from gaia_mcp.cli.screen import can_redraw, cell_width, cells_cut, on_terminal, width_of
from gaia_mcp.fleet import Observer
from gaia_mcp.text import clean, encodable, one_line

if TYPE_CHECKING:
    from gaia_mcp.cli.screen.output import Screen
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.protocol.events import Progressed

# Log messages of these levels are printed with `--debug` only.
QUIET_LEVELS = frozenset({"debug", "info", "notice"})


# A line that appears only briefly is distracting; most responses arrive within this time.
QUIET_SECONDS = 0.7
# After this time the line also shows the end of the server's log, which may explain the delay.
LONG_SECONDS = 2.0
REDRAW_SECONDS = 0.125
# Room for the ^C that a terminal echoes; on a full line it would wrap our line, which could then not be erased.
MARGIN_CELLS = 3
BAR_CELLS = 20
ERASE = "\r\x1b[K"


class Shapes(NamedTuple):
    """The characters that the line is drawn with."""

    turning: str
    full: str
    empty: str


SHAPES = Shapes("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "━", "┈")
ASCII_SHAPES = Shapes("|/-\\", "#", ".")


class Waiting:
    """A line on stderr, from `quiet_seconds` on, while the body of the `with` runs. Thread-safe."""

    def __init__(self, screen: Screen, what: str, *, quiet_seconds: float = QUIET_SECONDS) -> None:
        self.screen = screen
        self._what = one_line(what, 60)
        self._quiet_seconds = quiet_seconds
        self._since = 0.0
        self._lock = threading.RLock()
        # Whether the command is ending, so that no person should be asked any more.
        self.is_leaving = False
        self._over = threading.Event()
        self._is_drawn = False
        self._done = 0.0
        self._total: float | None = None
        self._text = ""
        # The servers being waited for, each with the function that returns the last line of its log.
        self._servers: dict[str, Callable[[], str]] = {}

    def __enter__(self) -> Self:
        if can_redraw(sys.stderr) and not self.screen.quiet:
            self.screen.room = self._room
            self._since = time.monotonic()
            threading.Thread(target=self._run, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.hide()

    def hide(self) -> None:
        """Remove the line for good, before a question or the result is printed."""
        self._over.set()
        with self._lock:
            self._erase()
            self.screen.room = nullcontext

    def rename(self, what: str) -> None:
        """Show a new activity."""
        with self._lock:
            self._what, self._since = one_line(what, 60), time.monotonic()

    def stopping(self, server: str) -> None:
        """Show that `server` is being stopped, which is the last activity."""
        self.is_leaving = True
        self.rename(f"stopping {server}")

    def progressed(self, progress: Progressed) -> None:
        """Show the progress that a server reported."""
        with self._lock:
            self._done, self._total, self._text = progress.progress, progress.total, progress.text

    def starting(self, server: str, last_line: Callable[[], str]) -> None:
        """Add `server` to those being waited for; `last_line` returns the end of its log."""
        with self._lock:
            self._servers[server] = last_line

    def finished(self, server: str, total: int) -> None:
        """Count one of `total` servers as finished."""
        with self._lock:
            self._servers.pop(server, None)
            self._done, self._total = self._done + 1, total

    def line(self, seconds: float, width: int, shapes: Shapes) -> str:
        """The text of the line after `seconds`, no wider than `width`."""
        is_long = seconds >= LONG_SECONDS
        parts = [shapes.turning[int(seconds / REDRAW_SECONDS) % len(shapes.turning)]]
        parts.append(f"still {self._what}" if is_long and self._done == 0 else self._what)
        if self._total:
            share = min(max(self._done / self._total, 0.0), 1.0)
            cells = min(BAR_CELLS, width // 4)
            full = round(share * cells)
            parts += [shapes.full * full + shapes.empty * (cells - full), f"{self._done:g}/{self._total:g}"]
        if is_long:
            parts.append(f"({seconds:.0f} s)")
        line = " ".join(parts)
        if more := one_line(self._text, 200) or (self._last_words() if is_long else ""):
            line += f": {more}"
        return line if cell_width(line) <= width else cells_cut(line, width - 1) + "…"

    @contextmanager
    def _room(self) -> Iterator[None]:
        """Hide the line while something else is written; it is redrawn at the next interval."""
        with self._lock:
            self._erase()
            yield

    def _erase(self) -> None:
        if self._is_drawn:
            self._is_drawn = False
            _write(ERASE)

    def _last_words(self) -> str:
        """The end of the first log that is not empty, with the server's name if there are several servers."""
        for server, last_line in self._servers.items():
            if said := last_line():
                return f"{server}: {said}" if self._total is not None else said
        return ", ".join(self._servers) if self._total is not None else ""

    def _run(self) -> None:
        shapes = SHAPES if _can_write("".join(SHAPES)) else ASCII_SHAPES
        seconds = self._quiet_seconds
        while not self._over.wait(seconds):
            seconds = REDRAW_SECONDS
            with self._lock:
                if self._over.is_set():
                    return
                shown = self.line(time.monotonic() - self._since, width_of(sys.stderr) - MARGIN_CELLS, shapes)
                self._is_drawn = True
                _write(f"\r{encodable(shown)}\x1b[K")


def _can_write(text: str) -> bool:
    try:
        text.encode(sys.stderr.encoding or "ascii")
    except (LookupError, UnicodeError):
        return False
    return True


def _write(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        return  # The terminal was closed.


class SessionView(Waiting, Observer):
    """The progress line while servers are being waited for, remarks, and with `--debug` the servers' stderr."""

    @property
    def command(self) -> str:
        return self.screen.line.command

    @property
    def debug(self) -> bool:
        return self.screen.debug

    @property
    def is_watched(self) -> bool:
        """Whether a person sees what is printed on stderr."""
        return on_terminal(sys.stderr)

    def held(self, entry: ServerEntry) -> ServerEntry:
        from gaia_mcp.cli.keeping import held

        return held(self.screen, entry)

    def remark(self, text: str) -> None:
        self.screen.remark(text)

    def stderr(self, server: str, lines: bytes) -> None:
        for line in clean(lines.decode("utf-8", "replace")).removesuffix("\n").split("\n"):
            self.screen.to_stderr(f"[{server}] {line.rstrip()}")

    def logged(self, server: str, level: str, data: Any) -> None:
        """Print a log message, on a terminal or with `--debug`."""
        if self.screen.debug or (self.is_watched and level not in QUIET_LEVELS):
            text = data if isinstance(data, str) else repr(data)
            self.screen.remark(f"{server} logged ({level}): {one_line(text, 500)}")


def asking(screen: Screen, entries: Sequence[ServerEntry]) -> SessionView:
    """The view of a command that uses these servers concurrently."""
    # Imported before the servers start: while they hold all file descriptors, no module can be loaded, but a shortage
    # must be reported.
    import gaia_mcp.cli.hints  # noqa: F401

    return SessionView(screen, f"asking {entries[0].name}" if len(entries) == 1 else f"asking {len(entries)} servers")
