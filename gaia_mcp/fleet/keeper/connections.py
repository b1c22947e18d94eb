"""The connections to a held server: another program gets the server as its entry filters it, a command what the server
has sent. A command line that runs in the keeper uses it over memory; what that is to print, and to ask, goes to the
command that has sent the line.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.conversation.engine import ChannelTransport
from gaia_mcp.client.transports.in_process import MemoryChannel
from gaia_mcp.fleet.keeper import READ_BYTES
from gaia_mcp.fleet.keeper.held import LAST_SECONDS
from gaia_mcp.fleet.keeper.holding import Reading
from gaia_mcp.protocol.server import ServerConnection
from gaia_mcp.server.calls import Calls
from gaia_mcp.server.outcomes import encode_outgoing
from gaia_mcp.server.provider import WrappingProvider
from gaia_mcp.server.stdio.pipe_client import StdioSession

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from gaia_mcp.asking import Call
    from gaia_mcp.client.transports.base import Receiver
    from gaia_mcp.config.entries import ServerEntry
    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.fleet.keeper.held import HeldProvider, HeldServer
    from gaia_mcp.protocol.connection import Outgoing
    from gaia_mcp.server.provider import Provider
    from gaia_mcp.text.redaction.masker import Masker

Wire = dict[str, Any]

# What is sent to the command of a line, each with its kind, its size and a newline before it: the exit code, what is to
# be printed on stdout or stderr, a question, whose answer comes back with its size before it, and progress.
EXIT, ON_STDOUT, ON_STDERR, QUESTION, PROGRESS = range(5)
# What a line is answered with first, if it runs here. Without it nothing was called.
RUNS = b"+"


class HeldHere:
    """The server of `provider`, as `Holding` is one in another process; the other arguments are as there."""

    def __init__(
        self,
        provider: Provider,
        remark: str,
        stderr_tail: Callable[[], str],
        *,
        revision: str | None,
        masker: Callable[[], Masker],
    ) -> None:
        self.remark = remark
        self.revision = revision
        self._provider = provider
        self._stderr_tail = stderr_tail
        self._masker = masker
        self._used: _Transport | None = None

    def transport(self, entry: ServerEntry, timeout: float, debug: bool) -> ChannelTransport:
        """The transport of the server, whose entry is given."""
        self._used = _Transport(self._provider, self._masker, self._stderr_tail, entry.name, timeout, debug)
        return self._used

    def close(self) -> None:
        """End the connection: what is being called is cancelled."""
        if self._used is not None:
            self._used.close(0.0)


class _Transport(ChannelTransport):
    def __init__(
        self,
        provider: Provider,
        masker: Callable[[], Masker],
        stderr_tail: Callable[[], str],
        name: str,
        timeout: float,
        debug: bool,
    ) -> None:
        super().__init__(lambda: _Channel(name, provider, masker()), name=name, timeout=timeout, debug=debug)
        self._new_masker = masker
        self._new_stderr_tail = stderr_tail

    def masker(self) -> Masker:
        return self._new_masker()

    def stderr_tail(self) -> str:
        return self._new_stderr_tail()


class _Channel(MemoryChannel):
    """Each call runs in a thread of its own, so that the deadline of its caller is kept."""

    output = "its socket"

    def __init__(self, name: str, provider: Provider, masker: Masker) -> None:
        super().__init__(name, self._take, masker)
        self._calls = Calls(ServerConnection(provider.describe()), provider, self._return, follows=False)

    def start(self, receiver: Receiver, deadline: Deadline) -> None:
        super().start(Reading(receiver), deadline)

    def close(self, grace_seconds: float | None) -> None:
        super().close(grace_seconds)
        self._calls.close()

    def _take(self, record: bytes) -> None:
        for job in self._calls.receive(record):
            threading.Thread(target=self._calls.run, args=(job,), name="call", daemon=True).start()

    def _return(self, outgoing: Outgoing) -> None:
        if self.is_running():
            self.arrive(encode_outgoing(outgoing.message).rstrip())


class LineClient:
    """The command that has sent a line, and waits for it. `watch` calls a function when that disconnects, and `unwatch`
    ends this. Safe to use from several threads.
    """

    def __init__(
        self,
        connection: socket.socket,
        watch: Callable[[Callable[[], None]], object],
        unwatch: Callable[[], object],
    ) -> None:
        self._connection = connection
        self._watch = watch
        self._unwatch = unwatch
        self._lock = threading.Lock()
        # Held while a question is open.
        self._asking = threading.Lock()
        self._cancel: Callable[[], None] = lambda: None

    def begin(self, cancel: Callable[[], None]) -> None:
        """The line runs, from here on also if nothing more comes. `cancel` is called if the command has disconnected.
        Raises `OSError` as the system does, as the other methods do.
        """
        self._cancel = cancel
        self._connection.sendall(RUNS)
        self._watch(cancel)

    def send(self, kind: int, data: bytes) -> None:
        """Send something of this kind."""
        with self._lock:
            self._connection.sendall(b"%d %d\n" % (kind, len(data)) + data)

    def ask(self, question: bytes) -> bytes:
        """The answer of the person who has typed the line."""
        with self._asking:
            # What arrives now is an answer.
            self._unwatch()
            try:
                self.send(QUESTION, question)
                received = b""
                while True:
                    size, newline, rest = received.partition(b"\n")
                    if newline and len(rest) >= int(size):
                        return rest
                    if not (data := self._connection.recv(READ_BYTES)):
                        self._cancel()
                        raise ConnectionResetError
                    received += data
            finally:
                self._watch(self._cancel)


class ProgramView(WrappingProvider):
    """The provider of one connection of another program."""

    is_settled = True

    def await_description(self, record: bytes, has_sent_more: Callable[[], bool] = lambda: False) -> None:
        """Does nothing: the server is connected."""


class CommandView(ProgramView):
    """The provider of one connection of a command, which gets what the server has sent."""

    _provider: HeldProvider

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        """The result as the server sent it."""
        return self._provider.own_result(method, params, call)


def serve_lines(connection: socket.socket, received: bytes, server: HeldServer, *, is_own: bool) -> None:
    """Serve one client, which has sent `received` already, until it disconnects; with `is_own` it is a command."""
    before = [received] if received else []

    def read() -> bytes:
        if before:
            return before.pop()
        try:
            return connection.recv(READ_BYTES)
        except OSError:
            return b""

    provider = CommandView(server.provider) if is_own else ProgramView(server.provider)
    session = StdioSession(read, connection.sendall, provider)  # type: ignore[arg-type]
    session.start()
    session.wait()
    # If it has disconnected, it waits for no result any more. If the server has been stopped, its calls have failed.
    session.finish(LAST_SECONDS if server.is_closed else 0.0)
