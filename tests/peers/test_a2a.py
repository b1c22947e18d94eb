"""Our A2A proxy with AgentVault's own client, in front of servers of every kind."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from tests.client.transports.http.web import Answer, Asked, Web, as_json, serving
from tests.peers.a2a_world import TIMEOUT_SECONDS, AgentVault, AgentVaultLibrary, Serving, in_message, outcome, wanted
from tests.peers.conftest import PROGRAMS
from tests.prepare.installing import python_in
from tests.prepare.peers import A2A_SDK, AGENTVAULT
from tests.processes import living_with
from tests.waiting import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.forking.client import ForkServer
    from tests.prepare.fixtures import Prepared

Wire = dict[str, Any]
PAGE = {"Content-Type": "text/html"}
TOKEN = "token-4711-zebra"
# So many that the first has ended long before the last begins.
TASKS = 80


def responds(asked: Asked, **members: Any) -> Answer:
    return as_json({"jsonrpc": "2.0", "id": asked.message["id"], **members})


class Upstream:
    """A server of AgentVault's dialect that lists no tools: its path decides how it responds to a call."""

    def __init__(self, web: Web) -> None:
        self.web = web
        self.go_on = threading.Event()
        web.answer = self.answer

    def url(self, way: str) -> str:
        return f"{self.web.origin}/{way}"

    def answer(self, asked: Asked) -> Answer:
        if asked.message["method"] == "tools/list":
            return responds(asked, error={"code": -32601, "message": "Method not found"})
        way = asked.path.split("/")[1]
        return {
            "refuses": responds(asked, error={"code": -32050, "message": "no luck", "data": {"why": 1}}),
            "cut": Answer(200, {"Content-Type": "application/json"}, b'{"jsonrpc": '),
            "page": Answer(200, PAGE, b"<html><body>Welcome</body></html>"),
            "list": responds(asked, result=[1]),
            "bare": responds(asked, result={"answer": 42}),
            "waits": Answer(200, {}, [b" ", self.go_on, responds(asked, result={"content": []}).body]),
            "echoes": responds(asked, result={"content": [], "received": asked.message}),
        }[way]


WAYS = ("refuses", "cut", "page", "list", "bare", "waits", "echoes")


class World(NamedTuple):
    """A proxy, a client of it, and a server that the test decides about."""

    proxy: Serving
    client: AgentVault
    upstream: Upstream


@pytest.fixture(scope="module")
def upstream() -> Iterator[Upstream]:
    with serving(lambda _: Answer()) as web:
        made = Upstream(web)
        yield made
        made.go_on.set()


@pytest.fixture(scope="module")
def library(prepared: Prepared, lasting_mark: dict[str, str]) -> Iterator[AgentVaultLibrary]:
    """AgentVault's library."""
    made = AgentVaultLibrary(python_in(prepared.folder(AGENTVAULT)), lasting_mark)
    yield made
    made.end()


@pytest.fixture(scope="module")
def serve(fork_server: ForkServer) -> Callable[..., Serving]:
    """Starts `gaia mcp serve`."""
    return partial(Serving, fork_server=fork_server)


