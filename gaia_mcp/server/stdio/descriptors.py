"""Private copies of this process's stdin and stdout for the protocol, which no other code in it can reach."""

from __future__ import annotations

import io
import os
import sys
import time

# A pipe's capacity. A larger buffer would be allocated with mmap and freed for every message.
READ_BYTES = 64 * 1024


class GuardedPipes:
    """Moves stdin and stdout to private descriptors. Descriptor 0 then reads the null device and 1 writes to stderr, so
    that no `print`, C library or child process of an agent can write into the protocol stream.
    """

    def __init__(self) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # An agent's prints now go to the stderr log. Flushed after each line, they are not lost when the agent is
            # killed, and stay in order with other stderr output.
            sys.stdout.reconfigure(line_buffering=True)
        # The number of completed writes, and whether another is in progress.
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
                # The parent process made the pipe non-blocking: wait until it is readable.
                import select

                select.select([self._input], [], [])
            except ConnectionError:
                return b""

    def has_input(self) -> bool:
        """Whether unread input is available, or the client has closed its end. False where that cannot be determined:
        on Windows.
        """
        import select

        poll = getattr(select, "poll", None)
        if poll is None:
            return False
        poller = poll()
        poller.register(self._input, select.POLLIN)
        return bool(poller.poll(0))

    def write(self, data: bytes) -> None:
        """Write all of `data`. Raises `BrokenPipeError` if the client has disconnected, else `OSError`."""
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
        """Wait until the client has closed our input and then reads none of our output for `seconds` while a write is
        blocked. Returns False where that cannot be determined: for a device, and on Windows.
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
