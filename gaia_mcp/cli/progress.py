"""Something that moves on a terminal while a person waits; nothing at all elsewhere."""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.output import on_terminal
from gaia_mcp.safetext import one_line

if TYPE_CHECKING:
    from gaia_mcp.protocol.events import Progressed

# Whoever is answered within this time does not want to see a bar flash by.
QUIET_SECONDS = 0.7


class Waiting:
    """A bar on stderr while the body of the `with` runs, from `QUIET_SECONDS` on. Safe to use from several threads."""

    def __init__(self, what: str) -> None:
        self._what = one_line(what, 60)
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._bar: Any = None
        self._task: Any = None
        self._done = 0.0
        self._total: float | None = None
        self._text = ""

    def __enter__(self) -> Waiting:
        if on_terminal(sys.stderr):
            self._timer = threading.Timer(QUIET_SECONDS, self._show)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.hide()

    def hide(self) -> None:
        """Take the bar away for good; a question or an answer comes now."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def rename(self, what: str) -> None:
        """Something else is waited for now."""
        with self._lock:
            self._what = one_line(what, 60)
            if self._bar is not None:
                self._bar.update(self._task, description=self._what)

    def progressed(self, progress: Progressed) -> None:
        """A server says how far it has got."""
        with self._lock:
            self._done, self._total, self._text = progress.progress, progress.total, progress.text
            self._update()

    def advance(self, name: str, total: int) -> None:
        """One of `total` is done."""
        with self._lock:
            self._done, self._total, self._text = self._done + 1, total, name
            self._update()

    def _show(self) -> None:
        from shutil import get_terminal_size

        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        with self._lock:
            if self._timer is None:
                return
            self._bar = Progress(
                SpinnerColumn(),
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.fields[text]}", markup=False),
                TimeElapsedColumn(),
                # Room for the ^C that a terminal echoes; on a full line it would push the bar out of our reach.
                console=Console(stderr=True, width=max(20, get_terminal_size().columns - 3)),
                transient=True,
            )
            self._task = self._bar.add_task(self._what, total=None, text="")
            self._bar.start()
            self._update()

    def _update(self) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=self._done, total=self._total, text=one_line(self._text, 60))
