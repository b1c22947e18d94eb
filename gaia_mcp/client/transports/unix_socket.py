"""`SocketTransport`: a server that another process of this user holds open, over a Unix stream socket, and its channel:
one JSON message per line, in both directions.

Knows no keeper of servers: `connect` returns a socket on which MCP can be spoken at once, and `why_lost` knows why the
other end has closed it.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from gaia_mcp.client.conversation.engine import ChannelTransport
from gaia_mcp.client.transports.base import Receiver, time_ran_out
from gaia_mcp.client.transports.line_channel import LineChannel, in_words
from gaia_mcp.client.transports.stdio.child_pipes import READ_BYTES, InputPipe, SteadyThread
from gaia_mcp.core.deadline import DEFAULT_TIMEOUT_SECONDS, IMPATIENT_GRACE_SECONDS, Deadline
from gaia_mcp.core.errors import ConnectError, ConnectionLostError, MCPError, NotConnectedError
from gaia_mcp.protocol.framing import MAX_RECORD_BYTES

if TYPE_CHECKING:
    import socket

    from gaia_mcp.text.redaction.masker import Masker


class Connected(NamedTuple):
    """A connected socket, which the channel closes, and the bytes that were received after what its opener read."""

    socket: socket.socket
    received: bytes = b""


class SocketTransport(ChannelTransport):
    """Holds the conversation over the sockets that `connect` returns, one for each connection.

    `connect` may raise `ConnectError`, `DeadlineError` or `OSError`. `masker` returns one for the secrets that were
    passed to the server, `stderr_tail` the end of its stderr. `why_lost` returns the error for a caller, and is called
    once the other end has closed, also on the thread that reads: its argument is when that happened, in words, such as
    "while answering tools/list" or "before it was asked to". If it is a `ConnectionLostError`, it is asked for again
    for each caller; another error is the same for all. `receiving`
    may put a receiver of its own before the one that it gets. The other arguments are as in `StdioTransport`.
    """

    def __init__(
        self,
        connect: Callable[[Deadline], Connected],
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        debug: bool = False,
        *,
        name: str,
        masker: Callable[[], Masker],
        stderr_tail: Callable[[], str],
        why_lost: Callable[[str], MCPError],
        receiving: Callable[[Receiver], Receiver] = lambda receiver: receiver,
        busy_polls: bool = True,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        super().__init__(self._new_socket_channel, name=name, timeout=timeout, debug=debug)
        self._connect_socket = connect
        self._masker = masker
        self._stderr_tail = stderr_tail
        self._why_lost = why_lost
        self._receiving = receiving
        self._busy_polls = busy_polls
        self._max_record_bytes = max_record_bytes

    def __repr__(self) -> str:
        state = "connected" if self.is_connected() else "not connected"
        return f"<SocketTransport {self.name!r}, {state}>"

    def masker(self) -> Masker:
        """A masker for the secrets that were passed to the server and that no error or log may contain."""
        return self._masker()

    def stderr_tail(self) -> str:
        """The end of the server's stderr, without the secrets it was given."""
        return self._masker().text(self._stderr_tail())

    def _new_socket_channel(self) -> SocketChannel:
        return SocketChannel(
            self.name,
            self._connect_socket,
            self._masker,
            stderr_tail=self.stderr_tail,
            why_lost=self._why_lost,
            receiving=self._receiving,
            busy_polls=self._busy_polls,
            max_record_bytes=self._max_record_bytes,
        )


