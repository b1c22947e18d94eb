"""A server behind a URL that does all that is required of it over HTTP, in both eras, but for one requirement.

Words in the query change what is optional: "refuse" the handshake, "alone" without sessions, "keep" a session, "events"
in place of JSON.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
STATELESS, HANDSHAKE = "2026-07-28", "2025-11-25"
INFO = {"name": "site", "version": "1"}
Wire = dict[str, Any]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    rule = "none"
    sessions: set[str]

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._reply(200 if self.rule in ("HS-7", "LS-3") else 405)

    def do_DELETE(self) -> None:
        session = self.headers.get("Mcp-Session-Id")
        if session is None:
            self._reply(200 if self.rule == "HS-7" else 405)
            return
        if "keep" not in self.path:
            self.sessions.discard(session)
        self._reply(405 if "keep" in self.path else 200)

    def do_POST(self) -> None:
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if isinstance(message, list):
            # Those of 2025-03-26.
            answers = [{"jsonrpc": "2.0", "id": one["id"], "result": {}} for one in message]
            body = json.dumps(answers).encode()
            self._reply(400 if self.rule == "LC-9" else 200, body, {"Content-Type": "application/json"})
            return
        meta = message.get("params", {}).get("_meta", {})
        if self.headers.get("Origin") and self.rule not in ("HS-1", "LS-5"):
            self._reply(403)
        elif VERSION in meta:
            self._answer_stateless(message, meta)
        else:
            self._answer_in_session(message)

    def _answer_stateless(self, message: Wire, meta: Wire) -> None:
        named = self.headers.get("MCP-Protocol-Version"), self.headers.get("Mcp-Method")
        if "id" not in message:
            self._reply(200 if self.rule == "HS-2" else 202)
        elif named != (meta[VERSION], message["method"]) and self.rule != "HS-5":
            self._fail(400, message, -32020, "Header mismatch")
        elif CAPABILITIES not in meta:
            self._fail(400, message, -32602, "no capabilities")
        elif meta[VERSION] != STATELESS:
            data = {"supported": [STATELESS], "requested": meta[VERSION]}
            self._fail(200 if self.rule == "HS-6" else 400, message, -32022, "Unsupported", data)
        elif message["method"] == "server/discover":
            found = {"resultType": "complete", "supportedVersions": [STATELESS, HANDSHAKE], "capabilities": {}}
            found |= {"ttlMs": 0, "cacheScope": "private", "_meta": {"io.modelcontextprotocol/serverInfo": INFO}}
            self._respond(message, found)
        else:
            self._fail(404, message, -32601, "Method not found")

    def _answer_in_session(self, message: Wire) -> None:
        if message.get("method") == "initialize" and "refuse" in self.path:
            self._fail(400, message, -32600, "no")
        elif message.get("method") == "initialize":
            self.sessions.add("s")
            version = message["params"]["protocolVersion"]
            version = version if version in (HANDSHAKE, "2025-03-26") else HANDSHAKE
            found = {"protocolVersion": version, "capabilities": {}, "serverInfo": INFO}
            self._respond(message, found, {} if "alone" in self.path else {"Mcp-Session-Id": "s"})
        elif self.headers.get("Mcp-Session-Id") is None and "alone" not in self.path:
            self._fail(400, message, -32600, "no session")
        elif self.headers.get("Mcp-Session-Id", "s") not in self.sessions:
            self._fail(404, message, -32600, "unknown session")
        elif "id" not in message:
            self._reply(202)
        elif self.headers.get("MCP-Protocol-Version", HANDSHAKE) != HANDSHAKE and self.rule != "LS-4":
            self._fail(400, message, -32600, "unknown revision")
        elif message["method"] == "ping":
            self._respond(message, {})
        else:
            self._fail(200, message, -32601, "Method not found")

    def _respond(self, message: Wire, result: Wire, headers: dict[str, str] | None = None) -> None:
        body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
        if "events" in self.path:
            notified = json.dumps({"jsonrpc": "2.0", "method": "notifications/x"}).encode()
            events = b"".join(b"data: %s\n\n" % each for each in (b"[", notified, body))
            self._reply(200, events, {"Content-Type": "text/event-stream", **(headers or {})})
            return
        kind = "text/plain" if self.rule == "HS-3" and self.headers.get("Origin") is None else "application/json"
        self._reply(200, body, {"Content-Type": kind, **(headers or {})})

    def _fail(self, status: int, message: Wire, code: int, text: str, data: Any = None) -> None:
        error = {"code": code, "message": text, **({"data": data} if data is not None else {})}
        body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "error": error}).encode()
        self._reply(status, body, {"Content-Type": "application/json"})

    def _reply(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def breaking_site(rule: str) -> Iterator[str]:
    """The URL of a server that breaks `rule`."""
    handler = type("Handler", (_Handler,), {"rule": rule, "sessions": set()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
