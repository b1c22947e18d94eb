"""A server's process: started without a shell in a group of its own, and ended for certain.

Knows bytes and processes, nothing of MCP.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from gaia_mcp.client.transports.commands import child_environment, command_for_system, command_words, find_program
from gaia_mcp.errors import NotConnectedError, SpawnError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gaia_mcp.deadline import Deadline


# Servers flush their logs when their input ends, and node takes a while to leave; the SDKs wait as long.
CLOSE_GRACE_SECONDS = 2.0
TERMINATE_GRACE_SECONDS = 2.0
# After a SIGKILL only the kernel is waited for.
KILL_GRACE_SECONDS = 5.0
# Enough of stderr for the last words and a traceback; a flood is dropped from its start.
STDERR_KEPT_BYTES = 64 * 1024
# As much as a pipe holds. A larger buffer would be mapped and unmapped by the kernel for every message.
READ_BYTES = 64 * 1024
# How often the members of a group that outlived their leader are looked for.
GROUP_POLL_SECONDS = 0.02
# How soon a writer that waits for the child to read notices that it is to stop.
WRITE_SLICE_SECONDS = 0.1


class Stopped(NamedTuple):
    """How a child ended: `how` is "by itself", "on closed input", "on SIGTERM" or "on SIGKILL"."""

    how: str
    returncode: int | None
    seconds: float
    left_others: bool


class CutError(TimeoutError):
    """Time ran out in the middle of a message: what would follow could not be understood."""


class Child:
    """A process with three pipes. `start()` may run in any thread; the rest is safe from several."""

    def __init__(
        self,
        server: str,
        command: str,
        arguments: Sequence[str],
        *,
        environment: Mapping[str, str],
        cwd: str | None,
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> None:
        self._server = server
        self._command = command
        self._arguments = list(arguments)
        self._environment = dict(environment)
        self._cwd = cwd
        self._on_stderr = on_stderr
        self._process: subprocess.Popen[bytes] | None = None
        self._stdin = -1
        self._stdin_lock = threading.Lock()
        self._closing = False
        self._is_cut = False
        self._start_lock = threading.Lock()
        self._failure: SpawnError | None = None
        self._stderr_lock = threading.Lock()
        self._stderr_kept: deque[bytes] = deque()
        self._stderr_size = 0
        self._stderr_thread: threading.Thread | None = None
        self._stop_lock = threading.Lock()
        self._stopped: Stopped | None = None

    @classmethod
    def of(
        cls,
        server: str,
        command: str,
        arguments: Sequence[str] | None,
        *,
        env: Mapping[str, str],
        cwd: str | None,
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> Child:
        """The child for a configured command: without `arguments` a command line, `env` over what is inherited.

        Raises `EntryError` for a command line that makes no sense.
        """
        program, words = command_words(server, command, arguments)
        environment = child_environment(env, os.environ)
        return cls(server, program, words, environment=environment, cwd=cwd, on_stderr=on_stderr)

    @property
    def pid(self) -> int | None:
        """The process id, once started."""
        return self._process.pid if self._process is not None else None

    @property
    def is_closing(self) -> bool:
        """Whether it has been told that nothing more will come."""
        return self._closing

    def start(self) -> None:
        """Start it. Called again, it says again what came of the first time.

        Raises `SpawnError` saying why that is impossible, `NotConnectedError` when it has been stopped before.
        """
        # Whoever stops it meanwhile waits: a process that nobody knows of would stay for ever.
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
            thread = threading.Thread(target=self._drain_stderr, name=f"{self._server} stderr", daemon=True)
            thread.start()
            self._stderr_thread = thread
            if self._closing:
                self._kill_group(force=True)

    def _spawn(self) -> None:
        if self._cwd is not None and not os.path.isdir(self._cwd):  # noqa: PTH112
            raise SpawnError(self._server, self._command, f"has no working folder {self._cwd!r}", hint="check its cwd")
        program = self._command
        try:
            program = find_program(self._server, self._command, self._environment, self._cwd)
            self._process = subprocess.Popen(
                command_for_system(program, self._arguments),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=self._cwd,
                env=self._environment,
                # A group of its own: Ctrl-C in our terminal is ours to handle, and wrappers such as npx go with
                # whatever they started.
                start_new_session=os.name != "nt",
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        except (OSError, ValueError) as cause:  # The latter for a zero byte in an argument.
            reason = f"cannot be run: {getattr(cause, 'strerror', None) or cause}"
            raise SpawnError(self._server, self._command, reason, hint=f"try it by hand: {program}") from cause
        assert self._process.stdin is not None  # noqa: S101 (a pipe was asked for)
        self._stdin = self._process.stdin.fileno()
        if os.name != "nt":
            os.set_blocking(self._stdin, False)

    @property
    def stdout(self) -> int:
        """The descriptor of its stdout, once started."""
        assert self._process is not None  # noqa: S101
        assert self._process.stdout is not None  # noqa: S101
        return self._process.stdout.fileno()

    def read(self) -> bytes:
        """The next bytes of its stdout; empty at the end, when the pipe is closed. For one thread at a time."""
        data = os.read(self.stdout, READ_BYTES)
        if not data:
            self.close_stdout()
        return data

    def close_stdout(self) -> None:
        """Read no more. For whoever reads; may be called twice."""
        if self._process is not None and self._process.stdout is not None:
            self._process.stdout.close()

    def write(self, data: bytes, deadline: Deadline) -> None:
        """Write all of `data` to its stdin.

        Raises `BrokenPipeError` when it no longer reads, `TimeoutError` when it did not read in time and nothing of
        `data` is out, `CutError` when a part is: the child is of no more use then.
        """
        if os.name == "nt":
            self._write_in_thread(data, deadline)
            return
        view = memoryview(data)
        if not self._stdin_lock.acquire(blocking=False) and not self._stdin_lock.acquire(timeout=deadline.remaining()):
            raise TimeoutError("it does not read its stdin")
        try:
            if self._is_cut:
                raise BrokenPipeError("a message was cut off")
            self._is_cut = True  # Until all of it is out, however we leave.
            while view:
                if self._closing:
                    raise BrokenPipeError("its stdin is closed")
                try:
                    view = view[os.write(self._stdin, view) :]
                except BlockingIOError:
                    if self._is_writable_by(deadline):
                        continue
                    if len(view) < len(data):
                        raise CutError("it does not read its stdin") from None
                    self._is_cut = False
                    raise TimeoutError("it does not read its stdin") from None
            self._is_cut = False
        finally:
            self._stdin_lock.release()

    def close_stdin(self) -> None:
        """Tell it that nothing more will come."""
        self._closing = True  # A writer that is waiting sees this and lets go of the lock.
        process = self._process
        if process is not None and process.stdin is not None:
            with self._stdin_lock, contextlib.suppress(OSError):
                process.stdin.close()

    def poll(self) -> int | None:
        """Its exit status (negative for a signal), None while it runs."""
        return self._process.poll() if self._process is not None else None

    def wait(self, seconds: float) -> int | None:
        """Its exit status, waited for up to `seconds`; None if it still runs."""
        if self._process is None:
            return None
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def stderr_tail(self) -> str:
        """The end of what it has written to stderr."""
        with self._stderr_lock:
            kept = b"".join(self._stderr_kept)
        return kept[-STDERR_KEPT_BYTES:].decode("utf-8", "replace")

    def settle_stderr(self, seconds: float) -> None:
        """Give the last words up to `seconds` to arrive."""
        if self._stderr_thread is not None:
            self._stderr_thread.join(seconds)

    def stop(self, grace_seconds: float = CLOSE_GRACE_SECONDS) -> Stopped:
        """End it: close stdin, wait, SIGTERM to the group, wait, SIGKILL, reap. May be called again; never raises,
        except for an interruption, after which the group has been killed and reaped.
        """
        with self._stop_lock:
            if self._stopped is None:
                try:
                    self._stopped = self._stop(grace_seconds)
                except BaseException:
                    # A second Ctrl-C while we wait: no more patience, but nothing left behind either.
                    self._kill_group(force=True)
                    self.wait(KILL_GRACE_SECONDS)
                    raise
            return self._stopped

    def _stop(self, grace_seconds: float) -> Stopped:
        began = time.monotonic()
        self._closing = True
        with self._start_lock:
            process = self._process
        if process is None:
            return Stopped("by itself", None, 0.0, left_others=False)
        how = "by itself" if process.poll() is not None else "on closed input"
        self.close_stdin()
        if self.wait(grace_seconds) is None:
            how = "on SIGTERM"
            self._kill_group(force=False)
            if self.wait(min(grace_seconds, TERMINATE_GRACE_SECONDS)) is None:
                how = "on SIGKILL"
                self._kill_group(force=True)
                self.wait(KILL_GRACE_SECONDS)
        left_others = self._end_group(grace_seconds)
        self.settle_stderr(0.2)
        return Stopped(how, process.returncode, time.monotonic() - began, left_others)

    def _end_group(self, grace_seconds: float) -> bool:
        """End what the leader started and left behind; whether there was anything."""
        if not self._group_lives():
            return False
        self._kill_group(force=False)
        end = time.monotonic() + min(grace_seconds, TERMINATE_GRACE_SECONDS)
        while self._group_lives():
            if time.monotonic() > end:
                self._kill_group(force=True)
                break
            time.sleep(GROUP_POLL_SECONDS)
        return True

    def _group_lives(self) -> bool:
        # Its id is that of the leader, which has been reaped: what answers now are the others. (That the number was
        # given to a new group within this moment is possible in theory; numbers are handed out in rising order.)
        if os.name == "nt" or self._process is None:
            return False
        try:
            os.killpg(self._process.pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _kill_group(self, *, force: bool) -> None:
        process = self._process
        if process is None:
            return
        if os.name == "nt":
            # /T takes the children too; a console program has no gentler signal that reaches them.
            taskkill = ["taskkill", "/T", "/F", "/PID", str(process.pid)]
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(taskkill, capture_output=True, timeout=KILL_GRACE_SECONDS, check=False)
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL if force else signal.SIGTERM)

    def _is_writable_by(self, deadline: Deadline) -> bool:
        """Wait a moment for room; False when there is none and no time is left."""
        import select

        poller = select.poll()
        poller.register(self._stdin, select.POLLOUT)
        return bool(poller.poll(1000 * min(deadline.remaining(), WRITE_SLICE_SECONDS))) or not deadline.expired

    def _write_in_thread(self, data: bytes, deadline: Deadline) -> None:
        # Windows pipes cannot be written without blocking: a thread may be left with it until the child is killed.
        failed: list[OSError] = []

        def write() -> None:
            try:
                with self._stdin_lock:
                    view = memoryview(data)
                    while view:
                        view = view[os.write(self._stdin, view) :]
            except OSError as error:
                failed.append(error)

        writer = threading.Thread(target=write, daemon=True)
        writer.start()
        writer.join(deadline.remaining())
        if writer.is_alive():
            raise CutError("it does not read its stdin")
        if failed:
            raise BrokenPipeError(str(failed[0])) from failed[0]

    def _drain_stderr(self) -> None:
        assert self._process is not None  # noqa: S101
        assert self._process.stderr is not None  # noqa: S101
        pipe = self._process.stderr
        with pipe:
            while data := os.read(pipe.fileno(), 65536):
                with self._stderr_lock:
                    self._stderr_kept.append(data)
                    self._stderr_size += len(data)
                    while self._stderr_size - len(self._stderr_kept[0]) >= STDERR_KEPT_BYTES:
                        self._stderr_size -= len(self._stderr_kept.popleft())
                if self._on_stderr is not None:
                    try:
                        self._on_stderr(data)
                    except Exception:  # somebody else's code; undrained, the child would stop at its next words
                        import logging

                        logging.getLogger("gaia_mcp").exception(
                            "what listens to the log of MCP server %r failed", self._server
                        )
                        self._on_stderr = None
