"""Runs code once, in a separate process and folder, and ends it with the processes that it started."""

from __future__ import annotations

import json
import os
import sys
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.agents.code_runner import confined
from gaia_mcp.agents.programs import Collected, drain_stdout, end_program, feed
from gaia_mcp.client.transports.stdio.child import Child
from gaia_mcp.deadline import Deadline

if TYPE_CHECKING:
    from gaia_mcp.toolcall import Call

# The interval at which a run's limits are checked.
LOOK_SECONDS = 0.05
# Output written before the process ended is already in the pipes.
SETTLE_SECONDS = 0.5
# The variables that the system's libraries need to load and Python to find its own. No others are passed on.
_PASSED_ON = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


class Limits(NamedTuple):
    """The limits of one run. Memory and file size apply to each process, output to each stream."""

    seconds: float
    memory_bytes: int = 1 << 30
    processes: int = 64
    folder_bytes: int = 64 << 20
    folder_files: int = 10_000
    output_bytes: int = 1 << 20


class Ran(NamedTuple):
    """The result of a run. A terminated run has no exit status and the reason as `problem`; the exit status after
    signal N is 128 + N.
    """

    stdout: str
    stderr: str
    exit_status: int | None
    problem: str


def run(code: str, limits: Limits, call: Call) -> Ran:
    """Run Python code. Raises `SpawnError`, and, after it terminated the run, `CallCancelledError`."""
    stdout, stderr = Collected(limits.output_bytes), Collected(limits.output_bytes)
    flood = f"it wrote more than {limits.output_bytes >> 10} KiB"
    problem = ""
    with TemporaryDirectory(prefix="gaia-code-", ignore_cleanup_errors=True) as folder:
        child = _child(folder, stderr)
        deadline = Deadline(limits.seconds)
        try:
            child.start()
            drain = drain_stdout(child, "code", stdout.take)
            feed(child, "code", json.dumps(_order(code, limits)).encode(), deadline)
            while not problem and child.wait(min(LOOK_SECONDS, deadline.remaining())) is None:
                call.raise_if_cancelled()
                is_flood = stdout.is_flood or stderr.is_flood
                problem = flood if is_flood else _excess(child, Path(folder), limits, deadline)
            status = child.wait(0)
        finally:
            end_program(child)
        drain.stop(SETTLE_SECONDS)
    if stdout.is_flood or stderr.is_flood:
        problem = problem or flood
    if status is not None:
        status = None if problem else 128 - status if status < 0 else status
    return Ran(stdout.text(), stderr.text(), status, problem)


def _order(code: str, limits: Limits) -> dict[str, Any]:
    """The input of the process."""
    # More CPU time than the run has wall time, so that this process ends it and can report the reason.
    seconds = int(limits.seconds) + 2
    return {"code": code, "seconds": seconds, "memory": limits.memory_bytes, "file": limits.folder_bytes}


def is_cut_off() -> bool:
    """Whether this system lets code be isolated from the network."""
    child = _child(str(Path.cwd()), Collected(0), "probe")
    answer = Collected(100)
    try:
        child.start()
        drain = drain_stdout(child, "probe", answer.take)
        child.wait(10.0)
        drain.settle(SETTLE_SECONDS)
    finally:
        end_program(child)
    return answer.data().strip() == b"true"


def _child(folder: str, stderr: Collected, *words: str) -> Child:
    own = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    return Child(
        "code",
        sys.executable,
        # -I: environment variables, the user's folders and the working folder do not affect imports.
        ["-I", "-u", "-X", "utf8", confined.__file__, *words],
        environment={**own, "HOME": folder, "TMPDIR": folder, "TEMP": folder},
        cwd=folder,
        on_stderr=stderr.take,
    )


def _excess(child: Child, folder: Path, limits: Limits, deadline: Deadline) -> str:
    """The limit that the run exceeds, as the reason to end it; empty if it exceeds none."""
    if deadline.expired:
        return f"it took longer than {limits.seconds:g} s"
    assert child.pid is not None  # noqa: S101 (it has been started)
    if _processes_below(child.pid) > limits.processes:
        return f"it started more than {limits.processes} processes"
    size, files = _taken(folder, limits)
    if size > limits.folder_bytes:
        return f"it wrote files of more than {limits.folder_bytes >> 20} MiB"
    if files > limits.folder_files:
        return f"it made more than {limits.folder_files} files"
    return ""


def _processes_below(pid: int) -> int:
    """The number of descendants of a process; 0 where the system has no /proc."""
    children: defaultdict[bytes, list[bytes]] = defaultdict(list)
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # The process ended in the meantime.
            # The state and the parent follow the program's name, which is in parentheses and may contain any bytes.
            parent = (folder / "stat").read_bytes().rpartition(b")")[2].split()[1]
            children[parent].append(folder.name.encode())
    found = 0
    left = [str(pid).encode()]
    while left:
        below = children[left.pop()]
        found += len(below)
        left += below
    return found


def _taken(folder: Path, limits: Limits) -> tuple[int, int]:
    """The total bytes and the number of files below a folder, counted until one exceeds its limit."""
    size = files = 0
    for place, folders, names in os.walk(folder):
        for name in (*folders, *names):
            with suppress(OSError):
                status = os.lstat(Path(place, name))
                # A sparse file occupies less than its size.
                size += status.st_blocks * 512 if hasattr(status, "st_blocks") else status.st_size
            files += 1
        if size > limits.folder_bytes or files > limits.folder_files:
            break
    return size, files
