"""Several workers that share a Redis: any of them serves any request, and some of them end in the middle."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from gaia_mcp.client import Host, MCPClient
from gaia_mcp.config.entries import read_entry
from gaia_mcp.protocol.sse import EventParser, ServerSentEvent
from tests.peers.conftest import PROGRAMS
from tests.peers.round_robin import RoundRobin
from tests.redis_support import RedisServer
from tests.server.talk import META, initialize, plain
from tests.waiting import ENOUGH_SECONDS, wait_until

if TYPE_CHECKING:
    from tests.prepare.fixtures import Prepared

pytestmark = pytest.mark.peer

Wire = dict[str, Any]
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
TASKS = {"io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {}}}}
NAME = {"action": "accept", "content": {"name": "Ada"}}


class Workers:
    """Processes that serve one agent: by our own command, and by uvicorn."""

    def __init__(self, folder: Path, redis: RedisServer, mark: dict[str, str]) -> None:
        self.folder = folder
        self.ports: list[int] = []
        self._commands: list[list[str]] = []
        self._environ = {
            "PATH": "/usr/bin:/bin", "HOME": str(folder), "NOTES": str(folder), "PYTHONPATH": str(PROGRAMS),
            "GAIA_MCP_STORE": redis.url, **mark,
        }  # fmt: skip
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, count: int, *, each: int = 1) -> None:
        """Start so many servers, of `each` workers: the first by our own command, if it has one."""
        for _ in range(count):
            with socket.create_server(("127.0.0.1", 0)) as free:
                self.ports.append(free.getsockname()[1])
            port = str(self.ports[-1])
            command = ["uvicorn", "--factory", "shared_agent:make", "--port", port, "--workers", str(each)]
            if len(self.ports) == 1 and each == 1:
                command = ["gaia_mcp", "mcp", "serve", str(PROGRAMS / "shared_agent.py"), "--http", f":{port}"]
            self._commands.append([sys.executable, "-m", *command])
            self.processes.append(self._started(self._commands[-1]))
        self._await_all()

    def replace(self, number: int) -> None:
        """Start one again that has been killed."""
        self.processes[number].wait()
        self.processes[number] = self._started(self._commands[number])
        self._await_all()

    def ready(self, port: int) -> tuple[int, str]:
        """The answer to the probe of a load balancer."""
        try:
            return Sent(port, "GET", path="/readyz").whole()
        except OSError:
            return 0, ""

    def touch(self, name: str) -> None:
        """Let what waits for this go on."""
        (self.folder / name).touch()

    def _started(self, command: list[str]) -> subprocess.Popen[bytes]:
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, env=self._environ, stdout=quiet, stderr=quiet)

    def _await_all(self) -> None:
        for port in self.ports:
            wait_until(lambda port=port: self.ready(port)[0] == 200, ENOUGH_SECONDS)

    def end(self) -> None:
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(ENOUGH_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class Sent:
    """One request to one worker, until the end of the test."""

    opened: ClassVar[list[Sent]] = []

    def __init__(self, port: int, method: str, message: Any = None, path: str = "/mcp", **headers: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ENOUGH_SECONDS)
        given = {**HEADERS, **{name.replace("_", "-"): value for name, value in headers.items()}}
        body = None if message is None else json.dumps(message)
        self._connection.request(method, path, body, given)
        self.opened.append(self)
        self.response = self._connection.getresponse()
        self._parser, self._events = EventParser(), list[ServerSentEvent]()

    def whole(self) -> tuple[int, str]:
        """The status and the body."""
        body = self.response.read().decode()
        self.leave()
        return self.response.status, body

    def answer(self) -> Any:
        """The one message of the response: JSON, or an event where the machine is so busy that a stream was begun."""
        if self.response.headers["content-type"] == "text/event-stream":
            return self.message()
        return json.loads(self.whole()[1])

    def event(self) -> ServerSentEvent:
        """The next event with a message."""
        while not any(event.data for event in self._events):
            piece = self.response.read1()
            assert piece, "the stream has ended"
            self._events += self._parser.feed(piece)
        while not (event := self._events.pop(0)).data:
            continue
        return event

    def message(self) -> Any:
        return json.loads(self.event().data)

    def ends(self) -> bool:
        """Whether nothing follows."""
        rest = b""
        while piece := self.response.read1():
            rest += piece
        self.leave()
        return b"data: {" not in rest

    def leave(self) -> None:
        """As a connection that breaks."""
        self._connection.close()
        with suppress(AttributeError):  # There may be none.
            self.response.close()


class Session:
    """A handshake session, whose requests go to whichever worker a test names."""

    def __init__(self, workers: Workers, *, version: str = "2025-11-25") -> None:
        self._workers = workers
        begin = initialize(version)
        begin["params"]["capabilities"] = {"elicitation": {}}
        sent = Sent(workers.ports[0], "POST", begin)
        assert sent.whole()[0] == 200
        self.headers = {"mcp_session_id": sent.response.headers["mcp-session-id"]}
        assert self.post(1, {"jsonrpc": "2.0", "method": "notifications/initialized"}).whole()[0] == 202

    def post(self, worker: int, message: Any) -> Sent:
        return Sent(self._port(worker), "POST", message, **self.headers)

    def get(self, worker: int, **headers: str) -> Sent:
        return Sent(self._port(worker), "GET", **self.headers, **headers)

    def delete(self, worker: int) -> Sent:
        return Sent(self._port(worker), "DELETE", **self.headers)

    def call(self, worker: int, request_id: int, tool: str, **arguments: str) -> Sent:
        meta = {"progressToken": request_id}
        return self.post(worker, plain(request_id, "tools/call", {"name": tool, "arguments": arguments, "_meta": meta}))

    def _port(self, worker: int) -> int:
        return self._workers.ports[worker % len(self._workers.ports)]


def stateless(port: int, method: str, params: Wire) -> Any:
    """The response to a request that stands alone, of a client that has tasks."""
    name = params.get("name") or params.get("taskId") or ""
    message = plain(1, method, {**params, "_meta": META | TASKS})
    headers = {"mcp_protocol_version": "2026-07-28", "mcp_method": method, "mcp_name": name}
    return Sent(port, "POST", message, **headers).answer()


def text_of(message: Wire) -> str:
    found: str = message["result"]["content"][0]["text"]
    return found


@pytest.fixture
def workers(tmp_path: Path, redis_server: RedisServer, mark: dict[str, str]) -> Iterator[Workers]:
    """Those that a test starts."""
    made = Workers(tmp_path, redis_server, mark)
    yield made
    while Sent.opened:
        Sent.opened.pop().leave()
    made.end()


@pytest.fixture(scope="module")
def trio_started(
    prepared: Prepared, lasting_mark: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Workers]:
    """With a Redis of their own: between tests the other one forgets everything, such as who still runs."""
    redis = RedisServer(prepared.program("redis-server"), tmp_path_factory.mktemp("redis"))
    made = Workers(tmp_path_factory.mktemp("trio"), redis, lasting_mark)
    made.start(3)
    yield made
    made.end()
    redis.end()


@pytest.fixture
def trio(trio_started: Workers) -> Iterator[Workers]:
    """Three servers of one worker each, which several tests use; no file has a name that they wait for."""
    yield trio_started
    while Sent.opened:
        Sent.opened.pop().leave()
    for file in filter(Path.is_file, trio_started.folder.iterdir()):
        file.unlink()


def test_any_worker_serves_any_request_of_a_session(trio: Workers) -> None:
    """Ours, DESIGN: what the official SDK cannot, whose sessions live in one process. LS-3, LS-6, LS-7."""
    session = Session(trio)
    assert len({text_of(session.call(n, n, "who").answer()) for n in range(3)}) == 3

    # An elicitation is answered at another worker than the one that sent it.
    asking = [session.call(n, 10 + n, "ask") for n in range(2)]
    questions = [each.message() for each in asking]
    assert len({each["id"] for each in questions}) == 2
    for question in questions:
        assert session.post(2, {"jsonrpc": "2.0", "id": question["id"], "result": NAME}).whole()[0] == 202
    assert [text_of(each.message()) for each in asking] == ["hello Ada"] * 2

    # A call is cancelled at another worker.
    working = session.call(0, 20, "work", name="never")
    assert working.message()["method"] == "notifications/progress"
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 20}}
    assert session.post(1, cancel).whole()[0] == 202
    assert working.ends()

    # A stream is resumed at another worker, and ends where it began.
    working = session.call(1, 21, "work", name="go on")
    seen = working.event()
    resumed = session.get(2, last_event_id=str(seen.id))
    assert working.ends()
    trio.touch("go on")
    assert text_of(resumed.message()).startswith("done by")
    assert resumed.ends()

    # The end of a session is one everywhere.
    assert session.delete(0).whole()[0] == 204
    assert [session.call(n, 30, "who").whole()[0] for n in range(3)] == [404] * 3


@pytest.mark.parametrize("version", ["2025-11-25", "2025-06-18"])
def test_a_change_at_one_worker_is_announced_by_another(trio: Workers, version: str) -> None:
    """Ours, LS-6: once, to a session that has subscribed at a third, and to a subscription that stands alone."""
    session = Session(trio, version=version)
    for number, (worker, method, name) in enumerate(
        [(0, "subscribe", "one"), (1, "subscribe", "two"), (2, "subscribe", "three"), (0, "unsubscribe", "one")]
    ):
        uri = {"uri": f"note://{name}"}
        assert session.post(worker, plain(number, f"resources/{method}", uri)).whole()[0] == 200
    listening = session.get(1)
    message = plain(
        1, "subscriptions/listen", {"notifications": {"resourceSubscriptions": ["note://three"]}, "_meta": META}
    )
    headers = {"mcp_protocol_version": "2026-07-28", "mcp_method": "subscriptions/listen"}
    alone = Sent(trio.ports[1], "POST", message, **headers)
    assert alone.message()["method"] == "notifications/subscriptions/acknowledged"

    for number, name in enumerate(("one", "two", "three")):
        assert text_of(session.call(2, 10 + number, "write", name=name).answer()) == "written"

    assert [listening.message()["params"]["uri"] for _ in range(2)] == ["note://two", "note://three"]
    assert alone.message()["params"]["uri"] == "note://three"
    assert session.delete(0).whole()[0] == 204
    assert listening.ends()
    alone.leave()


def test_clients_work_behind_a_proxy_without_sticky_sessions(workers: Workers) -> None:
    """Ours: uvicorn with two workers, no stickiness, and clients of both eras, ours and the official SDK's."""
    workers.start(1, each=2)
    proxy = RoundRobin(workers.ports)
    url = f"http://127.0.0.1:{proxy.port}/mcp"
    try:
        for entry in ({}, {"protocolVersion": "2025-11-25", "type": "http"}):
            host = Host(elicit=lambda _: NAME)
            client = MCPClient.from_entry(read_entry("shared", {"url": url, **entry}), ENOUGH_SECONDS, host=host)
            with client:
                # Which of them takes a connection is up to the system, and on an idle machine often the same one.
                seen, ends = set[str](), time.monotonic() + ENOUGH_SECONDS
                while len(seen) < 2:
                    assert time.monotonic() < ends, seen
                    seen.add(text_of({"result": client.call("who", {})}))
                assert text_of({"result": client.call("ask", {})}) == "hello Ada"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for mode in ("auto", "legacy"):
                asyncio.run(official(url, mode))
    finally:
        proxy.end()


