"""Figures of serving over HTTP: many clients at once, beside the official SDK's server and an empty route; and what
waits for news.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.bench.figures import GAIA, PROGRAMS, Effort, Figure
from tests.server.http.sockets import stateless_call

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CLIENTS = 32
SUBSCRIPTIONS = 1000
STARTING_SECONDS = 30.0
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


class Load(NamedTuple):
    """What a server has done: requests in a second, the latency of all but one in a hundred, and processor time."""

    per_second: float
    p99_seconds: float
    processor_seconds: float


def spent(before: float, after: float) -> float:
    """The processor time between two readings: a tick at least, since less cannot be measured."""
    return max(after - before, 1 / TICKS)


class Port:
    """A server in a process of its own."""

    def __init__(self, command: Sequence[str], port: int) -> None:
        self.port = port
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + STARTING_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
            except ConnectionRefusedError:
                if time.monotonic() > deadline:
                    raise SystemExit(f"{' '.join(command)} does not listen") from None
                time.sleep(0.05)
            else:
                return

    @property
    def processor_seconds(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    @property
    def memory_bytes(self) -> int:
        pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def load(self, requests: int) -> Load:
        """Have so many requests answered, of several clients at once."""
        before = self.processor_seconds
        took, latencies = asyncio.run(_load(self.port, requests))
        p99 = sorted(latencies)[int(len(latencies) * 0.99)]
        return Load(len(latencies) / took, p99, spent(before, self.processor_seconds) / len(latencies))

    def end(self) -> None:
        self._process.terminate()
        self._process.wait()


def http_serving(effort: Effort) -> list[Figure]:
    """The figures of the server."""
    if not Path("/proc/self/statm").exists():
        return []
    return [*_beside_others(effort), _subscriptions(effort)]


def _beside_others(effort: Effort) -> list[Figure]:
    with _serving() as gaia, _program("http_sdk_server.py") as sdk, _program("http_empty_app.py") as empty:
        for server in (gaia, sdk, empty):
            server.load(CLIENTS)
        rounds = [
            tuple(each.load(max(CLIENTS, effort.calls)) for each in (gaia, sdk, empty))
            for _ in range(min(effort.commands, 3))
        ]
    ours, theirs, least = (
        Load(*(statistics.median(values) for values in zip(*loads, strict=True))) for loads in zip(*rounds, strict=True)
    )
    remark = f"{ours.per_second:.0f} / {{:.0f}} a second"
    return [
        Figure(
            f"HTTP server, {CLIENTS} clients: requests a second / the SDK's server",
            ours.per_second / theirs.per_second, 4, at_least=True, remark=remark.format(theirs.per_second),
        ),
        Figure(
            "HTTP server: 99th percentile / the SDK's server", ours.p99_seconds / theirs.p99_seconds, 0.5,
            remark=f"{ours.p99_seconds * 1000:.0f} / {theirs.p99_seconds * 1000:.0f} ms",
        ),
        Figure(
            "HTTP server: processor time of a request / the SDK's server",
            ours.processor_seconds / theirs.processor_seconds, 0.3,
            remark=f"{ours.processor_seconds * 1e6:.0f} / {theirs.processor_seconds * 1e6:.0f} us",
        ),
        Figure(
            "HTTP server: requests a second / an empty route", ours.per_second / least.per_second, 0.2,
            at_least=True, remark=remark.format(least.per_second),
        ),
        Figure(
            "HTTP server: processor time of a request / an empty route",
            ours.processor_seconds / least.processor_seconds, 4.5,
            remark=f"{ours.processor_seconds * 1e6:.0f} / {least.processor_seconds * 1e6:.0f} us",
        ),
    ]  # fmt: skip


def _subscriptions(effort: Effort) -> Figure:
    count = SUBSCRIPTIONS if effort.calls >= SUBSCRIPTIONS else effort.calls
    with _serving() as gaia:
        asyncio.run(_listen(gaia, count, seen := []))
    return Figure(f"HTTP server: memory with {count} idle subscriptions", seen[0] / 2**20, 200, unit="MB")


async def _load(port: int, requests: int) -> tuple[float, list[float]]:
    latencies: list[float] = []

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(requests // CLIENTS):
            began = time.perf_counter()
            writer.write(_request(port))
            await _answer(reader)
            latencies.append(time.perf_counter() - began)
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*[client() for _ in range(CLIENTS)])
    return time.perf_counter() - began, latencies


async def _listen(server: Port, count: int, seen: list[int]) -> None:
    body, headers = stateless_call("add", 1)
    message = json.loads(body)
    message |= {"method": "subscriptions/listen"}
    message["params"] |= {"notifications": {"toolsListChanged": True}}
    headers["mcp-method"] = "subscriptions/listen"
    connections = []
    for _ in range(count):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(_head(server.port, headers, json.dumps(message).encode()))
        await reader.readuntil(b"acknowledged")
        connections.append(writer)
    seen.append(server.memory_bytes)
    for writer in connections:
        writer.close()


async def _answer(reader: asyncio.StreamReader) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    if not head.startswith(b"http/1.1 200"):
        raise SystemExit(f"a request was refused: {head!r}")
    if b"content-length: " in head:
        await reader.readexactly(int(head.split(b"content-length: ")[1].split(b"\r\n")[0]))
        return
    while size := int(await reader.readline(), 16):
        await reader.readexactly(size + 2)
    await reader.readexactly(2)


def _request(port: int) -> bytes:
    body, headers = stateless_call("add", 1)
    message: dict[str, Any] = json.loads(body)
    message["params"]["arguments"] = {"a": 1, "b": 2}
    return _head(port, headers, json.dumps(message).encode())


def _head(port: int, headers: dict[str, str], body: bytes) -> bytes:
    lines = [f"{name}: {value}" for name, value in {**headers, "content-length": len(body)}.items()]
    return "\r\n".join(["POST /mcp HTTP/1.1", f"host: 127.0.0.1:{port}", *lines, "", ""]).encode() + body


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        found: int = free.getsockname()[1]
        return found


@contextmanager
def _serving() -> Iterator[Port]:
    port = _free_port()
    server = Port([GAIA, "mcp", "serve", "demo", "--http", f"127.0.0.1:{port}"], port)
    try:
        yield server
    finally:
        server.end()


@contextmanager
def _program(name: str) -> Iterator[Port]:
    port = _free_port()
    server = Port([sys.executable, str(PROGRAMS / name), str(port)], port)
    try:
        yield server
    finally:
        server.end()
