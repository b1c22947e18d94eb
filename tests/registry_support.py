"""A registry of servers on loopback: the read API, version 0.1, over documents that a test gives."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

OFFICIAL = "io.modelcontextprotocol.registry/official"


def document(name: str, **members: Any) -> dict[str, Any]:
    """A document with what every one has."""
    return {"name": name, "description": "A server.", "version": "1.0.0", **members}


def package(kind: str, identifier: str, version: str = "1.0.0", **members: Any) -> dict[str, Any]:
    """A package that is spoken to by its standard input and output."""
    return {
        "registryType": kind, "identifier": identifier, "version": version, "transport": {"type": "stdio"}, **members
    }  # fmt: skip


class ServedRegistry:
    """What the registry at `url` has: all versions of each server, the newest last. `answers` come first, by path:
    a status and a body, which is the new URL for status 301. `asked` are the paths and queries of all requests.
    """

    page_servers = 2

    def __init__(self, url: str) -> None:
        self.url = url
        self.documents: list[dict[str, Any]] = []
        self.notes: dict[str, Any] = {}
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.asked: list[str] = []
        # The values of that header.
        self.authorization: list[str | None] = []

    def answer(self, target: str) -> tuple[int, bytes]:
        """The status and the body for a request."""
        self.asked.append(target)
        split = urlsplit(target)
        if split.path in self.answers:
            return self.answers[split.path]
        parts, query = split.path.strip("/").split("/"), dict(parse_qsl(split.query))
        if parts == ["v0.1", "servers"]:
            return 200, self._page(query)
        name, version = unquote(parts[2]), unquote(parts[4])
        found = [one for one in self.documents if one["name"] == name and version in ("latest", one["version"])]
        if not found:
            return 404, b'{"error": "Server not found"}'
        return 200, json.dumps(self._response(found[-1])).encode()

    def _page(self, query: dict[str, str]) -> bytes:
        newest = {one["name"]: one for one in self.documents}
        matching = [one for name, one in newest.items() if query["search"] in name.casefold()]
        begin = int(query.get("cursor", 0))
        end = begin + self.page_servers
        metadata = {"nextCursor": str(end)} if end < len(matching) else {}
        servers = [self._response(one) for one in matching[begin:end]]
        return json.dumps({"servers": servers, "metadata": metadata}).encode()

    def _response(self, one: dict[str, Any]) -> dict[str, Any]:
        notes = {"status": "active", **self.notes.get(one["name"], {})}
        return {"server": one, "_meta": {OFFICIAL: notes}}


@contextmanager
def served_registry() -> Iterator[ServedRegistry]:
    """A registry that listens while the body of the `with` runs."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            registry.authorization.append(self.headers["authorization"])
            status, body = registry.answer(self.path)
            self.send_response(status)
            if status == 301:
                self.send_header("location", body.decode())
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    registry = ServedRegistry(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield registry
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
