"""The stderr of a server in use: written to the log of this run and, if requested, shown.

A server is started before most of the program is loaded, and most servers write nothing: the modules needed here are
loaded with the first byte.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.redaction.masker import MaskedLines, Masker
    from gaia_mcp.storage.run_logs import RunLog


class StderrLog:
    """The stderr of a server that `command` has started. `show` is called with whole lines, masked.

    May be used from several threads.
    """

    def __init__(
        self,
        entry: ServerEntry,
        command: str,
        masker: Callable[[], Masker],
        show: Callable[[bytes], None] | None = None,
    ) -> None:
        self._entry = entry
        self._command = command
        self._masker = masker
        self._show = show
        self._log: RunLog | None = None
        self._lines: MaskedLines | None = None
        self._lock = threading.Lock()

    @property
    def has_begun(self) -> bool:
        """Whether the server has written anything."""
        return self._log is not None

    def hear(self, data: bytes) -> None:
        """The server has written `data`."""
        with self._lock:
            log = self._log or self._begin()
            log.hear(data)
            text = self._lines.feed(data) if self._lines is not None else b""
        # Without the lock: `end` must not wait for a terminal or pipe that blocks.
        if text and self._show is not None:
            self._show(text)

    def end(self, status: int | None) -> None:
        """The server has ended, with this exit status, None if unknown. May be called twice."""
        with self._lock:
            text = self._lines.rest() if self._lines is not None else b""
            if self._log is not None:
                self._log.end(status)
        if text and self._show is not None:
            self._show(text + b"\n")

    def _begin(self) -> RunLog:
        from gaia_mcp.paths import log_folder
        from gaia_mcp.redaction.masker import MaskedLines
        from gaia_mcp.storage.run_logs import RunLog, RunLogs

        entry = self._entry
        if self._show is not None:
            self._lines = MaskedLines(self._masker)
        self._log = RunLog(lambda: RunLogs(log_folder(), entry.key, entry.source), self._command, self._masker)
        return self._log
