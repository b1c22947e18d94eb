"""Serving over this process's own stdin and stdout, with both kept out of everybody else's hands."""

from __future__ import annotations

import io
import os
import sys
import threading
from typing import TYPE_CHECKING

from gaia_mcp.internals import run_exit_functions
from gaia_mcp.server.stdio.session import AgentServer

if TYPE_CHECKING:
    from collections.abc import Callable

    from gaia_mcp.server.agent import ServedAgent

# As much as a pipe holds. A larger buffer would be mapped and unmapped by the kernel for every message.
READ_BYTES = 64 * 1024
# After the end of input, calls that still run may finish; clients wait about two seconds before they use force.
FINISH_SECONDS = 1.0
# An agent may save something, or remove its temporary files.
EXIT_SECONDS = 1.0


class GuardedPipes:
    """The protocol's two descriptors under private numbers. From then on 0 reads nothing and 1 writes to stderr, so
    that no `print`, no C library and no child process of an agent can get between.
    """

    def __init__(self) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            # An agent's prints now go to a log: line by line they are there when it is killed, and precede its errors.
            sys.stdout.reconfigure(line_buffering=True)
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
                # The other end was handed to us without blocking; wait until there is more.
                import select

                select.select([self._input], [], [])
            except ConnectionError:
                return b""

    def write(self, data: bytes) -> None:
        """Write all of `data`. Raises `BrokenPipeError` when the client has gone."""
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self._output, view) :]
            except BlockingIOError:
                import select

                select.select([], [self._output], [])


class StdioServer:
    """Reads in threads of its own from the first moment on, so that the main thread is free to import a slow agent."""

    def __init__(self, name: str) -> None:
        pipes = GuardedPipes()
        self._server = AgentServer(pipes.read, pipes.write, name)
        self._closer = threading.Thread(target=self._close, name="close", daemon=True)

    def run(self, load: Callable[[], ServedAgent]) -> None:
        """Serve until the client closes our input. What `load` raises ends it too."""
        self._server.start()
        self._closer.start()
        try:
            self._server.set_agent(load())
            self._closer.join()
        finally:
            _run_exit_functions()

    def replace_agent(self, agent: ServedAgent) -> None:
        """Serve another agent from now on, and say so."""
        self._server.set_agent(agent)

    def _close(self) -> None:
        self._server.wait()
        self._server.finish(FINISH_SECONDS)
        # An agent that cannot be loaded is given the time to say why.
        if not self._server.has_loaded_within(FINISH_SECONDS):
            # Nobody waits for it any more, and an import cannot be called off.
            _run_exit_functions()
            sys.stderr.flush()
            os._exit(0)


def _run_exit_functions() -> None:
    """Do what an agent has left for the exit of its process. In a thread, because it may hang: whoever started us may
    then end the process without any ceremony, and would end it so in any case.
    """
    leaving = threading.Thread(target=run_exit_functions, name="exit", daemon=True)
    leaving.start()
    leaving.join(EXIT_SECONDS)
