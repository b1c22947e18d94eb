"""Parts of one run of a program to its end: its input written, its output collected, and what it started ended too."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from gaia_mcp.client.transports.stdio.drain import Drain
from gaia_mcp.client.transports.stdio.process_groups import signal_group
from gaia_mcp.deadline import IMPATIENT_GRACE_SECONDS

if TYPE_CHECKING:
    from io import FileIO

    from gaia_mcp.client.transports.stdio.child import Child
    from gaia_mcp.deadline import Deadline

# What Linux allows to every user.
PIPE_BYTES = 1 << 20


class Collected:
    """What a program writes to one stream: the first `most` bytes of it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def is_flood(self) -> bool:
        """Whether there was more."""
        return self._size > self._most

    def data(self) -> bytes:
        """What was kept."""
        return b"".join(self._parts)

    def text(self) -> str:
        """What was kept, as text in UTF-8; what is not is replaced."""
        return self.data().decode("utf-8", "replace")

    def take(self, data: bytes) -> None:
        """Keep what has come, as far as there is room."""
        if room := max(0, self._most - self._size):
            self._parts.append(data[:room])
        self._size += len(data)


def drain_stdout(child: Child, name: str, take: Callable[[bytes], None]) -> Drain:
    """Have `take` called, in a thread, with what a program that has been started writes to its stdout."""
    drain = Drain(name, take)
    # A copy, which the drain closes in its own time: a process that the program has left may hold the pipe open.
    pipe = os.fdopen(os.dup(child.stdout), "rb", buffering=0)
    child.close_stdout()
    _widen(pipe)
    drain.start(pipe)
    return drain


def _widen(pipe: FileIO) -> None:
    """Let a pipe hold as much as it can: Gemini CLI ends without waiting until what it has written is read."""
    try:
        import fcntl

        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    except (ImportError, AttributeError, OSError):
        return  # Not on this system, or not for this user.


def feed(child: Child, name: str, data: bytes, deadline: Deadline) -> None:
    """Write this as the whole input of a program, in a thread."""

    def write() -> None:
        # What does not read its input may answer all the same; what it makes of half of it, it will report.
        with contextlib.suppress(OSError):
            child.write(data, deadline)
        child.close_stdin()

    threading.Thread(target=write, name=f"{name} stdin", daemon=True).start()


def end_program(child: Child) -> None:
    """End a program, if it was started and has not ended, and what it has left behind."""
    if child.pid is not None and child.wait(0) is None:
        # It waits for no end of its input. A client that is interrupted gives its server little more time than this.
        signal_group(child.pid, force=False)
        child.wait(IMPATIENT_GRACE_SECONDS)
        child.stop(0.0)
    child.stop(IMPATIENT_GRACE_SECONDS)
