"""A server that npm fetches from a company's registry, which only the variables of the shell name."""

from __future__ import annotations

import base64
import io
import json
import os
import tarfile
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.core.errors import ConnectError
from tests.prepare.installing import node_and_npm

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gaia_mcp.client import MCPClient
    from tests.prepare.fixtures import Prepared

    Connect = Callable[..., MCPClient]

# No public registry has a package in this scope.
PACKAGE = "@company.invalid/server"
USER = "ada:swordfish"
SERVER = """#!/usr/bin/env node
require("readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method } = JSON.parse(line);
  if (id === undefined) return;
  const result = { protocolVersion: "2025-11-25", capabilities: {}, serverInfo: { name: "company", version: "1" } };
  const answer = method === "initialize" ? { result } : { error: { code: -32601, message: "Method not found" } };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
});
"""


def tarball() -> bytes:
    files = {"package.json": json.dumps({"name": PACKAGE, "version": "1.0.0", "bin": "server.js"}), "server.js": SERVER}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(f"package/{name}")
            member.size, member.mode = len(text.encode()), 0o755
            archive.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()


class Registry(BaseHTTPRequestHandler):
    """A registry of one package, which wants a password."""

    packed = tarball()

    def do_GET(self) -> None:
        if self.headers.get("Authorization") != f"Basic {base64.b64encode(USER.encode()).decode()}":
            self.send_error(401)
            return
        body = self.packed
        if not self.path.endswith(".tgz"):
            host = self.headers["Host"]
            version = {"name": PACKAGE, "version": "1.0.0", "bin": {"server": "server.js"}}
            dist: dict[str, Any] = {"dist": {"tarball": f"http://{host}/server.tgz"}}
            document = {"name": PACKAGE, "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {**version, **dist}}}
            body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@contextmanager
def registry() -> Iterator[str]:
    """The host and port of the registry."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_npm_fetches_a_server_from_the_registry_that_the_shell_names(
    connect: Connect, prepared: Prepared, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours: the registry is passed on; its password, as all that looks like a secret, only if the entry asks for it."""
    path = f"{Path(prepared.node()).parent}{os.pathsep}{os.environ['PATH']}"
    _, npm = node_and_npm()
    own = {"HOME": str(tmp_path), "PATH": path, "npm_config_cache": str(tmp_path / "cache")}
    with registry() as host:
        monkeypatch.setenv("NPM_CONFIG_REGISTRY", f"http://{host}/")
        auth = f"npm_config_//{host}/:_auth"
        monkeypatch.setenv(auth, base64.b64encode(USER.encode()).decode())

        with pytest.raises(ConnectError) as refused:
            connect(*npm, "exec", "--yes", PACKAGE, env=own)
        client = connect(*npm, "exec", "--yes", PACKAGE, env=own, inherit=True)

    assert refused.value.facts["not_passed_on"][0] == auth
    assert client.server_info["name"] == "company"
