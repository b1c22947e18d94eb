"""Leader and follower: a caller that alone waits for a response reads the pipe itself, else a thread does.

Reading where one waits spares waking two threads for every response, which is most of what a small call costs. The
thread steps aside when asked, and takes over again when the callers have gone. Where pipes cannot be polled (Windows),
it reads all the time.
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections.abc import Callable

from gaia_mcp.deadline import WAIT_SLICE_SECONDS, Deadline

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

    `descriptor` is what `read` reads. `take` and `end` are never called by two threads at once.
    """

    def __init__(
        self, descriptor: int, read: Callable[[], bytes], take: Callable[[bytes], None], end: Callable[[], None]
    ) -> None:
        self._descriptor = descriptor
        self._read = read
        self._take = take
        self._end = end
        # Held by the thread that reads. Only its holder can release it: after a Ctrl-C it is unknown whether it has it.
        self._turn = threading.RLock()
        self._called_back = threading.Event()
        self._at_end = False
        self._is_stopped = False
        self._left = 0.0
        # Held to wake the thread out of its poll, and to close what wakes it.
        self._gate = threading.Lock()
        self._is_polling = False
        self._can_poll = hasattr(select, "poll")
        self._woken, self._wake = os.pipe() if self._can_poll else (-1, -1)
        if self._can_poll:
            for wake_end in (self._woken, self._wake):
                os.set_blocking(wake_end, False)
            # With one processor for both, looking would only keep the server from answering.
            self._may_look = hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) > 1
            self._without_look = 0
            self._poller = select.poll()
            self._poller.register(descriptor, select.POLLIN)
            self._poller.register(self._woken, select.POLLIN)

    def run(self) -> None:
        """Read whenever no caller does, to the end or until `stop`. For a thread of its own."""
        try:
            while not self._at_end and not self._is_stopped:
                with self._turn:
                    if self._can_poll:
                        self._read_until_woken()
                    else:
                        self._read_once()
                if self._can_poll and not self._at_end:
                    self._stand_aside()
            with self._turn:
                self._finish()
        finally:
            with self._gate:
                self._is_polling = False
                descriptors, self._woken, self._wake = (self._woken, self._wake), -1, -1
                for descriptor in descriptors:
                    if descriptor >= 0:
                        os.close(descriptor)

    def read_here(self, is_done: Callable[[], object], deadline: Deadline) -> bool:
        """Read in this thread until `is_done`, the end, or the deadline; False if another thread is reading."""
        if not self._can_poll:
            return False
        try:
            if not self._take_turn(deadline):
                return False
            may_look = self._may_look and self._without_look == 0
            self._without_look = max(0, self._without_look - 1)
            while not is_done() and not self._at_end:
                if (may_look and self._look_for_a_moment()) or self._sleep(deadline):
                    self._read_once()
                may_look = False
                # Also when something has come: a server may send much that no caller waits for.
                if not is_done() and deadline.expired:
                    break
            self._left = time.monotonic()
        finally:
            # First of all, and without a function of ours around it, in which a Ctrl-C could come before.
            try:  # noqa: SIM105
                self._turn.release()
            except RuntimeError:
                pass  # Another thread is reading.
            if self._at_end:
                self._called_back.set()
        return True

    def wake(self) -> None:
        """Have a caller that reads look again whether it is done, and at its deadline."""
        with self._gate:
            # The thread looks at neither, and would only make way.
            if self._wake >= 0 and not self._is_polling:
                with contextlib.suppress(BlockingIOError):
                    os.write(self._wake, b".")

    def call_back(self) -> None:
        """Have the thread read again now: a caller waits that does not read."""
        self._called_back.set()

    def stop(self) -> None:
        """Have the thread end, although other processes may hold the pipe open for ever. A caller that reads must be
        done by then. Where pipes cannot be polled, the thread notices only when something comes.
        """
        with self._gate:
            self._is_stopped = True
            if self._is_polling:
                os.write(self._wake, b".")
        self._called_back.set()

    def _take_turn(self, deadline: Deadline) -> bool:
        if self._turn.acquire(blocking=False):
            return True
        with self._gate:
            if not self._is_polling:
                return False
            os.write(self._wake, b".")
        return self._turn.acquire(timeout=min(deadline.remaining(), WAIT_SLICE_SECONDS))

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

    def _has_come(self, milliseconds: float) -> bool:
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
                self._finish()
        except BaseException:
            # Also a Ctrl-C between reading and taking: what follows could not be understood.
            self._finish()
            raise

    def _finish(self) -> None:
        if not self._at_end:
            self._at_end = True
            self._end()

    def _read_until_woken(self) -> None:
        poller = select.poll()
        poller.register(self._descriptor, select.POLLIN)
        poller.register(self._woken, select.POLLIN)
        with self._gate:
            self._is_polling = True
        while not self._at_end and not self._is_stopped:
            ready = [descriptor for descriptor, _ in poller.poll()]
            if self._woken in ready:
                break
            self._read_once()
        with self._gate:
            self._is_polling = False
            with contextlib.suppress(BlockingIOError):
                os.read(self._woken, WAKE_BYTES)

    def _stand_aside(self) -> None:
        """Until called back, or no caller has read for a while."""
        while not self._called_back.wait(QUIET_SECONDS):
            if time.monotonic() - self._left >= QUIET_SECONDS and self._turn.acquire(blocking=False):
                self._turn.release()
                break
        self._called_back.clear()
