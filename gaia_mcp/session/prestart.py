"""Starting a server before its session, so that the session's modules are loaded while the server starts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from gaia_mcp.client.transports.factory import command_of
from gaia_mcp.client.transports.stdio.child import Child
from gaia_mcp.client.transports.stdio.command_line import secrets_given
from gaia_mcp.errors import MCPError
from gaia_mcp.session.stderr_log import StderrLog

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.redaction.masker import Masker

# Usually the session has stopped the child already; this only ensures that it does not stay.
LEFT_OVER_GRACE_SECONDS = 0.3
# Starting a process takes a few milliseconds; only a file system that hangs takes longer.
START_SECONDS = 0.1


class Prestarted(NamedTuple):
    """The process of a server, its log, and the function that makes the masker of its secrets."""

    entry: ServerEntry
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
        from gaia_mcp.redaction.masker import Masker

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
        yield Prestarted(entry, child, log, masker)
    finally:
        log.end(child.stop(LEFT_OVER_GRACE_SECONDS).returncode)


def _start(child: Child) -> None:
    try:
        child.start()
    except MCPError:
        return  # The child stores the error, and raises it again at the next start.
