"""A server on a real port of this machine, and clients that send what they like."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from typing import Any

from gaia_mcp.server.http.listening import Address, HttpServer, listen
from tests.server.talk import META
from tests.waiting import PATIENCE_SECONDS

Wire = dict[str, Any]


class Port:
    """An app that is served until `end`."""

    def __init__(self, app: Any, **options: Any) -> None:
        listener = listen(Address("127.0.0.1", 0))
        self.port: int = listener.getsockname()[1]
        self.cut: list[int] = []
        self.app = app
        ready = threading.Event()
        self.server = HttpServer(app, listener, on_ready=ready.set, on_cut=self.cut.append, **options)
        self._thread = threading.Thread(target=self.server.run, daemon=True)
        self._thread.start()
        assert ready.wait(PATIENCE_SECONDS)
        self._sockets: list[socket.socket] = []

    def connect(self) -> socket.socket:
        """A connection that sends nothing by itself."""
        made = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_SECONDS)
        self._sockets.append(made)
        return made

    def send(self, data: bytes) -> socket.socket:
        """A connection that has sent this."""
        made = self.connect()
        made.sendall(data)
        return made

    def reply(self, data: bytes) -> bytes:
        """What comes back until the connection ends."""
        return rest(self.send(data))

    def call(self, tool: str, request_id: int = 1, **meta: Any) -> Any:
        """The response to a stateless call."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("POST", "/mcp", *stateless_call(tool, request_id, **meta))
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def begin(self, tool: str, **meta: Any) -> socket.socket:
        """A connection that has sent a stateless call."""
        body, headers = stateless_call(tool, 1, **meta)
        lines = [f"{name}: {value}" for name, value in {**headers, "content-length": len(body)}.items()]
        return self.send("\r\n".join(["POST /mcp HTTP/1.1", "host: localhost", *lines, "", ""]).encode() + body)

    def stop(self) -> None:
        """As a signal does."""
        self.server.stop()
        self._thread.join(PATIENCE_SECONDS * 2)
        assert not self._thread.is_alive()

    def end(self) -> None:
        """Leave nothing behind."""
        for each in self._sockets:
            each.close()
        self.stop()


def stateless_call(tool: str, request_id: int, **meta: Any) -> tuple[bytes, dict[str, str]]:
    """The body and the headers of a stateless call."""
    params = {"name": tool, "arguments": {}, "_meta": META | meta}
    body = json.dumps({"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}).encode()
    headers = {
        "content-type": "application/json", "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": tool,
    }  # fmt: skip
    return body, headers


def rest(connection: socket.socket) -> bytes:
    """What comes until the end of the connection."""
    pieces = []
    try:
        while piece := connection.recv(65536):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


def until(connection: socket.socket, words: bytes) -> bytes:
    """The bytes that come until these words."""
    seen = bytearray()
    while seen.find(words, max(0, len(seen) - 65536 - len(words))) < 0:
        piece = connection.recv(65536)
        assert piece, seen
        seen += piece
    return bytes(seen)
