"""A server's process: started without a shell in a process group of its own, and reliably ended.

Its threads are started so that no signal handler can interrupt their start. Knows bytes and processes, not MCP.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gaia_mcp.client.transports.stdio.child_pipes import READ_BYTES, Drain, InputPipe, SteadyThread
from gaia_mcp.client.transports.stdio.launch import (
    child_environment,
    command_for_system,
    command_words,
    find_program,
)
from gaia_mcp.client.transports.stdio.processes import (
    FOLLOW_SECONDS,
    KILL_GRACE_SECONDS,
    POLL_SECONDS,
    TERMINATE_GRACE_SECONDS,
    VARIABLE,
    WATCHER,
    end_others,
    exit_descriptor,
    exits_within,
    held_open,
    ids_begin_after,
    is_child,
    is_running,
    reap,
    signal_group,
    was_killed,
)
from gaia_mcp.core.errors import NotConnectedError, SpawnError

if TYPE_CHECKING:
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.text.redaction.masker import Masker


# Servers flush their logs when their input ends, and node takes a while to exit; the SDKs wait as long.
CLOSE_GRACE_SECONDS = 2.0
# When the program ends, no caller waits for a response.
AT_EXIT_GRACE_SECONDS = 0.3
# The output of an exited child is already in the pipe; only a slow listener takes this long.
STDERR_GRACE_SECONDS = 0.2
# How soon a waiting thread notices that another allows less time, for example after a Ctrl-C.
PATIENCE_SLICE_SECONDS = 0.05


class Stopped(NamedTuple):
    """How a child ended: `how` is "by itself", "on closed input", "on SIGTERM" or "on SIGKILL"."""

    how: str
    returncode: int | None
    seconds: float
    left_others: bool


# The running children. A program that exits without stopping them must not leave them behind.
_running: set[Child] = set()


class Child:
    """A process with three pipes. `start()` may run in any thread; the other methods may be called from several.

    `pipes_block` is true if a pipe cannot be written without blocking.
    """

    def __init__(
        self,
        server: str,
        command: str,
        arguments: Sequence[str],
        *,
        environment: Mapping[str, str],
        cwd: str | None,
        on_stderr: Callable[[bytes], None] | None = None,
        pipes_block: bool = os.name == "nt",
    ) -> None:
        self._server = server
        self._command = command
        self._arguments = list(arguments)
        self._environment = dict(environment)
        self._mark = ""
        self._began = 0.0
        self._cwd = cwd
        self._stderr = Drain(server, on_stderr)
        self._pipes_block = pipes_block
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = os.getpid()
        self._stdin: InputPipe | None = None
        self._stdout = -1
        self._closing = False
        # Reentrant: a signal handler may stop it, in a thread that holds these already.
        self._start_lock = threading.RLock()
        self._failure: SpawnError | None = None
        self._stop_lock = threading.RLock()
        self._reap_lock = threading.RLock()
        # The seconds for each step, of every caller of `stop`.
        self._graces: list[float] = []
        self._stopped: Stopped | None = None
        self._left_others = False

    @classmethod
    def of(
        cls,
        server: str,
        command: str,
        arguments: Sequence[str] | None,
        *,
        env: Mapping[str, str],
        cwd: str | None,
        inherits_all: bool = False,
        environ: Mapping[str, str] | None = None,
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> Child:
        """The child for a configured command: without `arguments` a command line; `env` overrides the variables that it
        inherits from `environ`, by default this process's own.

        Raises `EntryError` for an invalid command line.
        """
        environ = os.environ if environ is None else environ
        program, words = command_words(server, command, arguments, environ)
        environment = child_environment(env, environ, inherits_all=inherits_all)
        return cls(server, program, words, environment=environment, cwd=cwd, on_stderr=on_stderr)

    @property
    def pid(self) -> int | None:
        """The process id, once started."""
        return self._process.pid if self._process is not None else None

    @property
    def is_closing(self) -> bool:
        """Whether we are closing its stdin."""
        return self._closing

    def start(self) -> None:
        """Start it. Calling it again has the outcome of the first call.

        Raises `SpawnError` with the reason if it cannot be started, `NotConnectedError` if it was stopped before.
        """
        if threading.current_thread() is threading.main_thread():
            # Signals interrupt this thread alone: a Ctrl-C must not arrive between the creation of the process and its
            # registration.
            starting = SteadyThread(target=self._start_aside, name=f"{self._server} start", daemon=True)
            starting.start()
            starting.join()
        self._start()

    def _start_aside(self) -> None:
        with contextlib.suppress(SpawnError, NotConnectedError):  # The waiting thread calls `_start` again.
            self._start()

    def _start(self) -> None:
        # A thread that stops it meanwhile waits: a process that is not yet registered would never be stopped.
        with self._start_lock:
            if self._process is not None:
                return
            if self._failure is not None:
                raise self._failure
            if self._closing:
                raise NotConnectedError(self._server)
            try:
                self._spawn()
            except SpawnError as failure:
                self._failure = failure
                raise
            if self._closing:
                self._kill()

    def _spawn(self) -> None:
        if self._cwd is not None and not os.path.isdir(self._cwd):  # noqa: PTH112
            raise SpawnError(self._server, self._command, f"has no working folder {self._cwd!r}", case="no-folder")
        program = self._command
        try:
            program = find_program(self._server, self._command, self._environment, self._cwd)
            self._mark = WATCHER.expect(self)
            self._began = time.monotonic()
            process = subprocess.Popen(
                command_for_system(program, self._arguments),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=self._cwd,
                env={**self._environment, VARIABLE: self._mark},
                # A group of its own: we handle Ctrl-C in our terminal, and wrappers such as npx are ended with the
                # processes that they started.
                start_new_session=os.name != "nt",
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except (OSError, ValueError) as cause:  # The latter for a null byte in an argument.
            WATCHER.release(self)
            reason = f"cannot be run: {getattr(cause, 'strerror', None) or cause}"
            case = "not-runnable"
            if isinstance(cause, FileNotFoundError) and os.path.exists(program):  # noqa: PTH110
                reason = "exists, but not the interpreter in its first line (#!)"
                case = "no-interpreter"
            raise SpawnError(self._server, self._command, reason, program=program, case=case) from cause
        if not is_child(process.pid):
            WATCHER.release(self)
            reason = (
                f"is not a child of this program: subprocess.Popen is replaced, and returned process {process.pid!r}"
            )
            raise SpawnError(self._server, self._command, reason, program=program)
        self._process = process
        _running.add(self)
        WATCHER.watch(self, process.pid)
        assert process.stdin is not None  # noqa: S101 (a pipe was asked for)
        self._stdin = InputPipe(process.stdin, blocks=self._pipes_block)
        assert process.stdout is not None  # noqa: S101
        self._stdout = process.stdout.fileno()
        assert process.stderr is not None  # noqa: S101
        self._stderr.start(process.stderr, exit_descriptor(process.pid), self._has_ended)

    @property
    def stdout(self) -> int:
        """The descriptor of its stdout, from its start until it is closed."""
        return self._stdout

    def read(self) -> bytes:
        """The next bytes of its stdout; empty at the end, when the pipe is closed. For one thread at a time."""
        data = os.read(self._stdout, READ_BYTES)
        if not data:
            self.close_stdout()
        return data

    def close_stdout(self) -> None:
        """Close its stdout, if it was started. For the thread that reads; may be called twice."""
        self._stdout = -1
        if self._process is not None:
            assert self._process.stdout is not None  # noqa: S101 (a pipe was asked for)
            self._process.stdout.close()

    def write(self, data: bytes, deadline: Deadline) -> None:
        """Write all of `data` to its stdin. Raises as `InputPipe.write` does."""
        assert self._stdin is not None  # noqa: S101 (only a started child is written to)
        self._stdin.write(data, deadline)

    def is_drained(self) -> bool:
        """Whether it has read everything that was written. False also if unknown."""
        return self._stdin is not None and self._stdin.is_drained()

    def is_unread(self) -> bool:
        """Whether it has left some of its stdin unread. False also if unknown."""
        return self._stdin is not None and self._stdin.is_unread()

    def close_stdin(self) -> None:
        """Close its stdin."""
        self._closing = True
        if self._stdin is not None:
            self._stdin.close()

    def is_running(self) -> bool:
        """Whether it has been started and has not ended. Called before every request, so it is quick."""
        process = self._process
        if process is None or process.returncode is not None:
            return False
        runs = is_running(process.pid)
        return self._reap() is None if runs is None else runs

    def wait(self, seconds: float) -> int | None:
        """Wait up to `seconds` for its exit status; None if it still runs."""
        end = time.monotonic() + seconds
        status = self._reap()
        if self._process is None or status is not None or seconds <= 0:
            return status
        if exits_within(self._process.pid, seconds) is None:
            pause = POLL_SECONDS / 32
            while self._reap() is None and (left := end - time.monotonic()) > 0:
                time.sleep(min(pause, left))
                pause = min(2 * pause, POLL_SECONDS)
        return self._reap()

    def _reap(self) -> int | None:
        """Its exit status; None if it still runs, or was not started."""
        with self._reap_lock:
            return reap(self._process) if self._process is not None else None

    def stderr_tail(self, masker: Masker | None = None) -> str:
        """The end of its stderr, masked."""
        return self._stderr.tail(masker)

    def settle_stderr(self, seconds: float) -> None:
        """Wait up to `seconds` for the rest of its stderr."""
        self._stderr.settle(seconds)

    def stop(self, grace_seconds: float = CLOSE_GRACE_SECONDS) -> Stopped:
        """Stop it: close stdin, wait, SIGTERM to the group, wait, SIGKILL, reap. May be called again, also while
        another thread is stopping it: then the shorter grace period applies. Never raises, except for an interruption,
        after which the group has been killed and reaped.
        """
        self._graces.append(grace_seconds)
        with self._stop_lock:
            if self._stopped is None:
                try:
                    stopped = self._stop()
                    _running.discard(self)
                    WATCHER.release(self)
                    self._stopped = stopped
                except BaseException:
                    # A second Ctrl-C while we wait: stop waiting, but leave nothing behind.
                    self._kill()
                    raise
            return self._stopped

    def _stop(self) -> Stopped:
        began = time.monotonic()
        self._closing = True
        with self._start_lock:
            process = self._process
        if process is None or os.getpid() != self._owner:
            # Never started, or started by our parent before a fork, which still uses it.
            return Stopped("by itself", None, 0.0, left_others=False)
        assert self._stdin is not None  # noqa: S101 (it has been started)
        how = "by itself" if self._reap() is not None else "on closed input"
        self.close_stdin()
        # If a stuck writer keeps its stdin open, it gets no EOF, and waiting would be useless.
        if not self._ends_in(math.inf if self._stdin.is_closed else 0.0):
            how = "on SIGTERM"
            signal_group(process.pid, force=False)
            if not self._ends_in(TERMINATE_GRACE_SECONDS):
                how = "on SIGKILL"
                self._kill()
            self.close_stdin()
        after = ids_begin_after(process.pid, time.monotonic() - self._began)
        if process.returncode is not None and end_others(process.pid, self._mark, min(self._graces), after):
            self._left_others = True
        held = held_open(process.stdout, process.stderr)
        self._stderr.stop(STDERR_GRACE_SECONDS)
        if held:
            self._warn_of_holders(held)
        return Stopped(how, process.returncode, time.monotonic() - began, self._left_others)

    def _ends_in(self, most_seconds: float) -> bool:
        """Whether it ends within the shortest grace period of all callers of `stop`, and `most_seconds`."""
        began = time.monotonic()
        while self.wait(0) is None:
            left = began + min(*self._graces, most_seconds) - time.monotonic()
            if left <= 0:
                return False
            self.wait(min(left, PATIENCE_SLICE_SECONDS))
        return True

    def _has_ended(self) -> None:
        """End the processes that a killed server has left: they may hold its pipes open, and block callers."""
        assert self._process is not None  # noqa: S101 (it has been started)
        # A program that exits by itself may have left the server running in its place, as some wrappers do.
        if not self._closing and was_killed(self._process.pid):
            self._reap()  # Before `end_others`, which would take its exit status.
            self._left_others = end_others(self._process.pid, self._mark, FOLLOW_SECONDS)

    def _warn_of_holders(self, inodes: Collection[int]) -> None:
        """Warn of processes that were started without our mark: they may be intended, so only the user can end them."""
        import logging

        from gaia_mcp.client.transports.stdio.processes import pipe_holders

        for pid, name in sorted(pipe_holders(inodes).items()):
            message = "MCP server %r has left a process running: %d (%s)"
            logging.getLogger("gaia_mcp").warning(message, self._server, pid, name)

    def _kill(self) -> None:
        if self._process is not None:
            signal_group(self._process.pid, force=True)
            self.wait(KILL_GRACE_SECONDS)


@atexit.register
def _stop_all() -> None:
    for child in list(_running):
        child.stop(AT_EXIT_GRACE_SECONDS)
