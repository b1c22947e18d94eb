"""The built-in agent `code-runner`: runs Python code in a separate process.

gaia mcp serve code-runner --kwarg timeout=5

Its tool and the tool's argument have the same names as in AgentVault's code runner. The code runs once, in a
process (`confined`) and a folder of its own, and is ended with every process that it started.
"""

from __future__ import annotations

import ctypes
import json
import os
import stat
import sys
from collections import defaultdict
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypedDict

from gaia_mcp._version import __version__
from gaia_mcp.agents.base.mcp_agent import MCPAgent
from gaia_mcp.agents.base.tools import tool
from gaia_mcp.asking import Call  # noqa: TC001 (the tool's parameters are read)
from gaia_mcp.client.transports.stdio.child import Child
from gaia_mcp.contrib.agentvault.code_runner import confined
from gaia_mcp.contrib.programs import Collected, drain_stdout, end_program, feed, private_folder
from gaia_mcp.core.deadline import Deadline
from gaia_mcp.text import cut_middle

if TYPE_CHECKING:
    from collections.abc import Iterable
DEFAULT_SECONDS = 10
LONGEST_SECONDS = 600
# Each run is a process that may use the memory limit in full.
MAX_CALLS = 4
# How much of each stream the error of a terminated run contains.
SHOWN_CHARS = 2000
# The interval at which a run's limits are checked.
LOOK_SECONDS = 0.05
# Output written before the process ended is already in the pipes.
SETTLE_SECONDS = 0.5
# From linux/prctl.h.
_DUMPABLE = 4
# Half of the longest path that Linux accepts. Files at longer paths could not be counted.
MAX_PATH_BYTES = 2048
# The variables that the system's libraries need to load and Python to find its own. No others are passed on.
_PASSED_ON = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


class CodeOutput(TypedDict):
    """The output of the code and its exit status: 1 after an exception, 128 + N after signal N."""

    stdout: str
    stderr: str
    exit_status: int


class CodeRunner(MCPAgent):
    """Runs code for up to `timeout` seconds. Raises `TypeError` or `ValueError` for an invalid `timeout`.

    Each run is a process with an empty working folder and a minimal environment. Its time, the memory of each process,
    the number of processes, its output, and the files below its folder and those without a name are limited. The
    variables and connections of this server are out of its reach. Where Linux lets an unprivileged user create
    namespaces, it has no network and no socket of the system, sees no other process, and all its processes end with it.
    Elsewhere it can signal the user's processes, and so prevent that its own are ended. It can read and write all files
    that this server's user can: this contains mistakes, but is not a sandbox for malicious code.
    """

    max_calls = MAX_CALLS

    def __init__(self, timeout: float = DEFAULT_SECONDS) -> None:
        super().__init__()
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
            raise TypeError(f"timeout is a number of seconds, not {timeout!r}")
        if not 0 < timeout <= LONGEST_SECONDS:
            raise ValueError(f"timeout is more than 0 and at most {LONGEST_SECONDS} seconds, not {timeout:g}")
        self._limits = Limits(timeout)

    @tool(name="code.runPython", read_only=False, destructive=True, open_world=True)
    def run_python(self, call: Call, code: Annotated[str, "The program"]) -> CodeOutput:
        """Run Python code in an empty folder, and return what it writes. Nothing is kept from one run to the next."""
        ran = run(code, self._limits, call)
        if ran.exit_status is None:
            written = [("stdout", ran.stdout), ("stderr", ran.stderr)]
            shown = [f"{name}:\n{cut_middle(text, SHOWN_CHARS)}" for name, text in written if text]
            raise RuntimeError("\n".join([f"the code was ended: {ran.problem}", *shown]))
        return {"stdout": ran.stdout, "stderr": ran.stderr, "exit_status": ran.exit_status}

    @cached_property
    def _has_network(self) -> bool:
        return not is_cut_off()

    def get_mcp_server_info(self) -> dict[str, Any]:
        network = "can use the network" if self._has_network else "has no network"
        return {
            "name": "code-runner",
            "title": "Python code in a process of its own",
            "version": __version__,
            "instructions": f"Code runs for up to {self._limits.seconds:g} s in an empty folder, and {network}. It can "
            "read and write the files that the user of this server can: this is no sandbox for code that means harm.",
        }


