"""HTTP at the socket of a held server, for clients that reach MCP servers by a URL such as `unix:///path/NAME.sock`.

There is no token: the socket is private, and its peers are of the same user. No browser connects to a Unix socket. If
another program forwards a port to it, the pages of sites are refused by their Origin; the Host, which has no meaning
here, may be any.
"""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import quote

from gaia_mcp.protocol.jsonrpc import INTERNAL_ERROR, encode, error

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from starlette.types import Receive, Scope, Send

    from gaia_mcp.fleet.keeper.held import HeldServer
    from gaia_mcp.server.http.accepted import AcceptedConnections

# Each connection also has a thread of the keeper, and on many systems a process may open 1024 files.
MAX_CONNECTIONS = 500
# The path of the endpoint, which the root of the socket is as well.
PATH = "/mcp"
# How long the rest of a refused request is read: closed before that, the connection would be reset, and the client
# would not see the response.
REST_SECONDS = 10.0
READ_BYTES = 64 * 1024
_MISSING = "HTTP at the socket of a server needs starlette and uvicorn, which the extra gaia-mcp[http] installs"


def url_of(path: str | os.PathLike[str]) -> str:
    """The URL of the endpoint at a socket, as VS Code writes it."""
    return f"unix://{quote(str(path))}#{PATH}"


def is_request(first: bytes) -> bool:
    """Whether a connection that begins with this byte speaks HTTP: a request begins with the name of its method, a
    JSON message with a brace, a bracket or a blank.
    """
    return first.isalpha()


class HttpClients:
    """The clients of held servers over HTTP. `report` is called with the failures of the app. `is_installed` returns
    whether there is a module of this name.
    """

    def __init__(
        self,
        report: Callable[[str], None],
        *,
        is_installed: Callable[[str], object] = find_spec,
    ) -> None:
        self._report = report
        self._is_installed = is_installed
        # Guards the following.
        self._lock = threading.Lock()
        self._apps: dict[HeldServer, _HeldApp] = {}
        self._connections: AcceptedConnections | None = None

    def serve(self, connection: socket.socket, server: HeldServer) -> None:
        """Serve one client, until it disconnects or the server is stopped. Closes the connection."""
        with connection:
            if not (self._is_installed("starlette") and self._is_installed("uvicorn")):
                _refuse(connection, _MISSING)
                return
            connections, app = self._app_of(server)
            connections.serve(app, connection)

    def close(self) -> None:
        """Disconnect all clients, and end the thread that serves them. The servers have been stopped."""
        with self._lock:
            connections = self._connections
        if connections is not None:
            connections.close()

    def _app_of(self, server: HeldServer) -> tuple[AcceptedConnections, _HeldApp]:
        from gaia_mcp.server.http.accepted import AcceptedConnections
        from gaia_mcp.server.http.listening import ConnectionLimits

        with self._lock:
            connections = self._connections
            if connections is None:
                connections = AcceptedConnections(ConnectionLimits(connections=MAX_CONNECTIONS))
                self._connections = connections
            if (app := self._apps.get(server)) is not None:
                return connections, app
            app = self._apps[server] = _HeldApp(server, self._report)
        server.call_at_end(lambda: self._end(connections, server))
        return connections, app

    def _end(self, connections: AcceptedConnections, server: HeldServer) -> None:
        with self._lock:
            app = self._apps.pop(server)
        # Clients that are connected to a server that is started anew connect again.
        connections.end(app, app.http.end_streams)
        app.http.close()


class _HeldApp:
    """The ASGI app of one held server, which counts its clients."""

    def __init__(self, server: HeldServer, report: Callable[[str], None]) -> None:
        from gaia_mcp.server.http.app import HttpApp
        from gaia_mcp.server.http.security import SocketHosts
        from gaia_mcp.server.http.workers import Limits
        from gaia_mcp.store import MemoryStore

        self._server = server
        self.http = HttpApp(
            {PATH: server.provider},
            hosts=SocketHosts(),
            authorizer=None,
            limits=Limits(),
            store=MemoryStore(),
            on_failure=lambda text, _: report(text),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["path"] in ("", "/"):
            scope = {**scope, "path": PATH, "raw_path": PATH.encode()}
        with self._server.client():
            await self.http(scope, receive, send)


def _refuse(connection: socket.socket, text: str) -> None:
    """Answer a request, whatever it is, with status 501, and disconnect."""
    body = encode(error(None, INTERNAL_ERROR, text))
    head = f"HTTP/1.1 501 Not Implemented\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    with suppress(OSError):
        connection.sendall(f"{head}connection: close\r\n\r\n".encode() + body)
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(REST_SECONDS)
        while connection.recv(READ_BYTES):
            pass
