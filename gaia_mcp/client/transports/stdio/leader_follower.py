"""Leader and followers: of the callers that wait for responses on one pipe, the first one reads for all.

Reading on the waiting thread avoids waking two threads for every response, which is most of the cost of a small call.
While no caller waits, a thread reads. `reader_states.py` decides who reads; here each event is applied under one lock,
the gate, and its effect carried out. Every wait here ends with an effect or a deadline: the next reader never depends
on a wait that ends by itself.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.transports.base import T, next_outcome
from gaia_mcp.client.transports.stdio.reader_states import (
    THREAD_READS,
    Effect,
    Readers,
    after,
    arrived,
    left,
)
from gaia_mcp.core.deadline import WAIT_SLICE_SECONDS, Deadline

if TYPE_CHECKING:
    from queue import SimpleQueue

# A caller that arrives within this time after the last one finds the pipe free; notifications are delayed as long.
QUIET_SECONDS = 0.05
# A small response often arrives before a sleeping thread would be awake again; polling first made such calls about an
# eighth faster in our measurements. Longer calls lose only this time.
LOOK_SECONDS = 0.0003
# After an unsuccessful poll this many responses are awaited without polling: such a server takes longer, or shares our
# processor and would be slowed down.
ANSWERS_WITHOUT_LOOK = 15
# The capacity of the pipe that wakes a reader.
WAKE_BYTES = 64 * 1024


class LeaderFollower:
    """Reads until `read` returns nothing, passing the data to `take`; calls `end` at the end, or when `take` fails.

    `read` reads from `descriptor`. `take` and `end` are never called by two threads at once. `take` puts outcomes into
    the queues of their callers, and `end` does so for every waiting caller. `end` is called once, by the thread that
    calls `run`, so that a Ctrl-C cannot interrupt it. Its argument is whether data may have been lost. Without
    `busy_polls` a caller sleeps at once: that takes less processor time, and a small response reaches it later.
    """

    def __init__(
        self,
        descriptor: int,
        read: Callable[[], bytes],
        take: Callable[[bytes], None],
        end: Callable[[bool], None],
        *,
        busy_polls: bool = True,
        quiet_seconds: float = QUIET_SECONDS,
    ) -> None:
        self._descriptor = descriptor
        self._read = read
        self._take = take
        self._end = end
        # Held to apply an event and to wake. Reentrant: a signal handler may apply one in the same thread.
        self._gate = threading.RLock()
        # Released to make the thread check the state; the thread acquires it to stand aside.
        self._bell = threading.Lock()
        self._bell.acquire()
        self._left = 0.0
        self._quiet_seconds = quiet_seconds
        self._is_cut = False
        can_poll = hasattr(select, "poll")
        self._readers = Readers("thread" if can_poll else "thread-only")
        self._woken, self._wake = os.pipe() if can_poll else (-1, -1)
        self._may_look = False
        if can_poll:
            for wake_end in (self._woken, self._wake):
                os.set_blocking(wake_end, False)
            # With one processor for both, polling would only delay the server's response.
            self._may_look = busy_polls and hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) > 1
            self._without_look = 0
            # For the thread that reads: a poll object cannot be used by two threads at once.
            self._poller = select.poll()
            self._poller.register(descriptor, select.POLLIN)
            self._poller.register(self._woken, select.POLLIN)

    def run(self) -> None:
        """Read whenever no caller does, to the end or until `stop`. For a thread of its own."""
        try:
            while (state := self._apply(after, "looked").state) != "over":
                if state not in THREAD_READS:
                    self._stand_aside()
                elif state == "thread-only" or self._has_come(None):
                    self._read_once()
        finally:
            try:
                self._end(self._is_cut)
            finally:
                # No caller reads any more, so nothing polls what is closed here.
                with self._gate:
                    descriptors, self._woken, self._wake = (self._woken, self._wake), -1, -1
                    for descriptor in descriptors:
                        if descriptor >= 0:
                            os.close(descriptor)

    def wait(self, outcomes: SimpleQueue[T], deadline: Deadline) -> T | None:
        """The next of `outcomes`; None once `deadline` has passed. This thread reads meanwhile if no other does.

        None in the queue makes it check its deadline again; while it reads, only `wake` makes it check its queue.
        """
        try:
            self._apply(arrived, outcomes)
            while True:
                if self._readers.leader is outcomes:
                    self._lead(outcomes, deadline)
                outcome = next_outcome(outcomes, deadline)
                if outcome is not None or deadline.expired:
                    return outcome
        finally:
            try:
                self._apply(left, outcomes)
            except BaseException:
                # A Ctrl-C may arrive at this very moment: a leader that has left would block all other readers.
                self._apply(left, outcomes)
                raise

    def wake(self) -> None:
        """Make a caller that reads check its queue and its deadline again."""
        with self._gate:
            # The thread checks neither.
            if self._readers.leader is not None:
                self._poke()

    def sleep_only(self) -> None:
        """Make callers sleep at once from now on, as without `busy_polls`."""
        self._may_look = False

    def keep_reading(self) -> None:
        """Make the thread read now if no caller does."""
        self._apply(after, "needed")

    def stop(self) -> None:
        """End the reading, although other processes may hold the pipe open for ever. If pipes cannot be polled, the
        thread notices only when data arrives.
        """
        self._apply(after, "stopped")

    # Events, under the gate.

    def _apply(self, event: Callable[[Readers, Any], tuple[Readers, Effect]], about: Any) -> Readers:
        with self._gate:
            while True:
                before = self._readers
                now, effect = event(before, about)
                # A signal handler may have changed it meanwhile, in this thread.
                if self._readers is before:
                    self._readers = now
                    break
            if effect != "nothing":
                try:
                    self._carry_out(effect, now)
                except BaseException:
                    # A Ctrl-C may arrive at this very moment: the decided effect must still be carried out.
                    self._carry_out(effect, now)
                    raise
            return now

    def _carry_out(self, effect: Effect, readers: Readers) -> None:
        if effect == "promote":
            readers.leader.put(None)
        elif effect == "poke":
            self._poke()
        else:
            with contextlib.suppress(RuntimeError):  # It rings already.
                self._bell.release()

    def _poke(self) -> None:
        if self._wake >= 0:
            with contextlib.suppress(BlockingIOError):  # It is woken already.
                os.write(self._wake, b".")

    # Reading.

    def _lead(self, outcomes: SimpleQueue[T], deadline: Deadline) -> None:
        """Read until there is something in `outcomes`, until the deadline, or until this caller no longer leads."""
        may_look = self._may_look
        if self._without_look:
            may_look = False
            self._without_look -= 1
        while not outcomes.qsize():
            if (may_look and self._look_for_a_moment()) or self._sleep(deadline):
                self._read_once()
            may_look = False
            if outcomes.qsize():
                break
            if self._readers.state != "led":
                # The thread reads to the end, and reports it to all waiting callers.
                self._apply(left, outcomes)
                break
            # Also when data has arrived: a server may send much that no caller waits for.
            if deadline.expired:
                break
        self._left = time.monotonic()

    def _look_for_a_moment(self) -> bool:
        """Poll for data for a short time before sleeping."""
        end = time.monotonic() + LOOK_SECONDS
        while not self._has_come(0):
            if time.monotonic() > end:
                self._without_look = ANSWERS_WITHOUT_LOOK
                return False
            os.sched_yield()
        return True

    def _sleep(self, deadline: Deadline) -> bool:
        return self._has_come(1000 * min(deadline.remaining(), WAIT_SLICE_SECONDS))

    def _has_come(self, milliseconds: float | None) -> bool:
        """Whether there is something to read. Waits so long, or until `wake`."""
        ready = self._poller.poll(milliseconds)
        if not ready or (len(ready) == 1 and ready[0][0] == self._descriptor):
            return bool(ready)
        with contextlib.suppress(BlockingIOError):
            os.read(self._woken, WAKE_BYTES)
        return len(ready) > 1

    def _read_once(self) -> None:
        try:
            data = self._read()
            if data:
                self._take(data)
            else:
                self._apply(after, "ended")
        except BaseException:
            # Also for a Ctrl-C between `read` and `take`: the rest of the stream could not be parsed.
            self._is_cut = True
            self._apply(after, "ended")
            raise

    def _stand_aside(self) -> None:
        """Wait until the thread must check the state, or no caller has read for a while."""
        quiet_seconds = self._quiet_seconds
        if not self._bell.acquire(timeout=quiet_seconds) and time.monotonic() - self._left >= quiet_seconds:
            self._apply(after, "quiet")