class Limits(NamedTuple):
    """The limits of one run. Memory and file size apply to each process, output to each stream."""

    seconds: float
    memory_bytes: int = 1 << 30
    processes: int = 64
    folder_bytes: int = 64 << 20
    folder_files: int = 10_000
    open_files: int = 256
    output_bytes: int = 1 << 20
    # False only where the system does not isolate the code, and in tests of such a system.
    isolated: bool = True


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
    _hide_this_process()
    with private_folder("code") as folder:
        child = _child(str(folder), stderr)
        deadline = Deadline(limits.seconds)
        try:
            child.start()
            drain = drain_stdout(child, "code", stdout.take)
            feed(child, "code", json.dumps(_order(code, limits)).encode(), deadline)
            while not problem and child.wait(min(LOOK_SECONDS, deadline.remaining())) is None:
                call.raise_if_cancelled()
                is_flood = stdout.is_flood or stderr.is_flood
                problem = flood if is_flood else _excess(child, folder, limits, deadline)
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
    return {
        "code": code,
        "seconds": seconds,
        "memory": limits.memory_bytes,
        "file": limits.folder_bytes,
        "files": limits.open_files,
        "isolated": limits.isolated,
    }


def _hide_this_process() -> None:
    """Make the variables and descriptors of this process, such as the connection to the client, inaccessible to code
    that runs as the same user (Linux). The processes that it starts are not affected.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(_DUMPABLE, 0, 0, 0, 0)


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
        return f"it timed out after {limits.seconds:g} s"
    assert child.pid is not None  # noqa: S101 (it has been started)
    processes = _processes_below(child.pid)
    if len(processes) > limits.processes:
        return f"it started more than {limits.processes} processes"
    try:
        sizes = _sizes(folder, limits.folder_files)
        size = sum(sizes) + _held_bytes(processes)
    except _UncountableError as problem:
        return str(problem)
    if size > limits.folder_bytes:
        return f"it wrote files of more than {limits.folder_bytes >> 20} MiB"
    if len(sizes) > limits.folder_files:
        return f"it made more than {limits.folder_files} files"
    return ""


class _UncountableError(Exception):
    """The code has made something that cannot be counted. The message is the reason to end it."""


def _processes_below(pid: int) -> list[str]:
    """The descendants of a process; none where the system has no /proc."""
    children: defaultdict[bytes, list[bytes]] = defaultdict(list)
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # The process ended in the meantime.
            # The state and the parent follow the program's name, which is in parentheses and may contain any bytes.
            parent = (folder / "stat").read_bytes().rpartition(b")")[2].split()[1]
            children[parent].append(folder.name.encode())
    found: list[bytes] = []
    left = [str(pid).encode()]
    while left:
        below = children[left.pop()]
        found += below
        left += below
    return [each.decode() for each in found]


def _sizes(folder: Path, most: int) -> list[int]:
    """The sizes on disk of the files and folders below a folder, until there are more than `most`.

    Raises `_UncountableError` for a folder that cannot be read, or is so deep that its files' paths are too long.
    """
    sizes: list[int] = []
    left = [str(folder)]
    while left and len(sizes) <= most:
        place = left.pop()
        if len(os.fsencode(place)) > MAX_PATH_BYTES:
            raise _UncountableError("it made folders too deep to be counted")
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    with suppress(FileNotFoundError):
                        sizes.append(_on_disk(entry.stat(follow_symlinks=False)))
                        left += [entry.path] if entry.is_dir(follow_symlinks=False) else []
        except (FileNotFoundError, NotADirectoryError):
            continue  # It was removed or replaced in the meantime.
        except OSError as problem:
            raise _UncountableError("it made a folder that cannot be read") from problem
    return sizes


def _held_bytes(processes: Iterable[str]) -> int:
    """The sizes of the files that these processes hold open without a name: deleted ones, and those in memory.

    Raises `_UncountableError` for a process that hides its files.
    """
    found: dict[tuple[int, int], int] = {}
    for process in processes:
        try:
            for descriptor in Path("/proc", process, "fd").iterdir():
                with suppress(FileNotFoundError):  # It was closed in the meantime.
                    status = descriptor.stat()
                    if stat.S_ISREG(status.st_mode) and not status.st_nlink:
                        found[status.st_dev, status.st_ino] = _on_disk(status)
        except (FileNotFoundError, ProcessLookupError):
            continue  # It has ended in the meantime.
        except PermissionError as problem:
            if not _is_ending(process):
                raise _UncountableError("it hides which files it has open") from problem
    return sum(found.values())


def _is_ending(process: str) -> bool:
    """Whether a process has ended or is about to: then its files cannot be read either."""
    try:
        state = Path("/proc", process, "stat").read_bytes().rpartition(b")")[2].split()[0]
    except OSError:
        return True
    return state in (b"Z", b"X")


def _on_disk(status: os.stat_result) -> int:
    # A sparse file occupies less than its size.
    return status.st_blocks * 512 if hasattr(status, "st_blocks") else status.st_size
