"""The process of a server in use, apart from its session: started before it, so that the session's modules are loaded
while the server starts; its stderr, written to the log of this run and, if requested, shown; and the report of code
that it could not load, which becomes an exception here.

Loads little: the modules for stderr are loaded with the first byte.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from gaia_mcp.client.transports.factory import command_of
from gaia_mcp.client.transports.stdio.child import Child
from gaia_mcp.client.transports.stdio.launch import secrets_given
from gaia_mcp.core.errors import AgentError, HandlerError, MCPError, ServerExitedError

if TYPE_CHECKING:
    from gaia_mcp.config.command import Command
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.storage.run_logs import RunLog
    from gaia_mcp.text.redaction.masker import MaskedLines, Masker

# Usually the session has stopped the child already; this only ensures that it does not stay.
LEFT_OVER_GRACE_SECONDS = 0.3
# Starting a process takes a few milliseconds; only a file system that hangs takes longer.
START_SECONDS = 0.1
# The two lines of an error report of the command line.
_REPORT = r"(?m)^error: (?P<kind>agent|handler) (?P<target>'.*?'|\".*?\") (?P<problem>.*)\nhint: (?P<hint>.*)$"


class Prestarted(NamedTuple):
    """The process of a server, the command that started it, its log, and the function that makes the masker of its
    secrets.
    """

    entry: ServerEntry
    command: Command
    child: Child
    stderr_log: StderrLog
    masker: Callable[[], Masker]


@contextmanager
def prestarted(entry: ServerEntry, command: str, show: Callable[[bytes], None] | None = None) -> Iterator[Prestarted]:
    """The process of a server, being started for `command`; stopped at the end of the `with` at the latest. Its stderr
    is written to a log, and passed to `show`.

    Raises `EntryError` and `VariableUnsetError`. A process that cannot be started is reported by the first use of it.
    """
    ready = command_of(entry)

    # A server that writes much to stderr calls this a thousand times.
    @cache
    def masker() -> Masker:
        from gaia_mcp.text.redaction.masker import Masker

        given = secrets_given(ready.command, ready.args, ready.env, inherits_all=ready.inherit)
        return Masker(given, spared=entry.name)

    log = StderrLog(entry, command, masker, show)
    child = Child.of(
        entry.name,
        ready.command,
        ready.args,
        env=ready.env,
        cwd=ready.cwd,
        inherits_all=ready.inherit,
        on_stderr=log.hear,
    )
    try:
        # In a thread: a Ctrl-C cannot arrive between the creation of the process and its registration.
        starting = threading.Thread(target=_start, args=(child,), name=f"{entry.name} start", daemon=True)
        starting.start()
        # Two busy Python threads would slow each other down.
        starting.join(START_SECONDS)
        yield Prestarted(entry, ready, child, log, masker)
    finally:
        log.end(child.stop(LEFT_OVER_GRACE_SECONDS).returncode)


def _start(child: Child) -> None:
    try:
        child.start()
    except MCPError:
        return  # The child stores the error, and raises it again at the next start.


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
        from gaia_mcp.core.paths import log_folder
        from gaia_mcp.storage.run_logs import RunLog, RunLogs
        from gaia_mcp.text.redaction.masker import MaskedLines

        entry = self._entry
        if self._show is not None:
            self._lines = MaskedLines(self._masker)
        self._log = RunLog(lambda: RunLogs(log_folder(), entry.key, entry.source), self._command, self._masker)
        return self._log


def explained(error: MCPError, entry: ServerEntry) -> MCPError:
    """`error` from the server of `entry`, or an `AgentError` or `HandlerError` in its place if the server's code could
    not be loaded.
    """
    if type(error) is not ServerExitedError or not error.returncode:
        return error
    from gaia_mcp.config.served import Served

    if not isinstance(entry.target, Served):
        return error
    reports = list(re.finditer(_REPORT, error.stderr_tail))
    if not reports:
        return error
    problem, hint = reports[-1]["problem"], reports[-1]["hint"].replace(entry.target.anchored(), entry.name)
    if reports[-1]["kind"] == "handler":
        return HandlerError(entry.name, problem, hint=hint)
    if problem.endswith("contains no agent class"):
        # Many Python files are MCP servers themselves.
        return AgentError(entry.name, problem, case="agent-missing")
    if problem.startswith("cannot be created: "):
        # The child was given its arguments by another command line than the one that was typed.
        return AgentError(entry.name, problem, case="agent-arguments")
    return AgentError(entry.name, problem, hint=hint)
