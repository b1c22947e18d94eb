"""The processes that a server has started, and how they are reliably ended.

Its process group is signalled as a whole: a server is started as the leader of a group, whose id is its process id. A
process that has left the group is found by the mark in its environment (Linux): it may leave the session too, and
outlive its parent, but keeps its environment; one that is meant to outlive the server is started without the variable.
Also here: the exit of a process, detected without reaping it, and who holds a pipe open.

The watcher is a small process that ends our servers if this process dies without stopping them, as after SIGKILL.
It is a shell that reads a pipe which this process holds open. When this process dies, for whatever reason, the kernel
closes the pipe. The watcher then gives the servers a moment to exit on the end of their input, and ends the rest: their
process groups, which this process has listed for it, and on Linux every process with our token in its environment. That
includes a server that was just being started, and processes that have left their group.

Alternatives rejected: `PR_SET_PDEATHSIG` is sent when the thread ends that started the server, and reaches the server
alone; Python can set it only with ctypes and a function that runs between fork and exec, which takes three milliseconds
and is unsafe with threads. A process between us and the server would hide its exit status. A fork of this process would
copy the page tables of a program of any size. A shell is started by vfork in a tenth of a millisecond, and is part of
every POSIX system. Windows has none: there, a server that ignores the end of its input outlives a killed client.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING

from gaia_mcp.text import clean

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterator

# Servers need a while to exit; the SDKs wait as long.
TERMINATE_GRACE_SECONDS = 2.0
# After SIGKILL only the kernel takes time.
KILL_GRACE_SECONDS = 5.0
# A process that exits within this time after the leader does not count as left behind.
FOLLOW_SECONDS = 0.2
# How often to look for members of a group that outlived their leader.
POLL_SECONDS = 0.02
VARIABLE = "GAIA_MCP_STARTED"
# The file system with a folder for each process.
PROCESSES = Path("/proc")
# Process ids do not wrap around within this time.
YOUNG_SECONDS = 2.0
# The mode bit of a link in the folder `fd` of a process: its descriptor is open for writing.
_WRITES = 0o200
SHELL = "/bin/sh"
# Each line lists the current groups; after the last line the client is dead. A server that is being started holds the
# pipe open until its program is loaded, and has its environment a moment later; three steps are enough for a busy
# processor.
# A step takes a fifth of a second. Servers get half of the time of an ordinary shutdown, so that a user who starts the
# command again does not find the old ones running. A group that has ended is not signalled again, since its id may
# belong to another. SIGKILL is sent a few times, for processes that are forked meanwhile; a group may exist for ever if
# its zombies are not reaped.
_SCRIPT = r"""# gaia-mcp-watcher: ends the MCP servers of a client that was killed
trap '' HUP INT QUIT TERM
while read -r line; do groups=$line; done
step=0
while [ $step -lt 12 ]; do
  sleep 0.2 || sleep 1 || step=10
  step=$((step + 1)) left= still=
  for group in $groups; do
    if kill -s 0 -- "-$group"; then still="$still $group" left="$left -$group"; fi
  done
  groups=$still
  for file in $(grep -ls -e "$1" /proc/[0-9]*/environ); do
    pid=${file#/proc/} left="$left ${pid%/environ}"
  done
  [ "$left" ] || [ $step -lt 3 ] || exit 0
  if [ $step -eq 5 ]; then kill -s TERM -- $left; fi
  if [ $step -ge 10 ]; then kill -s KILL -- $left; fi
done
"""


def signal_group(group: int, *, force: bool, system: str = os.name) -> None:
    """Send SIGTERM, or with `force` SIGKILL, to all processes of a group. The group may no longer exist."""
    if system == "nt":
        import subprocess

        # /T includes the children; Windows has no gentler signal that reaches them.
        taskkill = ["taskkill", "/T", "/F", "/PID", str(group)]
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(taskkill, capture_output=True, timeout=KILL_GRACE_SECONDS, check=False)
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL if force else signal.SIGTERM)


def end_others(
    group: int, mark: str, grace_seconds: float, after: int = 0, *, follow_seconds: float = FOLLOW_SECONDS
) -> bool:
    """End the processes that a leader, which has been reaped, left behind: its group, and the processes that have its
    mark and an id greater than `after`. Returns whether there were any.
    """
    strays: set[int] = set()
    if os.name == "nt" or _have_gone_within(group, mark, strays, min(grace_seconds, follow_seconds), after):
        return False
    if not _signal_others(group, mark, strays, min(grace_seconds, TERMINATE_GRACE_SECONDS), force=False):
        _signal_others(group, mark, strays, KILL_GRACE_SECONDS, force=True)
    return True


def _signal_others(group: int, mark: str, strays: set[int], seconds: float, *, force: bool) -> bool:
    signal_group(group, force=force)
    for pid in marked(mark):
        strays.add(pid)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL if force else signal.SIGTERM)
    return _have_gone_within(group, mark, strays, seconds)


def _have_gone_within(group: int, mark: str, strays: set[int], seconds: float, after: int = 0) -> bool:
    """Whether all have ended. `strays` collects the processes with the mark: they must be reaped if we adopted them."""
    end = time.monotonic() + seconds
    while True:
        found = marked(mark, after)
        strays.update(found)
        is_ending = any([_is_unreaped(pid) for pid in strays])  # noqa: C419 (each is to be reaped)
        if not (found or is_ending or _lives(group)):
            return True
        if time.monotonic() > end:
            return False
        time.sleep(POLL_SECONDS)


def _is_unreaped(pid: int) -> bool:
    """Whether we adopted it, as in `_lives`, and it has not ended. An exiting process loses its environment before it
    can be reaped; with much memory, long before.
    """
    with contextlib.suppress(ChildProcessError):
        return os.waitpid(pid, os.WNOHANG)[0] == 0
    return False


# Among the fields of /proc/PID/stat after the name: the pages in memory.
_PAGES = 21


def ids_begin_after(pid: int, age_seconds: float, processes: Path = PROCESSES) -> int:
    """A lower bound for the ids of the processes that `pid`, started `age_seconds` ago, can have started: its own id,
    unless ids may have wrapped around since. Zero if unknown.
    """
    try:
        newest = int((processes / "loadavg").read_bytes().split()[-1])
    except (OSError, ValueError, IndexError):
        return 0
    return pid if age_seconds < YOUNG_SECONDS and pid <= newest else 0


def marked(mark: str, after: int = 0, processes: Path = PROCESSES) -> list[int]:
    """The ids of the processes with `mark` in their environment; none if environments cannot be read. Checks only ids
    greater than `after`: there may be hundreds of processes.
    """
    wanted = f"{VARIABLE}={mark}\0".encode()
    found: list[int] = []
    try:
        names = os.listdir(processes)  # noqa: PTH208 (a Path for each takes longer than reading its file)
    except OSError:
        return found
    for name in names:
        if not name.isdecimal() or int(name) <= after:
            continue
        try:
            with open(f"{processes}/{name}/environ", "rb", buffering=0) as environment:  # noqa: PTH123
                is_marked = wanted in environment.read()
        except OSError:
            continue  # It has ended, or belongs to another user.
        if is_marked:
            found.append(int(name))
    return found


def _lives(group: int, processes: Path = PROCESSES) -> bool:
    # A live group no longer contains its leader, which has been reaped. (In theory the id could already belong to a new
    # group; ids are assigned in rising order.)
    with contextlib.suppress(ChildProcessError):
        # Orphans are adopted by the first process of a container, and by a subreaper.
        while os.waitpid(-group, os.WNOHANG)[0]:
            pass
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    # Zombies can be signalled too, until their new parent reaps them. If states cannot be read, the group counts as
    # alive.
    states = _states(group, processes)
    return not states or any(state not in "ZX" for state in states)


def _states(group: int, processes: Path) -> list[str]:
    return [fields[0].decode() for fields in _stats(group, processes)]


def occupied_bytes(group: int, processes: Path = PROCESSES) -> int | None:
    """The memory that the processes of a group occupy; None where the system does not say."""
    pages = sum(int(fields[_PAGES]) for fields in _stats(group, processes) if len(fields) > _PAGES)
    return pages * os.sysconf("SC_PAGE_SIZE") if pages else None


def _stats(group: int, processes: Path) -> Iterator[list[bytes]]:
    """What the system says of each process of a group: its state, its parent, its group, and so on."""
    for stat in processes.glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # It has just ended.
            # After the program's name, which is in parentheses and may contain any character.
            fields = stat.read_bytes().rpartition(b")")[2].split()
            if int(fields[2]) == group:
                yield fields


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


def reap(
    process: subprocess.Popen[bytes], *, options: int = getattr(os, "WNOHANG", 0), system: str = os.name
) -> int | None:
    """The exit status of a child; None if it still runs. For one thread at a time.

    Not `Popen.poll` or `wait`, except on Windows: what a signal handler raises while they run can leave their lock
    held, and every later call would wait forever.
    """
    if system == "nt":
        return process.poll()
    if process.returncode is None:
        try:
            pid, status = os.waitpid(process.pid, options)
        except ChildProcessError:  # Reaped elsewhere, or here just before an interruption.
            pid, status = process.pid, 0
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode


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


def pipe_holders(inodes: Collection[int], processes: Path = PROCESSES) -> dict[int, str]:
    """The names of the processes that can write to a pipe with one of `inodes`, by process id. Without their arguments,
    which may contain secrets.
    """
    wanted = {f"pipe:[{inode}]" for inode in inodes}
    found = {}
    for folder in processes.glob("[0-9]*"):
        with contextlib.suppress(OSError):  # It has ended, or belongs to another user.
            if any(_writes_to(wanted, link) for link in (folder / "fd").iterdir()):
                found[int(folder.name)] = clean((folder / "comm").read_text(errors="replace").rstrip("\n"))
    return found


def _writes_to(wanted: Collection[str], link: Path) -> bool:
    # A process forked from us may hold the read end.
    return str(link.readlink()) in wanted and bool(link.lstat().st_mode & _WRITES)


class Watcher:
    """Watches the process groups of servers, each under its own key. The process runs while there is a key.

    May be used from several threads. Without a shell, or if `subprocess.Popen` is replaced, servers run unwatched.
    """

    def __init__(self, shell: str = SHELL) -> None:
        self._shell = shell
        self._forget()

    def _forget(self) -> None:
        # Reentrant: a signal handler may disconnect, in a thread that holds it already.
        self._lock = threading.RLock()
        self._groups: dict[Hashable, int | None] = {}
        self._process: subprocess.Popen[bytes] | None = None
        # Specific to this process: the servers of a forked process are not ours to end.
        self._token = os.urandom(16).hex()
        self._numbers = itertools.count(1)

    @property
    def pid(self) -> int | None:
        """The process id of the watcher; None if it is not running."""
        return self._process.pid if self._process is not None else None

    def expect(self, key: Hashable) -> str:
        """Begin watching for `key`. Returns the mark that the server must have in its environment."""
        with self._lock:
            self._groups[key] = None
            if self._process is None:
                self._start()
            return f"{self._token}.{next(self._numbers)}"

    def watch(self, key: Hashable, group: int) -> None:
        """The server has been started as the leader of `group`."""
        with self._lock:
            self._groups[key] = group
            self._tell()

    def release(self, key: Hashable) -> None:
        """The server and all of its group have ended. Does nothing for an unknown key."""
        with self._lock:
            if self._groups.pop(key, None) is not None and self._groups:
                self._tell()
            elif not self._groups:
                self._end()

    def let_go(self) -> None:
        """Stop watching in this process, which has been forked: the servers belong to the parent."""
        process = self._process
        if process is not None and process.stdin is not None:
            process.stdin.close()  # Otherwise the watcher would not notice the parent's death before ours.
            process.returncode = 0  # Not a child of this process.
        self._forget()

    def _start(self) -> None:
        if os.name == "nt":
            return
        with contextlib.suppress(OSError):
            # Without our environment, which may contain the token of a client that started us. With its own session and
            # folder: a closed terminal must not end it, and it must not block unmounting a disk.
            process = subprocess.Popen(
                [self._shell, "-c", _SCRIPT, "gaia-mcp-watcher", self._token],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                bufsize=0,
                cwd="/",
                env={"PATH": os.environ.get("PATH", os.defpath)},
                start_new_session=True,
            )
            if is_child(process.pid):
                assert process.stdin is not None  # noqa: S101 (a pipe was asked for)
                os.set_blocking(process.stdin.fileno(), False)
                self._process = process

    def _tell(self) -> None:
        line = b"%s\n" % " ".join(str(group) for group in self._groups.values() if group is not None).encode()
        if not self._write(line):
            # It was killed, or suspended until its pipe was full; it must not read a partial line.
            self._end()
            self._start()
            self._write(line)

    def _write(self, line: bytes) -> bool:
        if self._process is None or self._process.stdin is None:
            return True
        with contextlib.suppress(OSError):
            return self._process.stdin.write(line) == len(line)
        return False

    def _end(self) -> None:
        # Until it has been reaped it is ours: an interruption may come meanwhile.
        process = self._process
        if process is not None:
            assert process.stdin is not None  # noqa: S101 (a pipe was asked for)
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
            process.stdin.close()
            reap(process, options=0)
            self._process = None


WATCHER = Watcher()
# Windows has no forks.
getattr(os, "register_at_fork", dict)(after_in_child=WATCHER.let_go)
