"""Figures of a long result over HTTP: the memory that it takes in the client, and in the server."""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.figures import GAIA, META, PROGRAMS, Effort, Figure, environment_with, own_peak_bytes, run
from tests.bench.http_calls import HEADERS, serving

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator

MEGABYTE = 1 << 20
LIMIT = 3


def in_the_client(effort: Effort, folder: Path) -> list[Figure]:
    """`call` of a text that comes as JSON, and of one that comes as an event."""
    figures = []
    command = [sys.executable, str(PROGRAMS / "http_bulk_server.py"), str(effort.megabytes)]
    with serving(command) as server:
        environment = environment_with(folder / "http-bulk", {"bulk": {"url": server.url, "type": "http"}})
        for tool, what in (("big", "JSON"), ("stream", "an event")):
            ended = run([GAIA, "mcp", "call", "bulk", tool], environment, keep=False)
            doubt = " (no more than this process: not its own)" if ended.peak_bytes <= own_peak_bytes() else ""
            figures.append(_figure("gaia mcp call", f", as {what} over HTTP", ended.peak_bytes, effort, doubt))
    return figures


def in_the_server(effort: Effort, folder: Path) -> list[Figure]:
    """`serve --http` of an agent whose tool returns a long text."""
    command = [GAIA, "mcp", "serve", f"{PROGRAMS / 'bulk_agent.py'}:Bulk", "--http"]
    with serving(command) as server:
        if not Path(f"/proc/{server.process.pid}/status").exists():
            return []
        for _ in range(2):
            size = sum(map(len, _called(server.url, effort.megabytes)))
            if size < effort.megabytes * MEGABYTE:
                raise SystemExit(f"the server has sent {size} bytes only")
        return [_figure("gaia mcp serve --http", " of its tool", _most_bytes(server.process), effort, "")]


def _called(url: str, megabytes: int) -> Iterator[bytes]:
    """The pieces of the response to a call, none of which is kept."""
    host = url.split("/")[2]
    params = {"name": "big", "arguments": {"megabytes": megabytes}, "_meta": META}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    lines = [f"{name}: {value}" for name, value in {**HEADERS, "Mcp-Name": "big", "Content-Length": len(body)}.items()]
    name, _, port = host.partition(":")
    with socket.create_connection((name, int(port))) as connection:
        head = "\r\n".join(["POST /mcp HTTP/1.1", f"Host: {host}", "Connection: close", *lines, "", ""])
        connection.sendall(head.encode() + body)
        while piece := connection.recv(MEGABYTE):
            yield piece


def _most_bytes(process: subprocess.Popen[bytes]) -> int:
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def _figure(program: str, more: str, peak: int, effort: Effort, doubt: str) -> Figure:
    return Figure(
        f"memory of {program} for a text of {effort.megabytes} MB{more} / its size",
        peak / (effort.megabytes * MEGABYTE),
        LIMIT,
        remark=f"{peak / MEGABYTE:.0f} MB{doubt}",
    )
