"""Figures of a single call over HTTP, with everything running already: our client beside the official SDK's, and beside
the same POST by hand.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from gaia_mcp.client import MCPClient
from tests.bench.figures import GAIA, PROGRAMS, Effort, Figure, greet

if TYPE_CHECKING:
    from collections.abc import Iterator

ARGUMENTS = {"name": "Ada"}
# As for calls over a pipe.
BLOCK_CALLS = 100
FIRST_PART = 0.2
START_SECONDS = 60


def clients(effort: Effort) -> list[Figure]:
    """One call with our client, with the SDK's, with the same POST by `httpx2`, and with the same bytes on a socket, in
    turns, on one server. The last is the server's own time, which no client is without.
    """
    figures = []
    for name, command in (
        ("serve demo", [GAIA, "mcp", "serve", "demo", "--http"]),
        ("the SDK's server", [sys.executable, str(PROGRAMS / "sdk_http_server.py")]),
        ("a server that answers at once", [sys.executable, str(PROGRAMS / "http_plain_server.py")]),
    ):
        bare, by_hand, ours, sdk = asyncio.run(_in_turns(effort, command))
        most = f", at most {sdk.wall / bare.wall:.1f}: the server's own time is {bare.wall * 1e6:.0f} us"
        figures += [
            Figure(f"MCPClient.call / the same POST by hand, {name}", ours.wall / by_hand.wall, 1.5,
                   remark=_micro(ours.wall, by_hand.wall)),
            Figure(f"call of the SDK's client / MCPClient.call over HTTP, {name}", sdk.wall / ours.wall, 3,
                   at_least=True, remark=_micro(sdk.wall, ours.wall) + most),
            Figure(f"processor time of the SDK's client / of MCPClient.call over HTTP, {name}",
                   sdk.processor / ours.processor, 3, at_least=True, remark=_micro(sdk.processor, ours.processor)),
        ]  # fmt: skip
    return figures


class Taken(NamedTuple):
    """What one call takes, in seconds: of the clock, and of this process on the processor."""

    wall: float
    processor: float


async def _in_turns(effort: Effort, command: list[str]) -> list[Taken]:
    import httpx2
    from mcp import Client

    numbers = itertools.count(1)
    walls: list[list[float]] = [[], [], [], []]
    spent = [0.0] * len(walls)
    blocks, size = effort.calls // 10 // BLOCK_CALLS + 2, min(BLOCK_CALLS, effort.calls)
    with (
        serving(command) as server,
        httpx2.Client() as plain,
        MCPClient.from_config("bench", {"url": server.url}) as ours,
    ):
        url = server.url
        bare = Socket(url)
        async with Client(url) as sdk:
            ours.fetch_tools()
            await sdk.list_tools()
            theirs: Any = await sdk.call_tool("greet", ARGUMENTS)
            answers = {ours.call("greet", ARGUMENTS)["content"][0]["text"], theirs.content[0].text}
            answers.add(json.loads(_post(plain, url, next(numbers)))["result"]["content"][0]["text"])
            if len(answers) != 1 or answers.pop().encode() not in bare.post(next(numbers)):
                raise SystemExit("the clients do not agree about the answer")

            async def call_sdk() -> None:
                await sdk.call_tool("greet", ARGUMENTS)

            async def call_ours() -> None:
                ours.call("greet", ARGUMENTS)

            async def by_hand() -> None:
                _post(plain, url, next(numbers))

            async def on_a_socket() -> None:
                bare.post(next(numbers))

            for block in range(blocks):
                for which, call in enumerate((on_a_socket, by_hand, call_ours, call_sdk)):
                    before = time.process_time()
                    for turn in range(size):
                        began = time.perf_counter()
                        await call()
                        _keep(walls[which], block, turn / size, time.perf_counter() - began)
                    if block:
                        spent[which] += time.process_time() - before
        bare.close()
    calls = (blocks - 1) * size
    return [Taken(statistics.median(wall), total / calls) for wall, total in zip(walls, spent, strict=True)]


HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "greet",
}


class Socket:
    """Requests as bytes, and responses that are searched for their end alone."""

    def __init__(self, url: str) -> None:
        self._host = url.split("/")[2]
        host, _, port = self._host.partition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def post(self, number: int) -> bytes:
        """Send a call; the whole response."""
        body = greet(number)
        lines = [f"{name}: {value}" for name, value in {**HEADERS, "Content-Length": len(body)}.items()]
        head = "\r\n".join(["POST /mcp HTTP/1.1", f"Host: {self._host}", *lines, "", ""])
        self._socket.sendall(head.encode() + body)
        received = b""
        while not self._is_whole(received):
            received += self._socket.recv(65536)
        return received

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()

    @staticmethod
    def _is_whole(received: bytes) -> bool:
        head, _, body = received.partition(b"\r\n\r\n")
        _, _, length = head.lower().partition(b"content-length: ")
        return len(body) == int(length.split(b"\r\n")[0]) if length else body.endswith(b"0\r\n\r\n")


def _post(client: Any, url: str, number: int) -> str:
    response = client.post(url, content=greet(number), headers=HEADERS)
    return str(response.text)


class Server(NamedTuple):
    """A server in a process of its own."""

    url: str
    process: subprocess.Popen[bytes]


@contextmanager
def serving(command: list[str]) -> Iterator[Server]:
    """A server that takes its address as the last word of its command."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    process = subprocess.Popen([*command, address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + START_SECONDS
        while not _listens(address):
            if time.monotonic() > end or process.poll() is not None:
                raise SystemExit(f"{command} does not listen")
            time.sleep(0.05)
        yield Server(f"http://{address}/mcp", process)
    finally:
        process.kill()
        process.wait()


def _listens(address: str) -> bool:
    host, _, port = address.partition(":")
    with socket.socket() as probe:
        return probe.connect_ex((host, int(port))) == 0


def _keep(found: list[float], block: int, part: float, took: float) -> None:
    if block and part >= FIRST_PART:  # The first block warms up.
        found.append(took)


def _micro(one: float, other: float) -> str:
    return f"{one * 1e6:.0f} / {other * 1e6:.0f} us"