async def official(url: str, mode: Any) -> None:
    """Have two workers serve a client of the official SDK, with elicitation and progress."""
    from mcp import Client, types

    progress: list[float] = []

    async def elicit(*_: Any) -> types.ElicitResult:
        return types.ElicitResult(action="accept", content={"name": "Ada"})

    async def report(done: float, *_: Any) -> None:
        progress.append(done)

    async with Client(url, mode=mode, elicitation_callback=elicit) as client:
        seen = set[str]()
        async with asyncio.timeout(ENOUGH_SECONDS):
            while len(seen) < 2:
                seen.add((await client.call_tool("who", {})).content[0].text)  # type: ignore[union-attr]
        assert (await client.call_tool("ask", {})).content[0].text == "hello Ada"  # type: ignore[union-attr]


def test_sessions_survive_a_killed_worker_and_its_calls_fail(trio: Workers) -> None:
    """Ours: its sessions go on, and its tasks and calls fail in bounded time, which every client of them learns."""
    session = Session(trio)
    task = stateless(trio.ports[1], "tools/call", {"name": "job", "arguments": {"name": "never"}})["result"]["taskId"]
    other = stateless(trio.ports[2], "tools/call", {"name": "job", "arguments": {"name": "go on"}})["result"]["taskId"]
    working = session.call(1, 1, "work", name="never")
    seen = working.event()

    trio.processes[1].kill()

    with suppress(ConnectionError, http.client.HTTPException):
        working.ends()
    assert text_of(session.call(2, 2, "who").answer())
    resumed = session.get(2, last_event_id=str(seen.id))

    def state(task_id: str, worker: int) -> Wire:
        found: Wire = stateless(trio.ports[worker], "tasks/get", {"taskId": task_id})["result"]
        return found

    wait_until(lambda: state(task, 2)["status"] == "failed", ENOUGH_SECONDS)
    assert "has ended" in state(task, 2)["error"]["message"]
    assert "has ended" in resumed.message()["error"]["message"]
    assert state(other, 2)["status"] == "working"
    trio.touch("go on")
    wait_until(lambda: state(other, 2)["status"] == "completed")
    trio.replace(1)


