"""`StdioTransport`: a server as a child process, and its channel: one JSON message per line, over its standard input
and output.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from gaia_mcp.client.conversation.engine import ChannelTransport
from gaia_mcp.client.transports.base import Receiver, time_ran_out
from gaia_mcp.client.transports.line_channel import EXIT_STATUS_SECONDS, LineChannel, in_words
from gaia_mcp.client.transports.stdio.child import CLOSE_GRACE_SECONDS, Child, Stopped
from gaia_mcp.client.transports.stdio.child_pipes import SteadyThread
from gaia_mcp.client.transports.stdio.launch import secrets_given
from gaia_mcp.core.deadline import DEFAULT_TIMEOUT_SECONDS, IMPATIENT_GRACE_SECONDS, Deadline
from gaia_mcp.core.errors import (
    ConnectError,
    DeadlineError,
    MCPError,
    NotConnectedError,
    ServerExitedError,
)
from gaia_mcp.core.errors.requests import exit_in_words
from gaia_mcp.protocol.framing import MAX_RECORD_BYTES

if TYPE_CHECKING:
    from gaia_mcp.text.redaction.masker import Masker


class StdioTransport(ChannelTransport):
    """Starts `command` with `args`, without a shell, and holds the conversation.

    Without `args`, `command` is a command line, split into words, in which `~`, `$NAME` and `${NAME}` are expanded.
    With `debug` every message is logged. `env` is added to the variables that a server inherits: those listed in the
    module `launch`, or all with `inherits_all`, from `environ`, by default this process's own. `timeout` is in seconds,
    for each `send_request`; in the order of GAIA's documents it and `debug` follow the command. `child` is the first
    process, if it is already being started.
    Without `busy_polls` a caller that waits for a response sleeps at once; otherwise it polls for up to 0.3 ms before,
    which is faster and takes more processor time. A line of more than `max_record_bytes` ends the connection.
    """

    def __init__(
        self,
        command: str,
        args: Sequence[str] | float | None = None,
        env: Mapping[str, str] | bool | None = None,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        debug: bool = False,
        *,
        cwd: str | None = None,
        inherits_all: bool = False,
        environ: Mapping[str, str] | None = None,
        name: str = "server",
        on_stderr: Callable[[bytes], None] | None = None,
        child: Child | None = None,
        busy_polls: bool = True,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        if isinstance(args, (int, float)):
            timeout, args = args, None
        if isinstance(env, bool):
            debug, env = env, None
        super().__init__(self._new_stdio_channel, name=name, timeout=timeout, debug=debug)
        self.command = command
        self.args = list(args) if args is not None else None
        # As in GAIA, None without any.
        self.env = dict(env) if env else None
        self.cwd = cwd
        self.inherits_all = inherits_all
        self._environ = os.environ if environ is None else environ
        self._on_stderr = on_stderr
        self._prepared = child
        self._busy_polls = busy_polls
        self._max_record_bytes = max_record_bytes
        self._masker: Masker | None = None
        # The newest channel; it reports on its process also after that has ended.
        self._channel: StdioChannel | None = None

    def __repr__(self) -> str:
        state = "connected" if self.is_connected() else "not connected"
        return f"<StdioTransport {self.command!r}, {state}>"

    @property
    def pid(self) -> int | None:
        """The process id of the server; None without a process."""
        return self._channel.child.pid if self._channel is not None and self.engine.current is not None else None

    @property
    def stopped(self) -> Stopped | None:
        """How the last process ended; None while it runs."""
        return self._channel.stopped if self._channel is not None else None

    @property
    def exit_status(self) -> int | None:
        return self.stopped.returncode if self.stopped is not None else None

    def stderr_tail(self) -> str:
        """The end of the server's stderr, without the secrets it was given; also after it has exited."""
        return self._channel.child.stderr_tail(self.masker()) if self._channel is not None else ""

    def _alternatives(self, error: MCPError) -> tuple[()]:
        """None. If the stderr of a server that did not start mentions the network, the `facts` of the error list, as
        "not_passed_on", the network variables that are set here and were not passed to the server.
        """
        is_late = isinstance(error, DeadlineError)
        if (is_late or isinstance(error, ServerExitedError)) and (names := self._not_passed_on(is_late)):
            error.facts["not_passed_on"] = names
        return ()

    def close(self, grace_seconds: float | None = CLOSE_GRACE_SECONDS) -> Stopped | None:
        """Stop the server: close its stdin, wait, SIGTERM, wait, SIGKILL; `grace_seconds` for each step. Returns how it
        ended, None if none was running. May be called twice.
        """
        channel = self._channel if self.engine.current is not None else None
        self.disconnect(grace_seconds)
        return channel.stopped if channel is not None else None

    def masker(self) -> Masker:
        """A masker for the secrets that were passed to the server and that no error or log may contain."""
        if self._masker is None:
            from gaia_mcp.text.redaction.masker import Masker

            given = secrets_given(
                self.command, self.args, self.env or {}, self._environ, inherits_all=self.inherits_all
            )
            self._masker = Masker(given, spared=self.name)
        return self._masker

    def _not_passed_on(self, is_late: bool) -> list[str]:
        from gaia_mcp.client.transports.stdio.exit_reasons import fetches_packages, not_passed_on

        if self.inherits_all:
            return []
        is_fetching = is_late and fetches_packages(self.command)
        return not_passed_on(self.stderr_tail(), self.env or {}, self._environ, is_fetching=is_fetching)

    def _new_stdio_channel(self) -> StdioChannel:
        child, self._prepared = self._prepared, None
        if child is None:
            on_stderr = self._on_stderr
            if on_stderr is not None and self._channel is not None:
                on_stderr = self._announcing(self._channel, on_stderr)
            child = Child.of(
                self.name,
                self.command,
                self.args,
                env=self.env or {},
                cwd=self.cwd,
                inherits_all=self.inherits_all,
                environ=self._environ,
                on_stderr=on_stderr,
            )
        self._channel = StdioChannel(
            self.name,
            child,
            self.masker,
            max_record_bytes=self._max_record_bytes,
            busy_polls=self._busy_polls,
        )
        return self._channel

    def _announcing(self, before: StdioChannel, on_stderr: Callable[[bytes], None]) -> Callable[[bytes], None]:
        """`on_stderr` for the process that replaces the one of `before`: a line that names both precedes its output."""
        newline, after = _end_of(before)
        is_announced = False

        # It does not refer to `before`, which refers to what announced that, and so on to the first process.
        def hear(data: bytes) -> None:
            nonlocal is_announced
            if not is_announced:
                is_announced = True
                on_stderr(f"{newline}[process {self.pid}, after {after}]\n".encode())
            on_stderr(data)

        return hear