class SocketChannel(LineChannel):
    """A channel over the socket that `connect` returns when it is started. The arguments are as in `SocketTransport`;
    `stderr_tail` returns a text without secrets.
    """

    output = "its socket"

    def __init__(
        self,
        name: str,
        connect: Callable[[Deadline], Connected],
        masker: Callable[[], Masker],
        *,
        stderr_tail: Callable[[], str],
        why_lost: Callable[[str], MCPError],
        receiving: Callable[[Receiver], Receiver] = lambda receiver: receiver,
        busy_polls: bool = True,
        max_record_bytes: int = MAX_RECORD_BYTES,
    ) -> None:
        super().__init__(name, self._write_whole, masker, max_record_bytes=max_record_bytes, busy_polls=busy_polls)
        self._connect = connect
        self._new_stderr_tail = stderr_tail
        self._why_closed = why_lost
        self._receiving = receiving
        # Of the socket only the descriptor is used. It is written to, and closed, under one lock.
        self._pipe: InputPipe | None = None
        self._is_closing = False
        # How this side has ended the connection, if it was interrupted.
        self._interruption = ""

    def start(self, receiver: Receiver, deadline: Deadline) -> None:
        self._receiver = self._receiving(receiver)
        try:
            connected, received = self._connect(deadline)
            self._pipe = InputPipe(os.fdopen(connected.detach(), "wb", buffering=0), blocks=False)
            reading = self._reading = self._reading_from(self._pipe.fileno(), self._read)
            # Before another thread reads.
            self._take(received)
            self._reader = SteadyThread(target=reading.run, name=f"{self.name} socket", daemon=True)
            if self._is_closing:
                reading.stop()  # The thread that closes it may have run before `_reading` was set.
            self._reader.start()
        except MCPError:
            raise
        except TimeoutError as cause:
            raise time_ran_out(self.name, deadline, "at its start") from cause
        except (OSError, RuntimeError, MemoryError) as cause:
            # There is no such socket, or this process is out of descriptors, threads or memory.
            reason = getattr(cause, "strerror", None) or str(cause) or "out of memory"
            raise ConnectError(f"{self.name!r} could not be reached: {reason}", server=self.name) from cause

    def attributes(self) -> dict[str, str | int]:
        return {"network.transport": "unix"}

    def is_running(self) -> bool:
        if self._pipe is None or self._reason is not None:
            return False
        # While no caller waits, the end of the connection is not read at once.
        poller = select.poll()
        poller.register(self._pipe.fileno(), 0)
        return not poller.poll(0)

    def close(self, grace_seconds: float | None) -> None:  # noqa: ARG002
        self._is_closing = True
        self._end(NotConnectedError(self.name))
        reader, reading = self._reader, self._reading
        if reading is None:
            if self._pipe is not None:
                self._pipe.close()
            return
        reading.stop()
        if reader is None or not reader.is_alive():
            reading.run()  # It closes the socket if the thread was not started, and does nothing if it has ended.
        elif reader is not threading.current_thread():
            reader.join(IMPATIENT_GRACE_SECONDS)

    def why_lost(self, stage: str, noise: str = "") -> MCPError:  # noqa: ARG002
        if self._is_closing:
            return NotConnectedError(self.name)
        if self._interruption:
            return ConnectionLostError(f"server {self.name!r} {self._interruption} {in_words(stage)}", server=self.name)
        return self._why_closed(in_words(stage))

    def _write_whole(self, data: bytes, deadline: Deadline) -> None:
        assert self._pipe is not None  # noqa: S101 (nothing is sent before the start)
        self._pipe.write(data, deadline)

    def _read(self) -> bytes:
        assert self._pipe is not None  # noqa: S101
        try:
            return os.read(self._pipe.fileno(), READ_BYTES)
        except ConnectionResetError:
            return b""  # The other end has closed, and left something unread.

    def _stderr_tail(self) -> str:
        return self._new_stderr_tail()

    def _close_input(self) -> None:
        assert self._pipe is not None  # noqa: S101
        self._pipe.close()

    def _no_longer_reads(self, stage: str) -> MCPError:
        if self._is_closing:
            return NotConnectedError(self.name)
        self._read_rest()
        error = self.why_lost(stage)
        self._end(error)
        return error

    def _interrupted(self, action: str) -> MCPError:
        self._interruption = f"was disconnected because {action} it was interrupted"
        return self.why_lost("before it was asked to")
