"""The processes that the harness starts: how each ends, and that nothing of it stays."""

from __future__ import annotations

import ctypes
import os
import select
import signal
import time
from pathlib import Path

from tests.fuzz.oracles import Fault

PR_SET_CHILD_SUBREAPER = 36
# No command that is to end takes as long, even on a busy machine.
LONGEST_SECONDS = 60.0
# Whatever a command has started must have ended so long after it.
LEFT_SECONDS = 5.0


def adopt_orphans() -> None:
    """From now on, what a command leaves running becomes a child of this process. Linux alone has this."""
    assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def ends_within(pid: int, seconds: float) -> bool:
    """Whether a child ends within `seconds`. It is not reaped."""
    handle = os.pidfd_open(pid)
    ready, _, _ = select.select([handle], [], [], seconds)
    os.close(handle)
    return bool(ready)


def status_of(pid: int) -> int:
    """How a child has ended, as in `subprocess`. Raises `Fault` if it does not end."""
    if not ends_within(pid, LONGEST_SECONDS):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise Fault(f"it does not end within {LONGEST_SECONDS:g} s")
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def reap_rest() -> None:
    """Wait for the end of all children. Raises `Fault` if one stays."""
    end = time.monotonic() + LEFT_SECONDS
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0 and time.monotonic() > end:
            raise Fault(f"it has left running {_ended_by_force()}")
        if pid == 0:
            time.sleep(0.005)


def _ended_by_force() -> list[str]:
    """The command lines of all children, each of which is killed."""
    commands = []
    while left := Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        for pid in left:
            commands.append(Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode())
            os.kill(int(pid), signal.SIGKILL)
            os.waitpid(int(pid), 0)
    return commands
