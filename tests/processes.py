"""Which processes are left, and what this one may do."""

from __future__ import annotations

import math
import os
import signal
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator

# Of a person who runs no other program.
PERSON, GROUP_OF_PERSON = 4321, 1234


@contextmanager
def as_a_person() -> Iterator[None]:
    """Without the rights of the administrator, where it is the administrator who runs the tests."""
    if os.getuid() != 0:
        yield
        return
    groups, group = os.getgroups(), os.getgid()
    os.setgroups([])
    os.setresgid(GROUP_OF_PERSON, GROUP_OF_PERSON, group)
    os.setresuid(PERSON, PERSON, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)
        os.setresgid(group, group, group)
        os.setgroups(groups)


def pids_with(words: str) -> dict[int, str]:
    """The processes that were started with `words` in their environment and still run, with their command lines."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if words.encode() in (folder / "environ").read_bytes():
                    found[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
    return found


def end_all_with(words: str) -> None:
    """End those processes, and wait until they have ended."""
    for pid in pids_with(words):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not pids_with(words))


def living_with(words: str) -> list[str]:
    """The command lines of those processes."""
    return list(pids_with(words).values())


def children(pid: int | str = "self") -> list[int]:
    """The children of this process, or of another, with those that have ended and are not waited for."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:
        return []
    return [int(child) for thread in threads for child in _read(thread / "children").split()]


def family(pid: int) -> dict[int, str]:
    """A process and its descendants, those that run, with their command lines."""
    found = {}
    for child in children(pid):
        found |= family(child)
    words = command_line(pid)
    return found | {pid: words} if words else found


def command_line(pid: int) -> str:
    """The words of a process, with spaces between; nothing of one that has ended."""
    return _read(Path(f"/proc/{pid}/cmdline")).rstrip("\0").replace("\0", " ")


def ended_name(pid: int) -> str:
    """The name of a process that has ended and has not been reaped; empty for any other."""
    before, _, after = _read(Path(f"/proc/{pid}/stat")).rpartition(")")
    return before.partition("(")[2] if after.split()[:1] == ["Z"] else ""


def workers(pid: int | str = "self") -> list[int]:
    """The children of this process, or of another, that check a value and still run."""
    return [child for child in children(pid) if "gaia_mcp.checking" in command_line(child)]


def processor_seconds(pid: int) -> float:
    """The time for which a process has used a processor; infinite if it has ended."""
    fields = _read(Path("/proc", str(pid), "stat")).rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if fields else math.inf


def _read(path: Path) -> str:
    """What the system tells; nothing of a process or thread that has ended meanwhile."""
    try:
        return path.read_text()
    except OSError:
        return ""
