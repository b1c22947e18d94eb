"""What a server writes to stderr while a command runs: kept in the log of this run and, where somebody wants it, shown.

A server is started before most of the program is loaded, and most servers are silent: what this needs is loaded with
the first byte.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.safetext import RedactedLines
    from gaia_mcp.storage.run_logs import RunLog


class KeptStderr:
    """Hears a server that `command` has started. `show` is given whole lines, without `secrets()`; by default they are
    shown with `--debug`. May be used from several threads.
    """

    def __init__(
        self,
        entry: ServerEntry,
        command: str,
        secrets: Callable[[], Sequence[str]],
        show: Callable[[bytes], None] | None = None,
    ) -> None:
        self._entry = entry
        self._command = command
        self._secrets = secrets
        self._show = show
        self._log: RunLog | None = None
        self._lines: RedactedLines | None = None
        self._lock = threading.Lock()

    def hear(self, data: bytes) -> None:
        """The server has written this."""
        with self._lock:
            log = self._log or self._begin()
            log.hear(data)
            text = self._lines.feed(data) if self._lines is not None else b""
        # Without the lock: whoever ends must not wait for somebody who does not read.
        if text and self._show is not None:
            self._show(text)

    def end(self, status: int | None) -> None:
        """The server has ended, as far as anybody knows with this exit status."""
        with self._lock:
            text = self._lines.rest() if self._lines is not None else b""
            if self._log is not None:
                self._log.end(status)
        if text and self._show is not None:
            self._show(text + b"\n")

    def _begin(self) -> RunLog:
        from gaia_mcp.cli.screen.output import Form, stderr_shown
        from gaia_mcp.paths import log_folder
        from gaia_mcp.safetext import RedactedLines
        from gaia_mcp.storage.run_logs import RunLog, RunLogs

        entry = self._entry
        if self._show is None and Form.debug:
            self._show = lambda text: stderr_shown(entry.name, text)
        if self._show is not None:
            self._lines = RedactedLines(self._secrets)
        self._log = RunLog(lambda: RunLogs(log_folder(), entry.name, entry.source), self._command, self._secrets)
        return self._log
