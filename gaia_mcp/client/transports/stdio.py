"""A server as a child process, spoken to over its stdin and stdout."""

from __future__ import annotations

import os
import shutil
import threading
from typing import TYPE_CHECKING

from gaia_mcp.client.transports.child import CLOSE_GRACE_SECONDS, Child, Stopped
from gaia_mcp.client.transports.commands import child_environment, split_command_line
from gaia_mcp.client.transports.wire import WireConversation
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import (
    ConnectError,
    DeadlineError,
    MCPError,
    NotConnectedError,
    RemoteProtocolError,
    ServerExitedError,
)
from gaia_mcp.protocol.lines import LineBuffer, RecordTooLongError
from gaia_mcp.safetext import one_line, redacted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gaia_mcp.protocol.events import Peer

# After its output has ended a server is given this long to end too, so that its exit status can be told.
EXIT_STATUS_SECONDS = 0.5
# When nothing more is expected of a server it is not waited for as long.
IMPATIENT_GRACE_SECONDS = 0.3


class StdioTransport(WireConversation):
    """Starts `command` with `args`, without a shell, and holds the conversation.

    Without `args` a command is read as a command line and split into words. `env` is added to the short list of
    variables that a server inherits; `timeout` is in seconds, for each request made through `send_request`.
    """

    def __init__(
        self,
        command: str,
        args: Sequence[str] | None = None,
        env: dict[str, str] | None = None,
        timeout: float = 30,
        debug: bool = False,
        *,
        cwd: str | None = None,
        name: str = "server",
        on_stderr: Callable[[bytes], None] | None = None,
    ) -> None:
        super().__init__()
        self.name = name
        self.command = command
        self.args = list(args) if args is not None else None
        self.env = dict(env or {})
        self.timeout = timeout
        self.debug = debug
        self.cwd = cwd
        self.stopped: Stopped | None = None
        self._on_stderr = on_stderr
        self._child: Child | None = None
        self._reader: threading.Thread | None = None

    def __repr__(self) -> str:
        state = "connected" if self.is_connected() else "not connected"
        return f"<StdioTransport {self.command!r}, {state}>"

    @property
    def pid(self) -> int | None:
        """The process id of the server, while there is one."""
        return self._child.pid if self._child is not None else None

    def stderr_tail(self) -> str:
        """The end of what the server has written to stderr, without the secrets it was given."""
        return redacted(self._child.stderr_tail(), self._secrets()) if self._child is not None else ""

    def connect(self) -> bool:
        """Start the server, without a word to it yet.

        Raises `SpawnError` when it cannot be started.
        """
        if not self.is_connected():
            self._start(Deadline(self.timeout), probe=True)
        return True

    def open(self, *, probe: bool, deadline: Deadline) -> Peer:
        try:
            if not self.is_connected():
                self._start(deadline, probe=probe)
            try:
                return self._negotiate(deadline)
            except ServerExitedError:
                if self._connection is None or not self._connection.is_probing:
                    raise
            # Some servers end on anything but `initialize`: once more, with that first.
            self._stop(IMPATIENT_GRACE_SECONDS)
            self._start(deadline, probe=False)
            return self._negotiate(deadline)
        except BaseException:
            self._stop(IMPATIENT_GRACE_SECONDS)
            raise

    def disconnect(self) -> None:
        """End the server: close its stdin, wait, SIGTERM, wait, SIGKILL. May be called twice."""
        self.close()

    def close(self, grace_seconds: float = CLOSE_GRACE_SECONDS) -> Stopped | None:
        """As `disconnect`, with a grace of one's own for each step; how it ended, None if there was nothing to end."""
        return self._stop(grace_seconds)

    def is_connected(self) -> bool:
        """Whether the server runs and can still be read from."""
        return self._child is not None and self._lost is None and self._child.poll() is None

    # The pipe.

    def _start(self, deadline: Deadline, *, probe: bool) -> None:
        self._stop(IMPATIENT_GRACE_SECONDS)
        command, arguments = self._words()
        self._child = Child(
            self.name,
            command,
            arguments,
            environment=child_environment(self.env, os.environ),
            cwd=self.cwd,
            on_stderr=self._on_stderr,
        )
        self._begin(probe=probe)
        self.stopped = None
        started = threading.Event()
        failure: list[MCPError] = []
        # The reader starts the child too. Signals interrupt only the main thread, so a Ctrl-C can never fall between
        # the making of a process and our knowing of it.
        self._reader = threading.Thread(
            target=self._read, args=(self._child, started, failure), name=f"{self.name} stdout", daemon=True
        )
        self._reader.start()
        if not started.wait(deadline.remaining()):
            raise DeadlineError(self.name, "at its start", deadline.seconds)
        if failure:
            self._child = None
            raise failure[0]

    def _words(self) -> tuple[str, list[str]]:
        if self.args is not None:
            return self.command, self.args
        # A path with a space in it is a program, not a command line.
        if shutil.which(self.command):
            return self.command, []
        words = split_command_line(self.name, self.command)
        return words[0], words[1:]

    def _read(self, child: Child, started: threading.Event, failure: list[MCPError]) -> None:
        try:
            child.start()
        except MCPError as error:
            failure.append(error)
            return
        finally:
            started.set()
        lines = LineBuffer()
        lost: MCPError | None = None
        while data := child.read():
            if lost is not None:
                continue  # Unreadable from here on; keep draining, so that it can end.
            try:
                for record in lines.feed(data):
                    self._take(record)
            except (RecordTooLongError, RemoteProtocolError) as error:
                lost = error if isinstance(error, MCPError) else RemoteProtocolError(self.name, f"wrote {error}")
                self._pipe_ended(lost)
        for record in lines.finish():
            self._received(record)
        if lost is None:
            asked_to = child.is_closing
            self._pipe_ended(NotConnectedError(self.name) if asked_to else self._why_lost("before it was asked to"))

    def _take(self, record: bytes) -> None:
        if record[:15].lower() == b"content-length:":
            raise RemoteProtocolError(
                self.name,
                "frames its messages with Content-Length, as language servers do; MCP is one message per line",
                hint="its author has to change that",
            )
        self._received(record)

    def _write(self, data: bytes, deadline: Deadline) -> None:
        if self._child is None:
            raise BrokenPipeError
        self._child.write(data, deadline)

    def _stop(self, grace_seconds: float) -> Stopped | None:
        child, reader = self._child, self._reader
        if child is None:
            return None
        self.stopped = child.stop(grace_seconds)
        if reader is not None and reader is not threading.current_thread():
            reader.join(IMPATIENT_GRACE_SECONDS)
        self._child = self._reader = self._connection = None
        return self.stopped

    # Words for errors.

    def _default_deadline(self) -> Deadline:
        return Deadline(self.timeout)

    def _why_lost(self, stage: str) -> MCPError:
        if self._lost is not None and not isinstance(self._lost, ServerExitedError):
            return self._lost
        child = self._child
        if child is None:
            return ConnectError(f"server {self.name!r} was disconnected {stage}", server=self.name)
        returncode = child.wait(EXIT_STATUS_SECONDS)
        child.settle_stderr(EXIT_STATUS_SECONDS)
        tail = self.stderr_tail()
        return ServerExitedError(
            self.name, _before(stage), returncode, tail, last_words=_last_words(tail) or self._noise()
        )

    def _noise(self) -> str:
        strays = self.host.strays if self.host is not None else []
        if not strays:
            return ""
        lines = "a line" if len(strays) == 1 else f"{len(strays)} lines"
        return f"it wrote {lines} to stdout that are not MCP: {redacted(strays[0], self._secrets())!r}"

    def _secrets(self) -> list[str]:
        return list(self.env.values())


def _before(stage: str) -> str:
    return stage if stage.startswith(("at ", "before ", "when ")) else f"while answering {stage}"


def _last_words(stderr: str) -> str:
    """The last line that says something: of a Python traceback the last, of node's the one with "Error"."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    telling = [line for line in lines[-30:] if line.startswith(("Error", "TypeError", "SyntaxError", "fatal", "FATAL"))]
    if lines and lines[-1].startswith(("Node.js v", "at ", "}")) and telling:
        return one_line(telling[-1])
    return one_line(lines[-1]) if lines else ""
