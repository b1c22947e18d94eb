"""A stdio server in this process, from taking over its pipes to its exit.

The protocol has private copies of stdin and stdout, which no other code in the process can reach. `pipe_client` is the
client at the other end.
"""

from __future__ import annotations

import _thread
import io
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from gaia_mcp.core.internals import run_exit_functions
from gaia_mcp.server.outcomes import OnFailure, note_failure
from gaia_mcp.server.running_call import report_no_ended_runs
from gaia_mcp.server.stdio.pipe_client import MAX_CALLS, LoadingProvider, StdioSession, note_full

if TYPE_CHECKING:
    from gaia_mcp.server.provider import Provider

# How long running calls may finish after EOF on stdin. Clients wait about two seconds before they terminate us.
FINISH_SECONDS = 1.0
# How long cancelled tools may clean up. A tool that ignores cancellation must not delay the exit.
CLEANING_SECONDS = 0.5
# A client that closed our stdin may still read slowly (a pager, for example); one that reads nothing has gone.
TAKING_SECONDS = 10.0
# How long an agent's exit functions may run: they may save data or remove temporary files.
EXIT_SECONDS = 1.0
# A pipe's capacity. A larger buffer would be allocated with mmap and freed for every message.
READ_BYTES = 64 * 1024


class StdioServer:
    """Takes over this process's stdin and stdout, and serves a provider over them.

    Reads in its own threads from the start, so that the main thread is free to import a slow agent. `name` is the
    server's name until the provider has loaded. While `max_calls` are running, others wait; `on_full` is called when
    the first one waits, and `on_failure` for each request that ends in an internal error. At the end, running calls may
    finish for `finish_seconds`, and the agent's exit functions run for `exit_seconds`. A client that has closed our
    stdin and reads nothing for `taking_seconds` has gone.
    """

    def __init__(
        self,
        name: str,
        max_calls: int = MAX_CALLS,
        on_full: Callable[[int], None] = note_full,
        on_failure: OnFailure = note_failure,
        *,
        finish_seconds: float = FINISH_SECONDS,
        exit_seconds: float = EXIT_SECONDS,
        taking_seconds: float = TAKING_SECONDS,
    ) -> None:
        self._finish_seconds = finish_seconds
        self._exit_seconds = exit_seconds
        self._taking_seconds = taking_seconds
        self._pipes = GuardedPipes()
        self._provider = LoadingProvider(name)
        self._session = StdioSession(
            self._pipes.read,
            self._pipes.write,
            self._provider,
            max_calls=max_calls,
            on_full=on_full,
            on_failure=on_failure,
            has_input=self._pipes.has_input,
        )
        self._closer = threading.Thread(target=self._close, name="close", daemon=True)

    def allow(self, max_calls: int) -> None:
        """Set the number of calls that may run at once."""
        self._session.max_calls = max_calls

    def run(self, load: Callable[[], Provider]) -> None:
        """Serve until the client closes our stdin. An exception of `load` also ends it, and is raised.

        Raises `OSError` if stdout cannot be written for another reason than a disconnected client.
        """
        report_no_ended_runs()
        self._session.start()
        self._closer.start()
        threading.Thread(target=self._give_up, name="give up", daemon=True).start()
        try:
            self._provider.load(load())
            self._closer.join()
            if (problem := self._session.problem) is not None:
                raise OSError(problem.errno, problem.strerror, "standard output") from problem
        finally:
            # Also after a signal: cancelled asyncio tasks may clean up, and handlers disconnect.
            self._provider.close()
            _run_exit_functions(self._exit_seconds)

    def _give_up(self) -> None:
        if self._pipes.await_abandonment(self._taking_seconds):
            self._session.give_up()

    def _close(self) -> None:
        self._session.wait()
        self._session.finish(self._finish_seconds, CLEANING_SECONDS)
        self._provider.close()
        # A provider that fails to load gets this time to report the reason.
        if not self._provider.has_loaded_within(FINISH_SECONDS):
            # The client has disconnected, and an import cannot be cancelled.
            _run_exit_functions(self._exit_seconds)
            sys.stderr.flush()
            os._exit(0)


def _run_exit_functions(seconds: float) -> None:
    """Run the exit functions that the agent registered, before the parent process can kill this one. In a thread,
    because they may hang; they are left after `seconds`.
    """
    # Not `Thread`, nor `Event`: a signal that interrupts one may leave its lock held, for ever.
    running = _thread.allocate_lock()
    running.acquire()
    ends = time.monotonic() + seconds
    have_run = False
    try:
        _thread.start_new_thread(run_exit_functions, (running.release,))
        have_run = running.acquire(timeout=seconds)
    finally:
        # A signal during the wait, or during the start of the thread, does not shorten their time.
        running.acquire(timeout=0.0 if have_run else max(0.0, ends - time.monotonic()))


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