@pytest.fixture(scope="module")
def world(
    upstream: Upstream,
    library: AgentVaultLibrary,
    serve: Callable[..., Serving],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[World]:
    """The proxy in front of two agents of ours, a configured server, a dead address, and one for each of `WAYS`."""
    home = tmp_path_factory.mktemp("a2a")
    mark = {"PEER_OF_TEST": str(home)}
    (home / "files").mkdir()
    (home / "files" / "a.txt").write_text("hello")
    entry = {"command": sys.executable, "args": ["-m", "gaia_mcp", "mcp", "serve", "demo"]}
    (home / "servers.json").write_text(json.dumps({"mcpServers": {"demo": entry}}))
    files = serve(home / "one", "filesystem", "--kwarg", f"root={home / 'files'}", **mark)
    code = serve(home / "two", "code-runner", **mark)
    with socket.socket() as dead:  # Bound, and not listening.
        dead.bind(("127.0.0.1", 0))
        urls = {
            "filesystem": files.origin,
            "code": code.origin,
            "dead": f"http://127.0.0.1:{dead.getsockname()[1]}",
            **{way: upstream.url(way) for way in WAYS},
        }
        proxy = serve(
            home / "three", "--all", "--a2a", "--config", str(home / "servers.json"),
            MCP_SERVER_MAP=json.dumps(urls), **mark,
        )  # fmt: skip
        client = library.client(proxy.card)
        yield World(proxy, client, upstream)
        for each in (proxy, code, files):
            each.end()
    wait_until(lambda: not living_with(str(home)))


def failure(world: World, content: Any) -> tuple[str, str]:
    """Where the error of a message comes from, and its code. All that its task shows is of one mind."""
    ran = world.client("run", content=content)
    found = outcome(ran["task"])
    assert (found["success"], found["mcp_result"], ran["task"]["state"]) == (False, None, "FAILED")
    error = found["error"]
    *before, message, status = ran["events"]
    assert {each["state"] for each in before} <= {"WORKING"}
    assert in_message(message["message"]) == found
    assert (status["state"], status["message"]) == ("FAILED", f"[{error['source']}/{error['code']}] {error['message']}")
    return error["source"], error["code"]


def result(world: World, content: Any) -> Wire:
    """The result of a message that succeeds."""
    ran = world.client("run", content=content)
    found = outcome(ran["task"])
    assert (found["success"], found["error"], ran["task"]["state"]) == (True, None, "COMPLETED")
    assert in_message(ran["events"][-2]["message"]) == found
    assert (ran["events"][-1]["state"], ran["events"][-1]["message"]) == ("COMPLETED", None)
    done: Wire = found["mcp_result"]
    return done


def test_tools_of_every_kind_of_server_are_called(world: World) -> None:
    """Seed systems, C7, C11: AgentVault's own names, and MCP's, of servers that list them and of one that cannot."""
    assert result(world, wanted("filesystem", "filesystem.readFile", {"path": "a.txt"}))["content"] == [
        {"type": "text", "text": "hello"}
    ]
    (output,) = result(world, wanted("code", "code.runPython", {"code": "print(6 * 7)"}))["content"]
    assert output == {"type": "code_output", "stdout": "42\n", "stderr": ""}
    for tool in ("greet", "demo.greet"):
        (text,) = result(world, wanted("demo", tool, {"name": "Ada"}))["content"]
        assert text["text"] == "Hello, Ada!"
    assert result(world, wanted("bare", "x.answer")) == {"answer": 42}


def test_an_unknown_server_is_found_by_the_prefix_of_the_tool(world: World) -> None:
    """Seed systems, C7."""
    read = wanted("somewhere-else", "filesystem.readFile", {"path": "a.txt"})

    assert result(world, read)["content"][0]["text"] == "hello"


def test_every_failure_has_its_source_and_code(world: World) -> None:
    """Seed systems, C7, C8: in the one message, in the final state, and in the task that is queried."""
    failures: list[tuple[Any, tuple[str, str]]] = [
        (wanted("demo", "fail"), ("MCP_TOOL", "TOOL_EXECUTION_FAILED")),
        (wanted("filesystem", "filesystem.readFile", {"path": "../b"}), ("MCP_TOOL", "TOOL_EXECUTION_FAILED")),
        (wanted("refuses", "x.y"), ("MCP_PROTOCOL", "-32050")),
        (wanted("filesystem", "filesystem.burn"), ("MCP_PROTOCOL", "-32601")),
        (wanted("dead", "x.y"), ("A2A_PROXY", "MCP_CONNECTION_ERROR")),
        (wanted("nowhere", "x.y"), ("A2A_PROXY", "MCP_CONNECTION_ERROR")),
        (wanted("cut", "x.y"), ("A2A_PROXY", "MCP_INVALID_RESPONSE")),
        (wanted("page", "x.y"), ("A2A_PROXY", "MCP_INVALID_RESPONSE")),
        (wanted("list", "x.y"), ("A2A_PROXY", "MCP_INVALID_RESULT")),
        (wanted("demo", 5), ("A2A_PROXY", "-32602")),
        (wanted("demo", "greet", [1]), ("A2A_PROXY", "-32602")),
        (None, ("A2A_PROXY", "-32602")),
        ({}, ("A2A_PROXY", "-32602")),
    ]

    assert [(content, failure(world, content)) for content, _ in failures] == failures


def test_the_details_of_a_failure_are_passed_on(world: World) -> None:
    """Seed systems, C7."""
    failed = outcome(world.client("run", content=wanted("demo", "fail", {"message": "not today"}))["task"])
    refused = outcome(world.client("run", content=wanted("refuses", "x.y"))["task"])

    assert failed["error"]["details"] == {"mcp_tool_error_content": [{"type": "text", "text": "not today"}]}
    assert refused["error"]["message"] == "no luck"
    assert refused["error"]["details"] == {"mcp_protocol_error_data": {"why": 1}}


def test_the_context_of_a_message_is_accepted_and_its_webhook_not_called(world: World) -> None:
    """Seed systems, C9: by the real client, which sends both."""
    with serving(lambda _: Answer()) as hook:
        context = {"items": {"note": {"content": "hi"}}}
        task = world.client("begin", content=wanted("echoes", "x.y", {"a": 1}), context=context, webhook=hook.url)
        world.client("follow", task=task)

        received = outcome(world.client("status", task=task))["mcp_result"]["received"]
        assert (received["method"], received["params"]) == ("x.y", {"a": 1})
        assert hook.asked == []


def test_a_call_that_takes_longer_than_mcp_call_timeout_fails(
    upstream: Upstream,
    library: AgentVaultLibrary,
    serve: Callable[..., Serving],
    mark: dict[str, str],
    tmp_path: Path,
) -> None:
    """Seed systems, C10: three seconds are enough to reach the server on a busy machine."""
    urls = json.dumps({"waits": upstream.url("waits")})
    proxy = serve(tmp_path / "home", "--all", "--a2a", MCP_SERVER_MAP=urls, MCP_CALL_TIMEOUT="3", **mark)
    client = library.client(proxy.card)

    found = outcome(client("run", content=wanted("waits", "x.y"))["task"])

    assert (found["error"]["source"], found["error"]["code"]) == ("A2A_PROXY", "MCP_TIMEOUT")
    proxy.end()


def test_a_terminated_task_stays_canceled_when_its_tool_returns(world: World) -> None:
    """Seed systems, C8: also for those who follow it, and for one who asks to terminate it again."""
    world.upstream.go_on.clear()
    task = world.client("begin", content=wanted("waits", "x.y"))
    following = world.client.send("follow", task=task)
    wait_until(lambda: [asked.path for asked in world.upstream.web.asked[-1:]] == ["/waits/rpc"])
    assert world.client("status", task=task)["state"] == "WORKING"

    assert world.client("terminate", task=task) is True

    events = world.client.answer(following)["result"]
    *_, message, status = events
    assert (in_message(message["message"])["error"]["code"], status["state"]) == ("TASK_CANCELED", "CANCELED")
    world.upstream.go_on.set()
    assert result(world, wanted("waits", "x.y")) == {"content": []}
    assert world.client("terminate", task=task) is True  # What the client makes of any answer.
    found = world.client("status", task=task)
    assert (found["state"], len(found["messages"])) == ("CANCELED", 1)
    assert world.client("follow", task=task) == [message, status]


def test_an_unknown_task_and_a_second_message_are_errors(world: World) -> None:
    """Seed systems, C6: a task takes one message, and there is no other than those that were begun."""
    task = world.client("begin", content=wanted("demo", "greet", {"name": "Ada"}))

    assert world.client.refused("go_on", task=task)["status"] == -32000
    for do in ("status", "terminate", "go_on"):
        assert world.client.refused(do, task="nothing")["status"] == -32001
    assert world.client("follow", task="nothing") == []  # It does not read an error that is no event.


def test_many_tasks_at_once_have_one_message_and_one_end_each(world: World) -> None:
    """Seed systems, C8: each is followed at once, and again when all have ended."""
    contents = [wanted("demo", "add", {"a": number, "b": 1}) for number in range(TASKS)]

    ran = world.client("run_many", contents=contents)

    for number, one in enumerate(ran):
        assert outcome(one["task"])["mcp_result"]["structuredContent"] == {"sum": number + 1}
        message, status = one["late"]
        assert one["task"]["messages"] == [message["message"]]
        assert status["state"] == "COMPLETED"
        assert one["events"][-2:] == [message, status]
        assert [each.get("state") for each in one["events"][:-2]] in ([], ["WORKING"])


def test_the_token_is_the_key_that_agentvault_sends(
    library: AgentVaultLibrary, serve: Callable[..., Serving], mark: dict[str, str], tmp_path: Path
) -> None:
    """Seed systems, C11: the card names the variable of the environment that has the key."""
    entry = {"command": sys.executable, "args": ["-m", "gaia_mcp", "mcp", "serve", "demo"]}
    (tmp_path / "servers.json").write_text(json.dumps({"mcpServers": {"demo": entry}}))
    words = ("--all", "--a2a", "--config", str(tmp_path / "servers.json"))
    proxy = serve(tmp_path / "home", *words, GAIA_MCP_TOKEN=TOKEN, **mark)
    greet = wanted("demo", "greet", {"name": "Ada"})

    keys = [{"AGENTVAULT_KEY_GAIA_MCP": TOKEN}, {"AGENTVAULT_KEY_GAIA_MCP": "another"}, {}]
    invited, wrong, without = (library.client(proxy.card, **key) for key in keys)

    assert outcome(invited("run", content=greet)["task"])["success"] is True
    task = invited("begin", content=greet)
    for client, error, status in ((wrong, "A2ARemoteAgentError", 401), (without, "A2AAuthenticationError", None)):
        for do, given in (("begin", {"content": greet}), ("status", {"task": task}), ("follow", {"task": task})):
            refusal = client.refused(do, **given)
            assert (refusal["error"], refusal["status"]) == (error, status)
    proxy.end()


def test_a_proxy_that_is_its_own_server_fails_at_once(
    library: AgentVaultLibrary, serve: Callable[..., Serving], mark: dict[str, str], tmp_path: Path
) -> None:
    """Ours: with the dialect and without it, and the proxy goes on serving other calls."""
    for words in ((), ("--rpc",)):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        urls = json.dumps({"me": f"http://127.0.0.1:{port}"})
        address = f"127.0.0.1:{port}"
        proxy = serve(tmp_path / "home", "--all", "--a2a", *words, http=address, MCP_SERVER_MAP=urls, **mark)
        client = library.client(proxy.card)

        for tool in ("x", "me.x", "mcp.execute_tool"):
            found = outcome(client("run", content=wanted("me", tool))["task"])["error"]
            where = ("MCP_PROTOCOL", "-32600") if words else ("A2A_PROXY", "MCP_CONNECTION_ERROR")
            assert (found["source"], found["code"]) == where
        proxy.end()


def test_the_official_sdk_gets_clear_errors_for_its_own_dialect(
    world: World, prepared: Prepared, mark: dict[str, str]
) -> None:
    """Ours: its names of methods are others; of 0.3 two are the same, whose results it cannot read. It learns all of
    that from clear errors, and what it asks for is done.
    """
    world.upstream.go_on.clear()
    task = world.client("begin", content=wanted("waits", "x.y"))
    python = python_in(prepared.folder(A2A_SDK))

    ran = subprocess.run(
        [str(python), str(PROGRAMS / "a2a_sdk_client.py"), world.proxy.origin, task],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", **mark},
        timeout=TIMEOUT_SECONDS,
        check=True,
    )

    unknown = "MethodNotFoundError"
    assert json.loads(ran.stdout) == {
        "the card where it looks": "AgentCardResolutionError",
        "the card at our URL": ["gaia-mcp", f"http://localhost:{world.proxy.port}/a2a"],
        "0.3.0": {
            "send": unknown,
            "get": "ValidationError",
            "get of nothing": "TaskNotFoundError",
            "cancel of nothing": "TaskNotFoundError",
            "cancel": "ValidationError",
        },
        "1.0": dict.fromkeys(("send", "get", "get of nothing", "cancel of nothing", "cancel"), unknown),
    }
    assert world.client("status", task=task)["state"] == "CANCELED"
    world.upstream.go_on.set()
