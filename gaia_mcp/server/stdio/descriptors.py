"""The protocol's own copies of this process's stdin and stdout, out of reach of everything else that runs in it."""

from __future__ import annotations

import io
import os
import sys
import time

# As much as a pipe holds. A larger buffer would be mapped and unmapped by the kernel for every message.
READ_BYTES = 64 * 1024


class GuardedPipes:
    """Takes stdin and stdout under private descriptors. From then on descriptor 0 is empty and 1 writes to stderr, so
    that no `print`, no C library and no child process of an agent can write into the protocol.
    """

    def __init__(self) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # What an agent prints now goes to a log. Flushed after each line, it is not lost when the agent is killed,
            # and stays in order with what it writes to stderr.
            sys.stdout.reconfigure(line_buffering=True)
        # How many pieces have been written, and whether one more is being written.
        self._written = 0
        self._is_writing = False
        self._input = os.dup(0)
        self._output = os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)

    def read(self) -> bytes:
        """The next bytes from the client; empty at the end."""
        while True:
            try:
                return os.read(self._input, READ_BYTES)
            except BlockingIOError:
                # The parent process left its end non-blocking: wait until there is more.
                import select

                select.select([self._input], [], [])
            except ConnectionError:
                return b""

    def has_input(self) -> bool:
        """Whether the client has sent something that is not read yet, or has closed its end. False where that cannot be
        known: on Windows.
        """
        import select

        poll = getattr(select, "poll", None)
        if poll is None:
            return False
        poller = poll()
        poller.register(self._input, select.POLLIN)
        return bool(poller.poll(0))

    def write(self, data: bytes) -> None:
        """Write all of `data`. Raises `BrokenPipeError` when the client has gone, `OSError` if it cannot be written."""
        view: bytes | memoryview = data
        self._is_writing = True
        while True:
            try:
                written = os.write(self._output, view[:READ_BYTES])
                self._written += 1
                if written == len(view):
                    break
                view = memoryview(view)[written:]
            except BlockingIOError:
                import select

                select.select([], [self._output], [])
        self._is_writing = False

    def await_abandonment(self, seconds: float) -> bool:
        """Wait until the client has closed our input and, after that, takes nothing of what is being written for
        `seconds`. Most never do. False where that cannot be known: for a device, and on Windows.
        """
        import select

        closed = getattr(select, "POLLHUP", 0) | getattr(select, "POLLRDHUP", 0)  # of a pipe, and of half a socket
        if not closed:
            return False
        poller = select.poll()
        poller.register(self._input, closed)
        ((_, event),) = poller.poll()
        is_stuck = False
        while event & closed and not is_stuck:
            seen = self._written
            time.sleep(seconds)
            is_stuck = self._is_writing and self._written == seen
        return is_stuck
