"""An HTTP server on a loopback port, which answers with the function of a test."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, NamedTuple

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
