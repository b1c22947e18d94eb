"""As `plain_server.py`, over HTTP at `HOST:PORT`: what remains of a call is the client's own."""

from __future__ import annotations

import json
import sys
from socketserver import StreamRequestHandler, ThreadingTCPServer

INFO = {"io.modelcontextprotocol/serverInfo": {"name": "plain", "version": "1"}}
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
RESULTS = {
    "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
    "tools/list": {"tools": [{"name": "greet", "description": "Say hello.", "inputSchema": SCHEMA}]},
    "tools/call": {"content": [{"type": "text", "text": "Hello, Ada!"}], "isError": False},
}
ANSWERS = {
    method: json.dumps({"resultType": "complete", "ttlMs": 0, "cacheScope": "private", "_meta": INFO, **result})
    for method, result in RESULTS.items()
}
REFUSAL = b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n"


class Handler(StreamRequestHandler):
    """One connection, with as many requests as the client sends."""

    disable_nagle_algorithm = True

    def handle(self) -> None:
        """Answer each POST with a result, and everything else with a refusal."""
        while first := self.rfile.readline():
            length = 0
            while line := self.rfile.readline().strip().lower():
                if line.startswith(b"content-length:"):
                    length = int(line.partition(b":")[2])
            body = self.rfile.read(length)
            self.wfile.write(answer(json.loads(body)) if first.startswith(b"POST") else REFUSAL)


def answer(message: dict) -> bytes:
    """The whole response to a request."""
    identifier = json.dumps(message["id"])
    body = f'{{"jsonrpc":"2.0","id":{identifier},"result":{ANSWERS[message["method"]]}}}'.encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


class Server(ThreadingTCPServer):
    """Threads that do not keep it from ending."""

    allow_reuse_address = True
    daemon_threads = True


host, _, port = sys.argv[1].rpartition(":")
Server((host, int(port)), Handler).serve_forever()
