"""Starting a server before its session: what the session needs is loaded while the server starts."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from gaia_mcp.client.transports.factory import command_of
from gaia_mcp.client.transports.stdio.child import Child
from gaia_mcp.client.transports.stdio.environment import secrets_given
from gaia_mcp.errors import MCPError
from gaia_mcp.session.stderr_log import StderrLog

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.redaction.masker import Masker

# By the time this matters, the session has ended the child in its own way; here it only must not stay.
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
    """The process of a server, being started for `command`; ended at the end of the `with` at the latest. Its stderr is
    kept in a log, and given to `show`.

    Raises `EntryError` and `VariableUnsetError`. A process that cannot be started is reported by the first use of it.
    """
    ready = command_of(entry)

    # A server that writes much has its log masked a thousand times.
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
        # In a thread: a Ctrl-C can never fall between the making of a process and our knowing of it.
        starting = threading.Thread(target=_start, args=(child,), name=f"{entry.name} start", daemon=True)
        starting.start()
        # Two threads of Python that both work would hold each other up.
        starting.join(START_SECONDS)
        yield Prestarted(entry, child, log, masker)
    finally:
        log.end(child.stop(LEFT_OVER_GRACE_SECONDS).returncode)


def _start(child: Child) -> None:
    try:
        child.start()
    except MCPError:
        return  # The child keeps the reason, and raises it again for whatever starts it next.
