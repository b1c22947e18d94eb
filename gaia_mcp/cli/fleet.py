"""Several servers at once, under one deadline, none left behind."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gaia_mcp.cli.progress import Waiting
from gaia_mcp.cli.sessions import Session
from gaia_mcp.client.host import Host
from gaia_mcp.client.transports.stdio import IMPATIENT_GRACE_SECONDS
from gaia_mcp.errors import MCPError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.protocol.events import Peer

    Started = Callable[[Session], None]

# Each server is a process or several; more than this at once would only make all of them late.
AT_ONCE = 16


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

    def visit(entry: ServerEntry, started: Started) -> None:
        found = visits[entry.name]
        began = time.monotonic()
        session = None
        try:
            session = Session(entry, whole, Host())
            started(session)
            found.peer = session.client.open(session.start_deadline())
            found.value = work(session)
        except MCPError as error:
            found.error = error
        finally:
            found.seconds = time.monotonic() - began
            if session is not None:
                session.close(IMPATIENT_GRACE_SECONDS)

    visit_each(entries, visit)
    return list(visits.values())


def visit_each(entries: Sequence[ServerEntry], visit: Callable[[ServerEntry, Started], None]) -> None:
    """Run `visit` for every entry at once. It says `started` with each session, so that a Ctrl-C can end them all."""
    sessions: list[Session] = []
    failures: list[BaseException] = []
    places = threading.Semaphore(AT_ONCE)
    with Waiting(f"asking {len(entries)} servers") as waiting:

        def run(entry: ServerEntry) -> None:
            try:
                with places:
                    visit(entry, sessions.append)
            except BaseException as failure:  # noqa: BLE001 (a bug of ours, which belongs to the main thread)
                failures.append(failure)
            waiting.advance(entry.name, len(entries))

        threads = [threading.Thread(target=run, args=(entry,), daemon=True) for entry in entries]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except BaseException:
            # Every server that runs is ended before we are.
            for session in sessions:
                session.close(IMPATIENT_GRACE_SECONDS)
            raise
    if failures:
        raise failures[0]
