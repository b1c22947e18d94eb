"""Supervises a request while its agent works: detects an expired deadline and a cancellation, and reports progress."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from gaia_mcp.errors import DeadlineError
from gaia_mcp.safetext import one_line

if TYPE_CHECKING:
    from gaia_mcp.asking import Call
    from gaia_mcp.deadline import Deadline

T = TypeVar("T")

# The interval at which cancellation is checked.
LOOK_SECONDS = 0.1
# The interval of progress notifications. Some clients give up on a request after a minute without one.
PROGRESS_SECONDS = 2.0
# Aborted work ends at once, unless it is blocked in the operating system, such as in a DNS lookup.
GIVE_UP_SECONDS = 5.0


class Attendant:
    """Supervises the request of `call` until `deadline`. Progress messages consist of `doing`, such as "claude is
    working", and `latest`, the agent's own latest report.
    """

    def __init__(self, doing: str, deadline: Deadline, call: Call) -> None:
        self._doing = doing
        self._deadline = deadline
        self._call = call
        self._began = self._reported = time.monotonic()
        self.latest = ""

    def note(self, report: str) -> None:
        """Store a report of the agent as one line, unless it is empty. May be called from any thread."""
        self.latest = one_line(report) or self.latest

    def pause(self) -> float:
        """The seconds to wait before the next `look`."""
        return min(LOOK_SECONDS, self._deadline.remaining())

    def look(self) -> None:
        """Report progress if it is due. Raises `CallCancelledError`, `DeadlineError`."""
        self._call.raise_if_cancelled()
        if self._deadline.expired:
            raise DeadlineError(self._doing, "before it answered", self._deadline.seconds)
        now = time.monotonic()
        if now - self._reported >= PROGRESS_SECONDS:
            self._reported = now
            seconds = round(now - self._began, 1)
            text = f"{self._doing} ({seconds:.0f} s)"
            self._call.progress(seconds, self._deadline.seconds, f"{text}: {self.latest}" if self.latest else text)


def attended(work: Callable[[], T], attendant: Attendant, give_up: Callable[[], object]) -> T:
    """Run `work` in a separate thread, supervised from this one. Returns or raises what `work` does.

    If the request is cancelled or its deadline expires, `give_up` is called repeatedly until `work` has ended, for at
    most `GIVE_UP_SECONDS`: `work` may start something new in the meantime. Raises `DeadlineError`,
    `CallCancelledError`.
    """
    done = threading.Event()
    results: list[T] = []
    problems: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as problem:  # noqa: BLE001 (raised in the waiting thread)
            problems.append(problem)
        finally:
            done.set()

    threading.Thread(target=run, name="attended", daemon=True).start()
    try:
        while not done.wait(attendant.pause()):
            attendant.look()
    except BaseException:
        end = time.monotonic() + GIVE_UP_SECONDS
        give_up()
        while not done.wait(LOOK_SECONDS) and time.monotonic() < end:
            give_up()
        raise
    if problems:
        raise problems[0]
    return results[0]
