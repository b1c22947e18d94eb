"""Figures of a single call, with everything running already: our client and our server beside the plain pipe and the
official SDK.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from gaia_mcp.client import MCPClient
from tests.bench.figures import PROGRAMS, SERVE_DEMO, Effort, Figure, Pipe, greet, line, seconds

PLAIN_SERVER = [sys.executable, str(PROGRAMS / "plain_server.py")]
SDK_SERVER = [sys.executable, str(PROGRAMS / "sdk_server.py")]
ARGUMENTS = {"name": "Ada"}
# Short enough that a busy machine disturbs all alike; long enough that it is calls which are timed, and not how soon a
# processor wakes up and finds room for a server that has had nothing to do while the others had their turn.
BLOCK_CALLS = 250
# The part of a block that is not counted: the machine still turns from the block before.
FIRST_PART = 0.1


def clients(effort: Effort) -> list[Figure]:
    """One call with our client, with the SDK's, and with the same bytes by hand, in turns, each on a server of its own
    of the same program.
    """
    by_hand, ours, sdk = asyncio.run(_in_turns(effort, SERVE_DEMO))
    slow_by_hand, slow_ours, _ = asyncio.run(_in_turns(effort, SDK_SERVER))
    _, plain_ours, plain_sdk = asyncio.run(_in_turns(effort, PLAIN_SERVER))
    name = "MCPClient.call / the same bytes by hand"
    return [
        Figure(f"{name}, serve demo", ours / by_hand, 1.5, remark=_micro(ours, by_hand)),
        Figure(
            "call of the SDK's client / MCPClient.call, serve demo",
            sdk / ours,
            4,
            at_least=True,
            remark=_micro(sdk, ours),
        ),
        Figure(
            "call of the SDK's client / MCPClient.call, a server that answers at once",
            plain_sdk / plain_ours,
            4,
            at_least=True,
            remark=_micro(plain_sdk, plain_ours),
        ),
        Figure(f"{name}, the SDK's server", slow_ours / slow_by_hand, 1.5, remark=_micro(slow_ours, slow_by_hand)),
    ]


def among_many(effort: Effort) -> list[Figure]:
    """A call while a manager holds many servers, and the same bytes by hand; and the processor time of both."""
    from gaia_mcp.client import MCPClientManager, MCPConfig

    numbers = itertools.count(1)
    blocks, size = blocks_of(effort)
    pipe = Pipe(SERVE_DEMO)
    times: list[list[float]] = [[], []]
    spent = [0.0, 0.0]
    with tempfile.TemporaryDirectory() as folder:
        config = MCPConfig(str(Path(folder) / "servers.json"))
        command, *arguments = SERVE_DEMO
        config.add_server("demo", {"command": command, "args": arguments})
        command, *arguments = PLAIN_SERVER
        for number in range(1, effort.servers):
            config.add_server(f"server-{number}", {"command": command, "args": arguments})
        try:
            pipe.ask(line(0, "server/discover", {}))
            with MCPClientManager(config=config) as manager:
                manager.load_from_config()
                if len(manager.list_servers()) != effort.servers:
                    raise SystemExit(f"not all servers are connected: {manager.list_servers()}")
                client = manager.get_client("demo")
                for block in range(blocks):
                    began = time.process_time()
                    for turn in range(size):
                        asked = greet(next(numbers))
                        _keep(times[0], block, turn / size, seconds(lambda asked=asked: pipe.ask(asked)))  # type: ignore[misc]
                    between = time.process_time()
                    for turn in range(size):
                        _keep(times[1], block, turn / size, seconds(lambda: client.call("greet", ARGUMENTS)))
                    spent[0] += between - began
                    spent[1] += time.process_time() - between
        finally:
            pipe.close()
    by_hand, ours = (statistics.median(found) for found in times)
    calls = blocks * size
    name = f"MCPClient.call / the same bytes by hand, serve demo among {effort.servers} servers"
    remark = _micro(spent[1] / calls, spent[0] / calls)
    return [
        Figure(name, ours / by_hand, 1.5, remark=_micro(ours, by_hand)),
        Figure("processor time of MCPClient.call / of the same bytes by hand", spent[1] / spent[0], 3, remark=remark),
    ]


def servers(effort: Effort) -> list[Figure]:
    """A small tool served by us and by the official SDK, both asked by hand."""
    numbers = itertools.count(1)
    blocks, size = blocks_of(effort)
    ours, sdk = Pipe(SERVE_DEMO), Pipe(SDK_SERVER)
    try:
        for pipe in (ours, sdk):
            pipe.ask(line(0, "server/discover", {}))
            _check(pipe.ask(greet(next(numbers))))
        found: list[list[float]] = [[], []]
        for block in range(blocks):
            for times, pipe in zip(found, (ours, sdk), strict=True):
                for turn in range(size):
                    asked = greet(next(numbers))
                    _keep(times, block, turn / size, seconds(lambda pipe=pipe, asked=asked: pipe.ask(asked)))  # type: ignore[misc]
    finally:
        ours.close()
        sdk.close()
    fast, slow = (statistics.median(times) for times in found)
    name = "a call of the SDK's server / of serve demo, by hand"
    return [Figure(name, slow / fast, 8, at_least=True, remark=_micro(slow, fast))]


async def _in_turns(effort: Effort, command: list[str]) -> list[float]:
    from mcp import Client, StdioServerParameters

    numbers = itertools.count(1)
    blocks, size = blocks_of(effort)
    pipe = Pipe(command)
    entry = {"command": command[0], "args": command[1:]}
    parameters = StdioServerParameters(command=command[0], args=command[1:])
    times: list[list[float]] = [[], [], []]
    try:
        pipe.ask(line(0, "server/discover", {}))
        with MCPClient.from_config("bench", entry) as ours:
            async with Client(parameters) as sdk:
                # Both know its tools: the SDK's client looks at them before its first call.
                ours.fetch_tools()
                await sdk.list_tools()
                _check(pipe.ask(greet(next(numbers))))
                if ours.call("greet", ARGUMENTS)["content"][0]["text"] != _text(
                    await sdk.call_tool("greet", ARGUMENTS)
                ):
                    raise SystemExit("the clients do not agree about the answer")
                for block in range(blocks):
                    for turn in range(size):
                        asked = greet(next(numbers))
                        _keep(times[0], block, turn / size, seconds(lambda asked=asked: pipe.ask(asked)))  # type: ignore[misc]
                    for turn in range(size):
                        _keep(times[1], block, turn / size, seconds(lambda: ours.call("greet", ARGUMENTS)))
                    for turn in range(size):
                        began = time.perf_counter()
                        await sdk.call_tool("greet", ARGUMENTS)
                        _keep(times[2], block, turn / size, time.perf_counter() - began)
    finally:
        pipe.close()
    return [statistics.median(found) for found in times]


def blocks_of(effort: Effort) -> tuple[int, int]:
    """How many blocks there are, and how many calls each has."""
    return effort.calls // BLOCK_CALLS + 2, min(BLOCK_CALLS, effort.calls)


def _keep(found: list[float], block: int, part: float, took: float) -> None:
    if block and part >= FIRST_PART:  # The first block warms up.
        found.append(took)


def _text(result: Any) -> str:
    text: str = result.content[0].text
    return text


def _check(answer: bytes) -> None:
    if b"Hello, Ada!" not in answer:
        raise SystemExit(f"no greeting: {answer!r}")


def _micro(one: float, other: float) -> str:
    return f"{one * 1e6:.0f} / {other * 1e6:.0f} us"
