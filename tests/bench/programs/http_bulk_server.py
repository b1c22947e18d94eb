"""As `bulk_server.py`, over HTTP at `HOST:PORT`: a long text as JSON (`big`) or as an event (`stream`)."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MEGABYTES = int(sys.argv[1])
PIECE = b"0123456789abcde " * 65536
TOOLS = [{"name": name, "description": "A long text", "inputSchema": {"type": "object"}} for name in ("big", "stream")]
RESULTS = {
    "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
    "tools/list": {"tools": TOOLS},
    "tools/call": {"content": [{"type": "text", "text": "<here>"}]},
}


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer with a result, the text in it piece by piece."""
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **RESULTS[request["method"]]}
        body = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()
        is_event = request.get("params", {}).get("name") == "stream"
        head, _, tail = (b"data: %s\n\n" % body if is_event else body).partition(b"<here>")
        size = len(head) + len(tail) + (MEGABYTES * len(PIECE) if tail else 0)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream" if is_event else "application/json")
        self.send_header("Content-Length", str(size))
        self.end_headers()
        self.wfile.write(head)
        for _ in range(MEGABYTES if tail else 0):
            self.wfile.write(PIECE)
        self.wfile.write(tail)

    def log_message(self, *_: object) -> None:
        """Quietly."""


host, _, port = sys.argv[2].rpartition(":")
ThreadingHTTPServer((host, int(port)), Handler).serve_forever()
