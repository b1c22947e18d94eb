"""An HTTP server on a loopback port, which answers with the function of a test, or as an MCP server."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from email.message import Message


class Request(NamedTuple):
    """A request that has been received."""

    method: str
    path: str
    headers: Message
    body: bytes


@contextmanager
def http_server(answer: Callable[[Request], tuple[int, bytes]]) -> Iterator[str]:
    """Serve what `answer` returns, a status and a body; the URL of the server."""

    class Responder(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, content = answer(Request(self.command, self.path, self.headers, body))
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A client that has gone is what some tests are about."""

    with Server(("127.0.0.1", 0), Responder) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class RemoteServer:
    """An MCP server over HTTP, of the first revision. The first `failing` calls of a tool fail."""

    def __init__(self, failing: int = 0) -> None:
        self.messages: list[dict[str, Any]] = []
        self.authorizations: set[str | None] = set()
        self.failing = failing

    def __call__(self, request: Request) -> tuple[int, bytes]:
        message = json.loads(request.body)
        self.messages.append(message)
        self.authorizations.add(request.headers["Authorization"])
        if "id" not in message:
            return 202, b""
        if message["method"] == "tools/call" and self.failing:
            self.failing -= 1
            return 503, b"busy"
        return 200, json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": self.result(message)}).encode()

    def result(self, message: dict[str, Any]) -> dict[str, Any]:
        if message["method"] == "initialize":
            return {"protocolVersion": "2024-11-05", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}
        if message["method"] == "tools/list":
            return {"tools": [{"name": "goto", "description": "Go to a page", "inputSchema": {"type": "object"}}]}
        texts = [{"type": "text", "text": json.dumps(message["params"])}, {"type": "text", "text": "done"}]
        return {"content": [*texts, {"type": "image", "data": "", "mimeType": "image/png"}]}

    def methods(self) -> list[str]:
        return [message["method"] for message in self.messages]
