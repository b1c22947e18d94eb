"""The other end of a Unix socket: a real server of an agent, or a peer by hand."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Any

from gaia_mcp.client.transports.unix_socket import Connected, SocketChannel, SocketTransport
from gaia_mcp.core.errors import ServerExitedError
from gaia_mcp.core.local_sockets import connect
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.stdio.pipe_client import LoadingProvider, StdioSession
from gaia_mcp.text.redaction.masker import Masker
from tests.waiting import ENOUGH_SECONDS, PATIENCE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gaia_mcp.core.deadline import Deadline
    from gaia_mcp.core.errors import MCPError
    from tests.client.transports.talk import Heard

    OpenChannel = Callable[..., tuple[SocketChannel, Heard, socket.socket]]

READ_BYTES = 65536


def exited(when: str) -> MCPError:
    """The error for a server that its keeper has seen exit."""
    return ServerExitedError("calc", when, 3, "out of memory")


def transport_of(open_socket: Callable[[Deadline], Connected], **options: Any) -> SocketTransport:
    """A transport over the sockets that `open_socket` returns."""
    how = {"masker": lambda: Masker(["hunter22"]), "stderr_tail": lambda: "no hunter22", "why_lost": exited, **options}
    return SocketTransport(open_socket, ENOUGH_SECONDS, name="calc", **how)


def new_channel(open_socket: Callable[[Deadline], Connected], **limits: int) -> SocketChannel:
    """A channel over the socket that `open_socket` returns, not yet started."""
    masker, tail = (lambda: Masker(["hunter22"])), (lambda: "loading\n")
    return SocketChannel("calc", open_socket, masker, stderr_tail=tail, why_lost=exited, **limits)


class Listening:
    """Serves an agent on a socket in `folder`, each connection in threads of its own."""

    def __init__(self, folder: Path, agent: Any) -> None:
        self.path = folder / "s"
        self.ends: list[socket.socket] = []
        self._agent = agent
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.path))
        self._listener.listen()
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def open(self, deadline: Deadline) -> Connected:
        """A new connection."""
        return Connected(connect(self.path, deadline))

    def hang_up(self) -> None:
        """Close all connections, from this end."""
        for end in self.ends:
            end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Accept no more, and wait until all clients have gone."""
        self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive(), "a client has not closed its socket"
        for end in (self._listener, *self.ends):
            end.close()

    def _accept(self) -> None:
        while True:
            try:
                end, _ = self._listener.accept()
            except OSError:
                return
            self.ends.append(end)
            provider = LoadingProvider("calc")
            provider.load(AgentProvider(self._agent))
            session = StdioSession(lambda end=end: end.recv(READ_BYTES), end.sendall, provider)
            session.start()
            self._threads.append(threading.Thread(target=session.wait))
            self._threads[-1].start()
