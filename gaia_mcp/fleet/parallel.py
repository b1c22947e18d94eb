"""Many servers at once, under one deadline. None is left running, whatever happens to the others."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from gaia_mcp.core.deadline import IMPATIENT_GRACE_SECONDS, Deadline
from gaia_mcp.core.errors import DeadlineError, MCPError, NotConnectedError
from gaia_mcp.fleet import Observer, close_all
from gaia_mcp.fleet.session import Answerers, Session

if TYPE_CHECKING:
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.protocol.events import Peer

# Each server is one process or several; more than this at once would only delay all of them.
AT_ONCE = 16
# The limit for stopping servers after a Ctrl-C. It takes two or three seconds, on a busy machine more.
ENDING_SECONDS = 10.0
# How often to check the servers that are being stopped.
ENDING_POLL_SECONDS = 0.05


@dataclass
class Result:
    """The result for one server: `value`, or `error`. `seconds` is the time from its start to its response."""

    entry: ServerEntry
    value: Any = None
    error: MCPError | None = None
    peer: Peer | None = None
    seconds: float = 0.0


def ask_all(
    entries: Sequence[ServerEntry],
    work: Callable[[Session], Any],
    observer: Observer,
    deadline: Deadline | None = None,
    *,
    keeps_timeouts: bool = False,
) -> list[Result]:
    """The results of `work` with an open session for each server, in the order of `entries`. Otherwise as `use_all`."""

    def ask(session: Session) -> Any:
        session.open()
        value = work(session)
        session.settle()
        return value

    return use_all(entries, ask, observer, deadline, keeps_timeouts=keeps_timeouts)


def use_all(
    entries: Sequence[ServerEntry],
    work: Callable[[Session], Any],
    observer: Observer,
    deadline: Deadline | None = None,
    answerers_of: Callable[[str], Answerers] = lambda _: Answerers(),
    *,
    keeps_timeouts: bool = False,
    at_once: int = AT_ONCE,
) -> list[Result]:
    """The results of `work` with a session for each server, which `work` must open, in the order of `entries`, with so
    many servers `at_once`. `answerers_of` returns the functions that answer the requests of the server with this name.
    With `keeps_timeouts` the timeout of each entry applies too.

    An `MCPError` of one server is its result and does not affect the others; so is a `DeadlineError` for a server that
    was not started in time. Any other exception is raised here once all have ended. A Ctrl-C stops all servers at once.
    """
    # For masking the errors. Loaded now: the servers may leave no file descriptor to load modules with.
    import gaia_mcp.text.redaction.masker  # noqa: F401

    running = _Running(deadline)
    results = [Result(entry) for entry in entries]
    # Not `Thread.join`: before Python 3.13, when a signal interrupts it, it marks the thread as ended.
    ended: SimpleQueue[BaseException | None] = SimpleQueue()
    places = threading.Semaphore(at_once)

    def use(result: Result) -> None:
        began = time.monotonic()
        session = None
        try:
            answerers = answerers_of(result.entry.name)
            session = Session(
                observer.held(result.entry),
                observer,
                deadline=deadline,
                keeps_timeout=keeps_timeouts,
                answerers=answerers,
            )
            running.add(session)
            observer.starting(result.entry.name, session.last_line)
            result.value = work(session)
            result.peer = session.peer
        except MCPError as error:
            result.error = session.explained(error) if session is not None else error
        finally:
            result.seconds = time.monotonic() - began
            if session is not None:
                session.close(IMPATIENT_GRACE_SECONDS)

    def run(result: Result) -> None:
        bug: BaseException | None = None
        try:
            with places:
                use(result)
        except BaseException as problem:  # noqa: BLE001 (a bug of ours, which belongs to the main thread)
            bug = problem
        finally:
            running.remove(result.entry.name)
            observer.finished(result.entry.name, len(results))
            ended.put(bug)

    try:
        for result in results:
            threading.Thread(target=run, args=(result,), daemon=True).start()
        bugs = [bug for _ in results if (bug := ended.get()) is not None]
    except BaseException:
        running.end()
        raise
    if bugs:
        raise bugs[0]
    return results


class _Running:
    """The sessions in use. After `end` no other may begin."""

    def __init__(self, deadline: Deadline | None) -> None:
        self._deadline = deadline
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}
        self._begun = 0
        self._ending = False

    def add(self, session: Session) -> None:
        """Add a session before it starts its server. Raises `DeadlineError` if the deadline has passed, and
        `NotConnectedError` after `end`.
        """
        name, deadline = session.entry.name, self._deadline
        with self._lock:
            if self._ending:
                raise NotConnectedError(name)
            if deadline is not None and deadline.expired:
                before = self._begun
                stage = f"(it was not started: {before} others were in line before it)" if before else "at its start"
                raise DeadlineError(name, stage, deadline.seconds)
            self._begun += 1
            self._sessions[name] = session

    def remove(self, name: str) -> None:
        """Remove a session that is no longer in use."""
        with self._lock:
            self._sessions.pop(name, None)

    def end(self) -> None:
        """Stop all servers at once, including those that other threads are starting at this moment."""
        with self._lock:
            self._ending = True
        end = time.monotonic() + ENDING_SECONDS
        # Again, for a server that another thread was starting when its session was closed.
        while (sessions := list(self._sessions.values())) and time.monotonic() < end:
            close_all([partial(session.close, IMPATIENT_GRACE_SECONDS) for session in sessions], "close")
            time.sleep(ENDING_POLL_SECONDS)
