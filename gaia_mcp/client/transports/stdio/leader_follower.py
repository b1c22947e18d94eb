"""Leader and followers: of the callers that wait for responses on one pipe, the first reads it for all.

Reading where one waits spares waking two threads for every response, which is most of what a small call costs. While no
caller waits, a thread reads. Who reads is decided in `reader_states.py`; here each event is applied under one gate, and
its effect carried out. Every wait here ends with an effect or a deadline: none has to end by itself for the next reader
to begin.
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
from gaia_mcp.deadline import WAIT_SLICE_SECONDS, Deadline

if TYPE_CHECKING:
    from queue import SimpleQueue

# Callers that come within this time of one another find the pipe free; what a server sends unasked waits as long.
QUIET_SECONDS = 0.05
# A small answer is often there before a thread that went to sleep for it would be awake again; looking first made such
# calls about an eighth faster where we measured. Longer ones lose nothing but this.
LOOK_SECONDS = 0.0002
# After a look in vain this many answers are waited for without one: such a server takes longer, or has to share our
# processor, and would be kept from answering.
ANSWERS_WITHOUT_LOOK = 15
# All that the pipe holds that wakes a reader.
WAKE_BYTES = 64 * 1024


class LeaderFollower:
    """Reads until `read` returns nothing, giving what it returns to `take`; at the end, or when `take` fails, `end`.

    `descriptor` is what `read` reads. `take` and `end` are never called by two threads at once. `take` puts what
    concerns a caller into its queue, and so does `end` for every caller that waits. `end` is called once, by the thread
    that calls `run`: a Ctrl-C cannot interrupt it. It is told whether a part of what was read may have been lost.
    """

    def __init__(
        self, descriptor: int, read: Callable[[], bytes], take: Callable[[bytes], None], end: Callable[[bool], None]
    ) -> None:
        self._descriptor = descriptor
        self._read = read
        self._take = take
        self._end = end
        # Held to apply an event and to wake. A signal handler may enter again in the same thread.
        self._gate = threading.RLock()
        # Released while the thread is to look; the thread acquires it to stand aside.
        self._bell = threading.Lock()
        self._bell.acquire()
        self._left = 0.0
        self._is_cut = False
        can_poll = hasattr(select, "poll")
        self._readers = Readers("thread" if can_poll else "thread-only")
        self._woken, self._wake = os.pipe() if can_poll else (-1, -1)
        if can_poll:
            for wake_end in (self._woken, self._wake):
                os.set_blocking(wake_end, False)
            # With one processor for both, looking would only keep the server from answering.
            self._may_look = hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) > 1
            self._without_look = 0
            # For the thread that reads: it refuses to be polled by two at once.
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

        None in the queue has it look at its deadline again; if it reads, only `wake` makes it look at its queue.
        """
        try:
            self._apply(arrived, outcomes)
            while True:
                if self._readers.leader is outcomes:
                    self._lead(outcomes, deadline)
                # Only this thread takes anything out.
                outcome = outcomes.get_nowait() if outcomes.qsize() else next_outcome(outcomes, deadline)
                if outcome is not None or deadline.expired:
                    return outcome
        finally:
            try:
                self._apply(left, outcomes)
            except BaseException:
                # A Ctrl-C at this very moment: a leader that has gone would keep all others from reading.
                self._apply(left, outcomes)
                raise

    def wake(self) -> None:
        """Have a caller that reads look again at its queue, and at its deadline."""
        with self._gate:
            # The thread looks at neither.
            if self._readers.leader is not None:
                self._poke()

    def keep_reading(self) -> None:
        """Have the thread read now if no caller does."""
        self._apply(after, "needed")

    def stop(self) -> None:
        """Have the reading end, although other processes may hold the pipe open for ever. Where pipes cannot be polled,
        the thread notices only when something comes.
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
                    # A Ctrl-C at this very moment: what has been decided has to be known.
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
        """Read until there is something in `outcomes`, at most until the deadline or while that is still to be done."""
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
                # The thread is to read to the end, or has to: it tells all who wait.
                self._apply(left, outcomes)
                break
            # Also when something has come: a server may send much that no caller waits for.
            if deadline.expired:
                break
        self._left = time.monotonic()

    def _look_for_a_moment(self) -> bool:
        """Look whether something has come, again and again, before going to sleep."""
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
        """Whether there is something to read, waited for so long or until `wake`."""
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
            # Also a Ctrl-C between reading and taking: what follows could not be understood.
            self._is_cut = True
            self._apply(after, "ended")
            raise

    def _stand_aside(self) -> None:
        """Until the thread is to look, or no caller has read for a while."""
        if not self._bell.acquire(timeout=QUIET_SECONDS) and time.monotonic() - self._left >= QUIET_SECONDS:
            self._apply(after, "quiet")
