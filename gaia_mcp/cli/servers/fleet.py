"""Several servers at once, under one deadline, none left behind."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.screen.progress import Waiting
from gaia_mcp.cli.servers.sessions import Session
from gaia_mcp.cli.signals import STOPPING_SECONDS
from gaia_mcp.client.host import Host
from gaia_mcp.client.transports.stdio import IMPATIENT_GRACE_SECONDS
from gaia_mcp.errors import DeadlineError, MCPError, NotConnectedError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.protocol.events import Peer

    Starting = Callable[[Session], None]

# Each server is a process or several; more than this at once would only make all of them late.
AT_ONCE = 16
# How often those that are being ended are looked at again.
ENDING_POLL_SECONDS = 0.05


@dataclass
class Visit:
    """What one server gave: `value`, or `error`. `seconds` from its start to its answer."""

    entry: ServerEntry
    value: Any = None
    error: MCPError | None = None
    peer: Peer | None = None
    seconds: float = 0.0


def visit_all(entries: Sequence[ServerEntry], work: Callable[[Session], Any], whole: Deadline | None) -> list[Visit]:
    """Connect to every server and do `work` with it; in the order of `entries`. One failure holds nobody up."""
    visits = {entry.name: Visit(entry) for entry in entries}

    def visit(entry: ServerEntry, starting: Starting) -> None:
        found = visits[entry.name]
        began = time.monotonic()
        session = None
        try:
            session = Session(entry, whole, Host())
            starting(session)
            found.peer = session.client.open(session.start_deadline())
            found.value = work(session)
            session.settle()
        except MCPError as error:
            found.error = error
        finally:
            found.seconds = time.monotonic() - began
            if session is not None:
                session.close(IMPATIENT_GRACE_SECONDS)

    visit_each(entries, visit)
    return list(visits.values())


def visit_each(
    entries: Sequence[ServerEntry], visit: Callable[[ServerEntry, Starting], None], *, quiet: bool = False
) -> None:
    """Run `visit` for every entry at once, without a bar if `quiet`.

    It calls `starting` with each session before that starts anything, which raises `DeadlineError` if its time is over
    already, and `NotConnectedError` if a Ctrl-C ends them all.
    """
    fleet = _Fleet()
    failures: list[BaseException] = []
    places = threading.Semaphore(AT_ONCE)
    what = f"asking {entries[0].name}" if len(entries) == 1 else f"asking {len(entries)} servers"
    with nullcontext() if quiet else Waiting(what) as waiting:

        def starting(session: Session) -> None:
            fleet.starting(session)
            if waiting is not None:
                waiting.begin(session.entry.name, session.last_line)

        def run(entry: ServerEntry) -> None:
            try:
                with places:
                    visit(entry, starting)
            except BaseException as failure:  # noqa: BLE001 (a bug of ours, which belongs to the main thread)
                failures.append(failure)
            if waiting is not None:
                waiting.end(entry.name, len(entries))

        threads = [threading.Thread(target=run, args=(entry,), daemon=True) for entry in entries]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except BaseException:
            fleet.end(threads)
            raise
    if failures:
        raise failures[0]


class _Fleet:
    """The sessions of servers that have been started, until the moment from which on none may be."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: list[Session] = []
        self._ending = False

    def starting(self, session: Session) -> None:
        """See `visit_each`."""
        deadline = session.start_deadline()
        with self._lock:
            if self._ending:
                raise NotConnectedError(session.entry.name)
            if deadline.expired:
                before = len(self._sessions)
                stage = f"(it was not started: {before} others were in line before it)" if before else "at its start"
                raise DeadlineError(session.entry.name, stage, deadline.seconds)
            self._sessions.append(session)

    def end(self, threads: Sequence[threading.Thread]) -> None:
        """End all servers at once, and whatever the `threads` that work with them may start at this very moment."""
        with self._lock:
            self._ending = True
        end = time.monotonic() + STOPPING_SECONDS
        while (working := [thread for thread in threads if thread.is_alive()]) and time.monotonic() < end:
            closing = [
                threading.Thread(target=session.close, args=(IMPATIENT_GRACE_SECONDS,), daemon=True)
                for session in self._sessions
            ]
            for thread in closing:
                thread.start()
            for thread in closing:
                thread.join()
            working[0].join(ENDING_POLL_SECONDS)
