"""A server as a child process, spoken to over its stdin and stdout."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from gaia_mcp.client.conversation.wire import WireConversation
from gaia_mcp.client.transports.stdio.child import CLOSE_GRACE_SECONDS, Child, Stopped
from gaia_mcp.client.transports.stdio.leader_follower import TurnReader
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import (
    DeadlineError,
    MCPError,
    NotConnectedError,
    RemoteProtocolError,
    ServerExitedError,
)
from gaia_mcp.protocol.framing import LineBuffer, RecordTooLongError
from gaia_mcp.protocol.jsonrpc import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from gaia_mcp.client.conversation.exchange import Exchange
    from gaia_mcp.protocol.events import Peer

# After its output has ended a server is given this long to end too, so that its exit status can be told.
EXIT_STATUS_SECONDS = 0.5
# When nothing more is expected of a server it is not waited for as long.
IMPATIENT_GRACE_SECONDS = 0.3


class StdioTransport(WireConversation):
    """Starts `command` with `args`, without a shell, and holds the conversation.

    Without `args` a command is read as a command line and split into words. `env` is added to the short list of
    variables that a server inherits; `timeout` is in seconds, for each request made through `send_request`. `child` is
    the first process, for who has begun to start it already.
    """

    def __init__(
        self,
        command: str,
        args: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float = 30,
        debug: bool = False,
        *,
        cwd: str | None = None,
        name: str = "server",
        on_stderr: Callable[[bytes], None] | None = None,
        child: Child | None = None,
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
        self._prepared = child
        self._secrets: list[str] | None = None
        self._opening = threading.Lock()
        self._disconnects = 0

    def __repr__(self) -> str:
        state = "connected" if self.is_connected() else "not connected"
        return f"<StdioTransport {self.command!r}, {state}>"

    @property
    def _child(self) -> Child | None:
        exchange = self._exchange
        return cast("Child", exchange.pipe) if exchange is not None else None

    @property
    def pid(self) -> int | None:
        """The process id of the server, while there is one."""
        child = self._child
        return child.pid if child is not None else None

    @property
    def exit_status(self) -> int | None:
        return self.stopped.returncode if self.stopped is not None else None

    def stderr_tail(self) -> str:
        """The end of what the server has written to stderr, without the secrets it was given."""
        child = self._child
        return child.stderr_tail(self.secrets()) if child is not None else ""

    def connect(self) -> bool:
        """Start the server, without a word to it yet.

        Raises `SpawnError` when it cannot be started.
        """
        deadline = Deadline(self.timeout)
        with self._alone(deadline) as disconnects:
            if not self.is_connected():
                self._start(deadline, disconnects, probe=True)
        return True

    def open(self, *, probe: bool, deadline: Deadline) -> Peer:
        with self._alone(deadline) as disconnects:
            exchange = self._exchange
            if self.is_open and exchange is not None and exchange.connection.peer is not None:
                return exchange.connection.peer
            if exchange is None or not self.is_connected():
                exchange = self._start(deadline, disconnects, probe=probe)
            try:
                return self._negotiate(exchange, deadline)
            except ServerExitedError:
                if not exchange.connection.is_probing:
                    raise
            # Some servers end on anything but `initialize`: once more, with that first.
            return self._negotiate(self._start(deadline, disconnects, probe=False), deadline)

    def disconnect(self) -> None:
        """End the server: close its stdin, wait, SIGTERM, wait, SIGKILL. May be called twice."""
        self.close()

    def close(self, grace_seconds: float = CLOSE_GRACE_SECONDS) -> Stopped | None:
        """As `disconnect`, with a grace of one's own for each step; how it ended, None if there was nothing to end."""
        self._disconnects += 1
        return self._stop(grace_seconds)

    # The pipe.

    @contextmanager
    def _alone(self, deadline: Deadline) -> Iterator[int]:
        """One thread at a time begins a connection, and ends it if that fails. Gives what `_start` wants to know: how
        often the transport has been disconnected before it was asked to connect.
        """
        disconnects = self._disconnects
        if not self._opening.acquire(timeout=deadline.remaining()):
            raise DeadlineError(self.name, "at its start", deadline.allowed)
        try:
            yield disconnects
        except BaseException:
            self._stop(IMPATIENT_GRACE_SECONDS)
            raise
        finally:
            self._opening.release()

    def _start(self, deadline: Deadline, disconnects: int, *, probe: bool) -> Exchange:
        self._stop(IMPATIENT_GRACE_SECONDS)
        child, self._prepared = self._prepared, None
        if child is None:
            child = Child.of(self.name, self.command, self.args, env=self.env, cwd=self.cwd, on_stderr=self._on_stderr)
        self.stopped = None
        exchange = self._begin(child, probe=probe)
        if self._disconnects != disconnects:
            # Another thread has disconnected, and found nothing that it could end.
            raise NotConnectedError(self.name)
        started = threading.Event()
        failure: list[MCPError] = []
        # The reader starts the child too. Signals interrupt only the main thread, so a Ctrl-C can never fall between
        # the making of a process and our knowing of it.
        exchange.reader = threading.Thread(
            target=self._read, args=(exchange, child, started, failure), name=f"{self.name} stdout", daemon=True
        )
        exchange.reader.start()
        if not started.wait(deadline.remaining()):
            raise DeadlineError(self.name, "at its start", deadline.allowed)
        if failure:
            self._exchange = None
            raise failure[0]
        return exchange

    def _read(self, exchange: Exchange, child: Child, started: threading.Event, failure: list[MCPError]) -> None:
        try:
            child.start()
            turns = exchange.turns = self._turns(exchange, child)
            if child.is_closing:
                turns.stop()  # Whoever stops the child may have been too early to do so.
        except MCPError as error:
            failure.append(error)
            return
        finally:
            started.set()
        turns.run()

    def _turns(self, exchange: Exchange, child: Child) -> TurnReader:
        lines = LineBuffer()

        def take(data: bytes) -> None:
            if exchange.lost is not None:
                return  # Unreadable from here on; it is only drained, so that it can end.
            try:
                for record in lines.feed(data):
                    if record[0] in b"Cc":
                        self._check_framing(record)
                    self._received(exchange, record)
            except RecordTooLongError as problem:
                self._pipe_ended(exchange, RemoteProtocolError(self.name, f"wrote {problem}"))
            except RemoteProtocolError as error:
                self._pipe_ended(exchange, error)

        def end() -> None:
            child.close_stdout()
            if exchange.lost is None:
                for record in lines.finish():
                    if not _is_cut_off(record):
                        self._received(exchange, record)
            self._pipe_ended(exchange, self._why_lost(exchange, "before it was asked to"))

        return TurnReader(child.stdout, child.read, take, end)

    def _check_framing(self, record: bytes) -> None:
        if record[:15].lower() == b"content-length:":
            raise RemoteProtocolError(
                self.name,
                "frames its messages with Content-Length, as language servers do; MCP is one message per line",
                hint="its author has to change that",
            )

    def _stop(self, grace_seconds: float) -> Stopped | None:
        exchange, child = self._exchange, self._child
        if exchange is None or child is None:
            return None
        if exchange.turns is not None:
            exchange.turns.call_back()  # What it still writes must be drained, or it could not end.
        stopped = child.stop(grace_seconds)
        self._pipe_ended(exchange, NotConnectedError(self.name))
        if exchange.turns is not None:
            exchange.turns.stop()
        reader = exchange.reader
        if reader is not None and reader.is_alive() and reader is not threading.current_thread():
            reader.join(IMPATIENT_GRACE_SECONDS)
        self.stopped = stopped
        with self._lock:
            # Another thread may have started the next one meanwhile.
            if self._exchange is exchange:
                self._exchange = None
        return stopped

    # Words for errors.

    def _default_deadline(self) -> Deadline:
        return Deadline(self.timeout)

    def _why_lost(self, exchange: Exchange, stage: str) -> MCPError:
        lost = exchange.lost
        if lost is not None and not isinstance(lost, ServerExitedError):
            return lost
        closed = "closed its output"
        if lost is not None:
            returncode, tail, closed = lost.returncode, lost.stderr_tail, lost.closed
        else:
            child = cast("Child", exchange.pipe)
            if child.is_closing:
                return NotConnectedError(self.name)
            returncode = child.wait(EXIT_STATUS_SECONDS)
            child.settle_stderr(EXIT_STATUS_SECONDS)
            tail = child.stderr_tail(self.secrets())
        from gaia_mcp.client.transports.stdio.last_words import last_words

        return ServerExitedError(
            self.name,
            _before(stage),
            returncode,
            tail,
            last_words=last_words(tail),
            noise=super()._noise(),
            closed=closed,
        )

    def _noise(self) -> str:
        """As there, and how the log ends of who does not answer."""
        from gaia_mcp.client.transports.stdio.last_words import last_words

        said = last_words(self.stderr_tail())
        return "; ".join(filter(None, [super()._noise(), f"its log ends: {said}" if said else ""]))

    def secrets(self) -> list[str]:
        if self._secrets is None:
            from gaia_mcp.redaction import secrets_in

            # Without arguments the command is a whole line.
            words = self.args if self.args is not None else self.command.split()
            self._secrets = secrets_in(self.env, words)
        return self._secrets


def _is_cut_off(record: bytes) -> bool:
    """Whether this is only the beginning of a message."""
    if not record.lstrip().startswith((b"{", b"[")):
        return False
    try:
        parse(record)
    except ValueError:
        return True
    return False


def _before(stage: str) -> str:
    return stage if stage.startswith(("at ", "before ", "when ")) else f"while answering {stage}"
