"""The watcher: a small process that ends our servers if this process dies without stopping them, as after SIGKILL.

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
import subprocess
import threading
from typing import TYPE_CHECKING

from gaia_mcp.client.transports.stdio.process_groups import is_child

if TYPE_CHECKING:
    from collections.abc import Hashable

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
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None  # noqa: S101 (a pipe was asked for)
            process.kill()
            process.stdin.close()
            process.wait()


WATCHER = Watcher()
# Windows has no forks.
getattr(os, "register_at_fork", dict)(after_in_child=WATCHER.let_go)
