"""Several servers at once, under one deadline, none left behind."""

from __future__ import annotations

import threading
import time
from contextlib import nullcontext
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.screen.progress import Waiting
from gaia_mcp.cli.servers.sessions import Session
from gaia_mcp.cli.signals import STOPPING_SECONDS
from gaia_mcp.client.host import Host
from gaia_mcp.client.transports.stdio.transport import IMPATIENT_GRACE_SECONDS
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
    # Not `Thread.join`: before Python 3.13 one that a signal interrupts takes the thread for ended.
    ended: SimpleQueue[BaseException | None] = SimpleQueue()
    places = threading.Semaphore(AT_ONCE)
    what = f"asking {entries[0].name}" if len(entries) == 1 else f"asking {len(entries)} servers"
    with nullcontext() if quiet else Waiting(what) as waiting:

        def starting(session: Session) -> None:
            fleet.starting(session)
            if waiting is not None:
                waiting.begin(session.entry.name, session.last_line)

        def run(entry: ServerEntry) -> None:
            bug: BaseException | None = None
            try:
                with places:
                    visit(entry, starting)
            except BaseException as problem:  # noqa: BLE001 (a bug of ours, which belongs to the main thread)
                bug = problem
            finally:
                fleet.has_ended(entry.name)
                if waiting is not None:
                    waiting.end(entry.name, len(entries))
                ended.put(bug)

        try:
            for entry in entries:
                threading.Thread(target=run, args=(entry,), daemon=True).start()
            bugs = [bug for _ in entries if (bug := ended.get()) is not None]
        except BaseException:
            fleet.end()
            raise
    if bugs:
        raise bugs[0]


class _Fleet:
    """The sessions that somebody works with, until the moment from which on none may begin."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}
        self._begun = 0
        self._ending = False

    def starting(self, session: Session) -> None:
        """See `visit_each`."""
        deadline = session.start_deadline()
        with self._lock:
            if self._ending:
                raise NotConnectedError(session.entry.name)
            if deadline.expired:
                before = self._begun
                stage = f"(it was not started: {before} others were in line before it)" if before else "at its start"
                raise DeadlineError(session.entry.name, stage, deadline.seconds)
            self._begun += 1
            self._sessions[session.entry.name] = session

    def has_ended(self, name: str) -> None:
        """Nobody works with this server any more."""
        with self._lock:
            self._sessions.pop(name, None)

    def end(self) -> None:
        """End all servers at once, and whatever those that work with them may start at this very moment."""
        with self._lock:
            self._ending = True
        end = time.monotonic() + STOPPING_SECONDS
        while time.monotonic() < end:
            with self._lock:
                sessions = list(self._sessions.values())
            if not sessions:
                return
            closing = [
                threading.Thread(target=session.close, args=(IMPATIENT_GRACE_SECONDS,), daemon=True)
                for session in sessions
            ]
            for thread in closing:
                thread.start()
            for thread in closing:
                thread.join()
            time.sleep(ENDING_POLL_SECONDS)