def _end_of(ended: StdioChannel) -> tuple[str, str]:
    """The newline that its stderr lacks at the end, if it does, and which process it was, with how that ended."""
    status = ended.stopped.returncode if ended.stopped is not None else None
    how = "" if status is None else f", which {exit_in_words(status)}"
    newline = "" if (ended.child.stderr_tail() or "\n").endswith("\n") else "\n"
    return newline, f"process {ended.child.pid}{how}"


class StdioChannel(LineChannel):
    """A channel over `child`, which is started by `start`. `masker` masks the secrets passed to it."""

    output = "stdout"

    def __init__(
        self,
        name: str,
        child: Child,
        masker: Callable[[], Masker] | None = None,
        *,
        max_record_bytes: int = MAX_RECORD_BYTES,
        busy_polls: bool = True,
    ) -> None:
        super().__init__(name, child.write, masker, max_record_bytes=max_record_bytes, busy_polls=busy_polls)
        self.child = child
        self.stopped: Stopped | None = None

    def start(self, receiver: Receiver, deadline: Deadline) -> None:
        self._receiver = receiver
        started = threading.Event()
        failure: list[MCPError] = []
        # The reader also starts the child. Signals interrupt only the main thread, so a Ctrl-C cannot arrive between
        # the creation of the process and its registration.
        self._reader = SteadyThread(target=self._read, args=(started, failure), name=f"{self.name} stdout", daemon=True)
        self._reader.start()
        if not started.wait(deadline.remaining()):
            raise time_ran_out(self.name, deadline, "at its start")
        if failure:
            raise failure[0]

    def attributes(self) -> dict[str, str | int]:
        return {"network.transport": "pipe"}

    def is_running(self) -> bool:
        return self.child.is_running()

    def is_drained(self) -> bool:
        return self.child.is_drained()

    def is_unread(self) -> bool:
        return not self._has_written or self.child.is_unread()

    def close(self, grace_seconds: float | None) -> None:
        if self._reading is not None:
            self._reading.keep_reading()  # Its remaining output must be drained, or it could not exit.
        stopped = self.child.stop(CLOSE_GRACE_SECONDS if grace_seconds is None else grace_seconds)
        self._end(NotConnectedError(self.name))
        if self._reading is not None:
            self._reading.stop()
        reader = self._reader
        if reader is not None and reader.is_alive() and reader is not threading.current_thread():
            reader.join(IMPATIENT_GRACE_SECONDS)
        self.stopped = stopped

    def why_lost(self, stage: str, noise: str = "", closed: str = "closed its output") -> MCPError:
        from gaia_mcp.client.transports.stdio.exit_reasons import last_words

        known = self._reason
        if isinstance(known, ServerExitedError):
            returncode, tail, closed = known.returncode, known.stderr_tail, known.closed
        else:
            if self.child.is_closing:
                return NotConnectedError(self.name)
            returncode = self.child.wait(EXIT_STATUS_SECONDS)
            self.child.settle_stderr(EXIT_STATUS_SECONDS)
            tail = self._stderr_tail()
        return ServerExitedError(
            self.name, in_words(stage), returncode, tail, last_words=last_words(tail), noise=noise, closed=closed
        )

    def _read(self, started: threading.Event, failure: list[MCPError]) -> None:
        try:
            self.child.start()
            reading = self._reading = self._reading_from(self.child.stdout, self.child.read)
            if self.child.is_closing:
                reading.stop()  # The thread that stops the child may have run before `_reading` was set.
        except MCPError as error:
            failure.append(error)
            return
        except (OSError, RuntimeError, MemoryError) as cause:
            # This process is out of descriptors, threads or memory. The child may have been started.
            self.child.close_stdout()
            reason = getattr(cause, "strerror", None) or str(cause) or "out of memory"
            failure.append(ConnectError(f"{self.name!r} could not be started: {reason}", server=self.name))
            return
        finally:
            started.set()
        reading.run()

    def _stderr_tail(self) -> str:
        return self.child.stderr_tail(self.masker())

    def _close_input(self) -> None:
        self.child.close_stdout()

    def _no_longer_reads(self, stage: str) -> MCPError:
        """As in `LineChannel`. The next request starts a new child."""
        if self.child.is_closing:
            return NotConnectedError(self.name)
        error = self.why_lost(stage, closed="no longer reads its input")
        if not self.child.is_running():
            self._read_rest()
        self._end(error)
        return error

    def _interrupted(self, action: str) -> ServerExitedError:
        tail = self._stderr_tail()
        closed = f"was disconnected because {action} it was interrupted"
        return ServerExitedError(self.name, "before it was asked to", None, tail, closed=closed)
