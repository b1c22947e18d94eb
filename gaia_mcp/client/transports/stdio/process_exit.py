"""Detects the exit of a process without reaping it, since its id is not reused before it is reaped; and pipes of a
process that others hold open.
"""

from __future__ import annotations

import contextlib
import os
from typing import IO

_LOOK_ONLY = getattr(os, "WEXITED", 0) | getattr(os, "WNOHANG", 0) | getattr(os, "WNOWAIT", 0)


def is_child(pid: object) -> bool:
    """Whether this is the id of an unreaped child of this process. If a program replaces `subprocess.Popen`, as tests
    do, it may be any number, even the id of a process that is not ours to signal.
    """
    if not isinstance(pid, int):
        return False
    try:
        os.waitid(os.P_PID, pid, _LOOK_ONLY)
    except AttributeError:  # Windows, and macOS before Python 3.13.
        return True
    except (OSError, OverflowError):
        return False
    return True


def is_running(pid: int) -> bool | None:
    """Whether a child runs. None if unknown (Windows)."""
    try:
        return os.waitid(os.P_PID, pid, _LOOK_ONLY) is None
    except AttributeError:
        return None
    except ChildProcessError:  # Another thread has reaped it.
        return False


def was_killed(pid: int) -> bool:
    """Whether a child was ended by a signal. False while it runs, and if another thread has reaped it."""
    try:
        ended = os.waitid(os.P_PID, pid, _LOOK_ONLY)
    except ChildProcessError:
        return False
    return ended is not None and ended.si_code != os.CLD_EXITED


def exit_descriptor(pid: int) -> int:
    """A descriptor, for the caller to close, that becomes readable when the process has ended; -1 if unsupported."""
    try:
        return os.pidfd_open(pid)
    except (AttributeError, OSError):  # Only Linux has it, and not every sandbox; another thread may have reaped it.
        return -1


def exits_within(pid: int, seconds: float) -> bool | None:
    """Wait for the process to end, `seconds` at most. Returns whether it has; None if the system cannot wait for it.

    Popen polls at growing intervals, so its delay can be as long as the wait itself.
    """
    descriptor = exit_descriptor(pid)
    if descriptor < 0:
        return None
    try:
        import select

        poller = select.poll()
        poller.register(descriptor, select.POLLIN)
        return bool(poller.poll(1000 * seconds))
    finally:
        os.close(descriptor)


def held_open(*pipes: IO[bytes] | None) -> list[int]:
    """The inodes of those `pipes`, which we read, that some process can still write to. Empty on Windows."""
    import select

    held: list[int] = []
    for pipe in pipes if hasattr(select, "poll") else ():
        with contextlib.suppress(OSError, ValueError):  # The thread that reads it has just closed it.
            if pipe is not None:
                poller = select.poll()
                poller.register(pipe, 0)
                if not poller.poll(0):  # Neither hung up nor closed.
                    held.append(os.fstat(pipe.fileno()).st_ino)
    return held
