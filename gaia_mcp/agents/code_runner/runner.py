"""One run of code in a process of its own, with a folder of its own, ended with all that it has started."""

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

# How often a run is looked at.
LOOK_SECONDS = 0.05
# What it wrote before it ended is in the pipes already.
SETTLE_SECONDS = 0.5
# What the system's libraries need to load, and Python to find its own; nothing else of ours is passed on.
_PASSED_ON = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


class Limits(NamedTuple):
    """What one run may take. Memory and a file's size hold for each process, output for each stream."""

    seconds: float
    memory_bytes: int = 1 << 30
    processes: int = 64
    folder_bytes: int = 64 << 20
    folder_files: int = 10_000
    output_bytes: int = 1 << 20


class Ran(NamedTuple):
    """What came of a run: why it was ended, if it did not end by itself, and its exit status otherwise, which is
    128 + N after signal N.
    """

    stdout: str
    stderr: str
    exit_status: int | None
    problem: str


def run(code: str, limits: Limits, call: Call) -> Ran:
    """Run Python code. Raises `SpawnError`, and `CallCancelledError` once the run has been ended."""
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
    """What the process is told."""
    # A second more than it has by the clock: then this process says why it was ended.
    seconds = int(limits.seconds) + 2
    return {"code": code, "seconds": seconds, "memory": limits.memory_bytes, "file": limits.folder_bytes}


def is_cut_off() -> bool:
    """Whether this system lets code be cut off from the network."""
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
        # Isolated: no variable, no folder of the user, and not this one, has a say in what is imported.
        ["-I", "-u", "-X", "utf8", confined.__file__, *words],
        environment={**own, "HOME": folder, "TMPDIR": folder, "TEMP": folder},
        cwd=folder,
        on_stderr=stderr.take,
    )


def _excess(child: Child, folder: Path, limits: Limits, deadline: Deadline) -> str:
    """Why it is to be ended; empty if there is no reason."""
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
    """How many processes it has started, and those that they have; none where the system does not show them."""
    children: defaultdict[bytes, list[bytes]] = defaultdict(list)
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # It has just ended.
            # After the program's name, which is in brackets and may hold anything: state, parent.
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
    """The bytes and the files in a folder and those below it, counted until one of them is too much."""
    size = files = 0
    for place, folders, names in os.walk(folder):
        for name in (*folders, *names):
            with suppress(OSError):
                status = os.lstat(Path(place, name))
                # A file with holes takes less than its size.
                size += status.st_blocks * 512 if hasattr(status, "st_blocks") else status.st_size
            files += 1
        if size > limits.folder_bytes or files > limits.folder_files:
            break
    return size, files