def test_a_redis_that_is_down_slow_or_full_is_a_503(workers: Workers, redis_server: RedisServer) -> None:
    """Ours: what needs no store goes on, no acknowledged task is lost, and all goes on once it is back."""
    workers.start(2)
    session = Session(workers)
    port = workers.ports[1]
    task = stateless(port, "tools/call", {"name": "job", "arguments": {"name": "go on"}})["result"]["taskId"]
    working = session.call(1, 1, "work", name="go on")
    seen = working.event()

    @contextmanager
    def trouble(begin: Callable[[], None], end: Callable[[], None]) -> Iterator[None]:
        begin()
        try:
            yield
        finally:
            end()

    for begin, end in ((redis_server.hang, redis_server.go_on), (redis_server.kill, redis_server.start)):
        with trouble(begin, end):
            status, body = session.call(1, 2, "who").whole()
            assert (status, json.loads(body)["error"]["message"]) == (
                503,
                "the store does not answer; repeat this later",
            )
            assert workers.ready(port) == (503, "the store does not answer\n")
            assert Sent(port, "GET", path="/healthz").whole()[0] == 200
            assert text_of(stateless(port, "tools/call", {"name": "who", "arguments": {}}))
            assert Sent(port, "POST", initialize()).whole()[0] == 503
            workers.touch("go on")
            assert text_of(working.message()).startswith("done by") if begin == redis_server.hang else True
        wait_until(lambda: workers.ready(port)[0] == 200)
    wait_until(
        lambda: stateless(workers.ports[0], "tasks/get", {"taskId": task})["result"]["status"] == "completed",
        ENOUGH_SECONDS,
    )
    assert session.get(0, last_event_id=str(seen.id)).response.status == 200

    with trouble(redis_server.fill, lambda: redis_server.fill(full=False)):
        assert text_of(session.call(1, 3, "who").answer())
        status, body = Sent(port, "POST", initialize()).whole()
        assert (status, json.loads(body)["error"]["message"]) == (503, "the store is full; repeat this later")
    assert Session(workers).call(1, 1, "who").whole()[0] == 200
