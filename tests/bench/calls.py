"""Figures of a single call, with everything running already: our client and our server beside the plain pipe and the
official SDK.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import sys
import time
from typing import Any

from gaia_mcp.client import MCPClient
from tests.bench.figures import PROGRAMS, SERVE_DEMO, Effort, Figure, Pipe, greet, line, medians, seconds

SDK_SERVER = [sys.executable, str(PROGRAMS / "sdk_server.py")]
ARGUMENTS = {"name": "Ada"}


def clients(effort: Effort) -> list[Figure]:
    """One call with our client, with the SDK's, and with the same bytes by hand, in turns, each on a server of its own
    of the same program.
    """
    found = {name: asyncio.run(_in_turns(effort, command)) for name, command in (("serve demo", SERVE_DEMO),
                                                                                ("the SDK's server", SDK_SERVER))}  # fmt: skip
    by_hand, ours, sdk = found["serve demo"]
    figures = [
        Figure("MCPClient.call / the same bytes by hand, serve demo", ours / by_hand, 1.6, remark=_micro(ours, by_hand)),
        Figure("call of the SDK's client / MCPClient.call, serve demo", sdk / ours, 4, at_least=True,
               remark=_micro(sdk, ours)),
    ]  # fmt: skip
    by_hand, ours, sdk = found["the SDK's server"]
    figures += [
        Figure("MCPClient.call / the same bytes by hand, the SDK's server", ours / by_hand, 1.6,
               remark=_micro(ours, by_hand)),
    ]  # fmt: skip
    return figures


def servers(effort: Effort) -> list[Figure]:
    """A small tool served by us and by the official SDK, both asked by hand."""
    numbers = itertools.count(1)
    ours, sdk = Pipe(SERVE_DEMO), Pipe(SDK_SERVER)
    try:
        for pipe in (ours, sdk):
            pipe.ask(line(0, "server/discover", {}))
            _check(pipe.ask(greet(next(numbers))))
        times = medians(
            effort.calls,
            lambda: seconds(lambda: ours.ask(greet(next(numbers)))),
            lambda: seconds(lambda: sdk.ask(greet(next(numbers)))),
        )
    finally:
        ours.close()
        sdk.close()
    name = "a call of the SDK's server / of serve demo, by hand"
    return [Figure(name, times[1] / times[0], 8, at_least=True, remark=_micro(times[1], times[0]))]


async def _in_turns(effort: Effort, command: list[str]) -> list[float]:
    from mcp import Client, StdioServerParameters

    numbers = itertools.count(1)
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
                for turn in range(effort.calls + effort.calls // 10 + 1):
                    asked = greet(next(numbers))
                    began = time.perf_counter()
                    answer: Any = pipe.ask(asked)
                    by_hand = time.perf_counter()
                    result: Any = ours.call("greet", ARGUMENTS)
                    called = time.perf_counter()
                    theirs: Any = await sdk.call_tool("greet", ARGUMENTS)
                    ended = time.perf_counter()
                    if turn == 0:
                        _check(answer)
                        if result["content"][0]["text"] != theirs.content[0].text:
                            raise SystemExit("the clients do not agree about the answer")
                    # The first tenth is for warming up.
                    if turn > effort.calls // 10:
                        for found, took in zip(times, (by_hand - began, called - by_hand, ended - called), strict=True):
                            found.append(took)
    finally:
        pipe.close()
    return [statistics.median(found) for found in times]


def _check(answer: bytes) -> None:
    if b"Hello, Ada!" not in answer:
        raise SystemExit(f"no greeting: {answer!r}")


def _micro(one: float, other: float) -> str:
    return f"{one * 1e6:.0f} / {other * 1e6:.0f} us"
