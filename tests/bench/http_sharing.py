"""Figures of several workers that share a store: what a request costs there, beside one worker that shares nothing.

Each worker has as many clients as the one, and each client sends as many requests: the fewer come at once, the more
each costs an event loop, and the fewer a session has, the more of its beginning is counted with each.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import statistics
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.bench.figures import GAIA, Effort, Figure
from tests.bench.http_serving import CLIENTS, Port, _answer, _free_port, _head, _request, spent
from tests.server.talk import initialize, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class Cost(NamedTuple):
    """What one request took: of the processors of all workers, and of Redis."""

    seconds: float
    redis_seconds: float


def http_sharing(effort: Effort) -> list[Figure]:
    """The figures, where there is a Redis server."""
    if (program := shutil.which("redis-server")) is None:
        return []
    figures = []
    with _redis(program) as redis, ExitStack() as running:
        alone = [running.enter_context(_worker())]
        shared = [running.enter_context(_worker(redis.port)) for _ in range(effort.workers)]
        for name, make in (("a stateless call", _stateless), ("a call in a session", _in_session)):
            costs: list[tuple[Cost, Cost]] = []
            for _ in range(min(effort.commands, 3)):
                one, four = (_cost(redis, each, max(1, effort.calls // CLIENTS), make) for each in (alone, shared))
                costs.append((one, four))
            one_us, four_us = (statistics.median(cost[at].seconds for cost in costs) * 1e6 for at in (0, 1))
            redis_us = statistics.median(four.redis_seconds for _, four in costs) * 1e6
            figures.append(
                Figure(
                    f"HTTP server, {name}: processor time with {effort.workers} workers and a store / one without",
                    four_us / one_us, 1.3, remark=f"{four_us:.0f} / {one_us:.0f} us, and {redis_us:.0f} us of Redis",
                )
            )  # fmt: skip
    return figures


def _cost(redis: Port, workers: Sequence[Port], turns: int, make: Callable[[int, str], bytes]) -> Cost:
    """What a request takes if each client sends `turns` of them, one after the other."""
    asyncio.run(_load(workers, 1, make))
    before, redis_before = sum(each.processor_seconds for each in workers), redis.processor_seconds
    asyncio.run(_load(workers, turns, make))
    after = sum(each.processor_seconds for each in workers)
    requests = turns * CLIENTS * len(workers)
    return Cost(spent(before, after) / requests, (redis.processor_seconds - redis_before) / requests)


async def _load(workers: Sequence[Port], turns: int, make: Callable[[int, str], bytes]) -> None:
    async def client(number: int) -> None:
        # A session begins at one worker, and is used at another.
        session = await _session(workers[(number + 1) % len(workers)].port) if make is _in_session else ""
        port = workers[number % len(workers)].port
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(turns):
            writer.write(make(port, session))
            await _answer(reader)
        writer.close()

    await asyncio.gather(*map(client, range(CLIENTS * len(workers))))


async def _session(port: int) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(_head(port, _HEADERS, json.dumps(initialize()).encode()))
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    writer.close()
    return head.split("mcp-session-id: ")[1].split("\r\n")[0]


_HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


def _stateless(port: int, _: str) -> bytes:
    return _request(port)


def _in_session(port: int, session: str) -> bytes:
    params: dict[str, Any] = {"name": "add", "arguments": {"a": 1, "b": 2}}
    body = json.dumps(plain(time.perf_counter_ns(), "tools/call", params)).encode()
    return _head(port, {**_HEADERS, "mcp-session-id": session}, body)


@contextmanager
def _redis(program: str) -> Iterator[Port]:
    port = _free_port()
    server = Port([program, "--bind", "127.0.0.1", "--port", str(port), "--save", ""], port)
    try:
        yield server
    finally:
        server.end()


@contextmanager
def _worker(redis: int | None = None) -> Iterator[Port]:
    port = _free_port()
    store = [] if redis is None else ["--store", f"redis://127.0.0.1:{redis}"]
    server = Port([GAIA, "mcp", "serve", "demo", "--http", f"127.0.0.1:{port}", *store], port)
    try:
        yield server
    finally:
        server.end()
