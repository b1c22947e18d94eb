"""What the thread of a request does while its agent works: notices the end of the time and a cancellation, and reports
progress.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from gaia_mcp.errors import DeadlineError
from gaia_mcp.safetext import one_line

if TYPE_CHECKING:
    from gaia_mcp.deadline import Deadline
    from gaia_mcp.toolcall import Call

T = TypeVar("T")

# How soon a cancellation is noticed.
LOOK_SECONDS = 0.1
# How often a client learns that a request goes on. Some give up on one after a minute of silence.
PROGRESS_SECONDS = 2.0
# What has been given up ends at once, unless the system holds it, as a look-up of a name may.
GIVE_UP_SECONDS = 5.0


class Attendant:
    """Attends to one request, by `deadline`, for `call`. `doing` is what is reported, such as "claude is working", with
    `latest`, what the agent itself has reported last.
    """

    def __init__(self, doing: str, deadline: Deadline, call: Call) -> None:
        self._doing = doing
        self._deadline = deadline
        self._call = call
        self._began = self._reported = time.monotonic()
        self.latest = ""

    def note(self, report: str) -> None:
        """Keep what the agent has reported, as one line, unless it is empty. For any thread."""
        self.latest = one_line(report) or self.latest

    def pause(self) -> float:
        """For how many seconds to wait before the next look."""
        return min(LOOK_SECONDS, self._deadline.remaining())

    def look(self) -> None:
        """Report progress if it is time to. Raises `CallCancelledError`, `DeadlineError`."""
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
    """What `work` returns or raises, in a thread of its own, while this one attends to the request. When that is over
    before, `give_up` is called until `work` has ended: it may begin something anew meanwhile.

    Raises `DeadlineError`, `CallCancelledError`.
    """
    done = threading.Event()
    results: list[T] = []
    problems: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as problem:  # noqa: BLE001 (raised in the thread that waits)
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
