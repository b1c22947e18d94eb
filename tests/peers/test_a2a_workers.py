"""Two A2A proxies that share a Redis, and AgentVault's own client at each."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.client.transports.http.web import Answer, Asked, as_json, serving
from tests.peers.a2a_world import AgentVault, AgentVaultLibrary, Serving, in_message, outcome, wanted
from tests.peers.conftest import PROGRAMS
from tests.prepare.installing import python_in
from tests.prepare.peers import AGENTVAULT
from tests.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.forking.client import ForkServer
    from tests.prepare.fixtures import Prepared
    from tests.redis_support import RedisServer

SLOW = wanted("slow", "x.y")


class Pair(NamedTuple):
    """The proxies, a client of each, and what lets the calls of their one server return."""

    proxies: list[Serving]
    clients: list[AgentVault]
    called: list[Asked]
    go_on: threading.Event


@pytest.fixture(scope="module")
def library(prepared: Prepared, lasting_mark: dict[str, str]) -> Iterator[AgentVaultLibrary]:
    """AgentVault's library."""
    made = AgentVaultLibrary(python_in(prepared.folder(AGENTVAULT)), lasting_mark)
    yield made
    made.end()


@pytest.fixture
def pair(
    library: AgentVaultLibrary,
    fork_server: ForkServer,
    redis_server: RedisServer,
    mark: dict[str, str],
    tmp_path: Path,
) -> Iterator[Pair]:
    go_on = threading.Event()

    def answer(asked: Asked) -> Answer:
        result = {"tools": [{"name": "x.y", "inputSchema": {"type": "object"}}]}
        if asked.message["method"] == "tools/list":
            return as_json({"jsonrpc": "2.0", "id": asked.message["id"], "result": result})
        pair.called.append(asked)
        done = as_json({"jsonrpc": "2.0", "id": asked.message["id"], "result": {"content": []}})
        return done._replace(body=[b" ", go_on, done.body])

    with serving(answer) as web:
        environ = {"GAIA_MCP_STORE": redis_server.url, "MCP_SERVER_MAP": json.dumps({"slow": web.origin}), **mark}
        program = [sys.executable, PROGRAMS / "quick_beats.py"]
        proxies = [
            Serving(tmp_path / name, "--all", "--a2a", program=program, fork_server=fork_server, **environ)
            for name in ("one", "two")
        ]
        pair = Pair(proxies, [library.client(proxy.card) for proxy in proxies], [], go_on)
        yield pair
        go_on.set()
        for each in proxies:
            each.end()


def test_a_task_is_queried_and_followed_at_another_proxy(pair: Pair) -> None:
    """Ours: any worker answers, and every client that follows gets the same end, once."""
    first, second = pair.clients
    task = first("begin", content=SLOW)
    following = [(each, each.send("follow", task=task)) for each in (first, second, second)]
    wait_until(lambda: pair.called)
    assert second("status", task=task)["state"] == "WORKING"

    pair.go_on.set()

    events = [client.answer(number)["result"] for client, number in following]
    assert [each["state"] for each in (first("status", task=task), second("status", task=task))] == ["COMPLETED"] * 2
    # One that follows when the task has ended hears of its end alone.
    for *_, message, status in events:
        assert in_message(message["message"])["mcp_result"] == {"content": []}
        assert status["state"] == "COMPLETED"
    assert second("follow", task=task) == events[0][-2:]
    assert len(pair.called) == 1


def test_a_task_is_terminated_at_another_proxy(pair: Pair) -> None:
    """Ours: the call is cancelled where it runs, and the task stays terminated."""
    first, second = pair.clients
    task = first("begin", content=SLOW)
    following = first.send("follow", task=task)
    wait_until(lambda: pair.called)

    assert second("terminate", task=task) is True

    *_, message, status = first.answer(following)["result"]
    assert (in_message(message["message"])["error"]["code"], status["state"]) == ("TASK_CANCELED", "CANCELED")
    pair.go_on.set()
    assert outcome(first("run", content=SLOW)["task"])["success"] is True
    assert [each("status", task=task)["state"] for each in pair.clients] == ["CANCELED"] * 2


def test_the_tasks_of_a_proxy_that_is_killed_fail(pair: Pair) -> None:
    """Ours: in bounded time, for clients that follow or query the task at another proxy."""
    first, second = pair.clients
    task = first("begin", content=SLOW)
    following = second.send("follow", task=task)
    wait_until(lambda: pair.called)

    pair.proxies[0].kill()

    *_, message, status = second.answer(following)["result"]
    assert status["state"] == "FAILED"
    error = in_message(message["message"])["error"]
    assert (error["source"], error["code"]) == ("A2A_PROXY", "PROXY_INTERNAL_ERROR")
    assert "has ended" in error["message"]
    found = second("status", task=task)
    assert (found["state"], outcome(found)["error"]) == ("FAILED", error)
