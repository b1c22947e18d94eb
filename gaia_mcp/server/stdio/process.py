"""This process as a stdio server: from taking its pipes to its exit."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from gaia_mcp.internals import run_exit_functions
from gaia_mcp.server.failures import OnFailure, note_failure
from gaia_mcp.server.stdio.descriptors import GuardedPipes
from gaia_mcp.server.stdio.loading import LoadingProvider
from gaia_mcp.server.stdio.reading import MAX_CALLS, StdioSession, note_full
from gaia_mcp.server.threads import report_no_ended_runs

if TYPE_CHECKING:
    from gaia_mcp.server.provider import Provider

# After the end of input, calls that still run may finish; clients wait about two seconds before they use force.
FINISH_SECONDS = 1.0
# A tool that is cancelled may still have to save something; one that does not listen must not keep its client.
CLEANING_SECONDS = 0.5
# A client that has closed our input may still read slowly, perhaps through a pager. One that takes nothing has gone.
TAKING_SECONDS = 10.0
# An agent may save something, or remove its temporary files.
EXIT_SECONDS = 1.0


class StdioServer:
    """Takes this process's stdin and stdout, and serves a provider over them.

    Reads in threads of its own from the first moment on, so that the main thread is free to import a slow agent.
    `name` is shown until the provider has loaded. While `max_calls` are running, others wait; `on_full` is called when
    the first one has to, and `on_failure` for each request that ends in an internal error.
    """

    def __init__(
        self,
        name: str,
        max_calls: int = MAX_CALLS,
        on_full: Callable[[int], None] = note_full,
        on_failure: OnFailure = note_failure,
    ) -> None:
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
        """Let so many calls run at once from now on."""
        self._session.max_calls = max_calls

    def run(self, load: Callable[[], Provider]) -> None:
        """Serve until the client closes our input. An exception of `load` ends it too, and is raised.

        Raises `OSError` if our output cannot be written, although the client may be there.
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
            # Also when a signal ends it: a task that is cancelled may clean up, and a handler disconnects.
            self._provider.close()
            _run_exit_functions()

    def _give_up(self) -> None:
        if self._pipes.await_abandonment(TAKING_SECONDS):
            self._session.give_up()

    def _close(self) -> None:
        self._session.wait()
        self._session.finish(FINISH_SECONDS, CLEANING_SECONDS)
        self._provider.close()
        # A provider that cannot be loaded is given the time to report why.
        if not self._provider.has_loaded_within(FINISH_SECONDS):
            # The client has gone, and an import cannot be cancelled.
            _run_exit_functions()
            sys.stderr.flush()
            os._exit(0)


def _run_exit_functions() -> None:
    """Run what an agent has registered for the exit of its process, before the parent process can kill this one. In a
    thread, because it may hang.
    """
    # `Thread.join` would take a thread for ended once a signal has interrupted it.
    have_run = threading.Event()
    ends = time.monotonic() + EXIT_SECONDS
    try:
        threading.Thread(target=run_exit_functions, args=(have_run.set,), name="exit", daemon=True).start()
        have_run.wait(EXIT_SECONDS)
    finally:
        # A signal that comes meanwhile, be it while the thread starts, does not take the rest of the time from them.
        have_run.wait(max(0.0, ends - time.monotonic()))
