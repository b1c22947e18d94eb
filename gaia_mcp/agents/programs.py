"""Building blocks to run a program to its end: write its input, collect its output, end it and its children."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from gaia_mcp.client.transports.stdio.input_pipe import Drain
from gaia_mcp.client.transports.stdio.process_groups import signal_group
from gaia_mcp.deadline import IMPATIENT_GRACE_SECONDS

if TYPE_CHECKING:
    from io import FileIO

    from gaia_mcp.client.transports.stdio.child import Child
    from gaia_mcp.deadline import Deadline

# The default limit of Linux for unprivileged users.
PIPE_BYTES = 1 << 20


class Collected:
    """The first `most` bytes that a program writes to one stream."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def is_flood(self) -> bool:
        """Whether the program wrote more."""
        return self._size > self._most

    def data(self) -> bytes:
        """The bytes collected."""
        return b"".join(self._parts)

    def text(self) -> str:
        """The bytes collected, decoded as UTF-8; invalid bytes are replaced."""
        return self.data().decode("utf-8", "replace")

    def take(self, data: bytes) -> None:
        """Collect bytes, up to the limit."""
        if room := max(0, self._most - self._size):
            self._parts.append(data[:room])
        self._size += len(data)


def drain_stdout(child: Child, name: str, take: Callable[[bytes], None]) -> Drain:
    """Call `take`, in a thread, with the data that a started program writes to its stdout."""
    drain = Drain(name, take)
    # A duplicate, which the drain closes itself: a process that the program left running may hold the pipe open.
    pipe = os.fdopen(os.dup(child.stdout), "rb", buffering=0)
    child.close_stdout()
    _widen(pipe)
    drain.start(pipe)
    return drain


def _widen(pipe: FileIO) -> None:
    """Increase a pipe's capacity: Gemini CLI exits without waiting until its output is read."""
    try:
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except (ImportError, AttributeError, OSError):
        return  # The system does not support it, or does not allow it to this user.


def feed(child: Child, name: str, data: bytes, deadline: Deadline) -> None:
    """Write the complete input of a program and close its stdin, in a thread."""

    def write() -> None:
        # A program that does not read its input may still succeed; one that got half of it reports an error itself.
        with contextlib.suppress(OSError):
            child.write(data, deadline)
        child.close_stdin()

    threading.Thread(target=write, name=f"{name} stdin", daemon=True).start()


def end_program(child: Child) -> None:
    """End a program, if it is running, and the processes that it left running."""
    if child.pid is not None and child.wait(0) is None:
        # Signalled at once: closing stdin would not end it. An interrupted client gives its server little more time.
        signal_group(child.pid, force=False)
        child.wait(IMPATIENT_GRACE_SECONDS)
        child.stop(0.0)
    child.stop(IMPATIENT_GRACE_SECONDS)
