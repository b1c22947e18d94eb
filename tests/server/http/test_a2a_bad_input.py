"""The A2A endpoint with a real gateway behind it, and clients that send what they should not."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.gateway.execution import EXECUTE_TOOL, ExecutingProvider
from gaia_mcp.gateway.provider import GatewayProvider
from gaia_mcp.server.http.a2a import A2aEndpoint
from gaia_mcp.server.http.bearer import JwtAuthorizer
from gaia_mcp.server.http.limits import Limits
from tests.client.transports.http.web import Answer, Asked, Web, as_json, serving
from tests.server.http.asgi import Tools, app_of
from tests.server.http.test_bearer import AUDIENCE, ISSUER, Issuer
from tests.waiting import ENOUGH_SECONDS, wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.server.http.asgi import Reply, Server

Wire = dict[str, Any]
Serve = Callable[..., "Server"]
METHODS = ("tasks/get", "tasks/cancel", "tasks/sendSubscribe", "tasks/send")


class Behind:
    """The server behind the gateway: each of its tools returns its arguments, `wait` when it may."""

    def __init__(self, web: Web) -> None:
        self.web = web
        self.may_end = threading.Event()
        web.answer = self.answer

    def answer(self, asked: Asked) -> Answer:
        method, params = asked.message["method"], asked.message["params"]
        told: Wire = {"result": {"content": [], "arguments": params}}
        if method == "tools/list":
            told = {"error": {"code": -32601, "message": "Method not found"}}
        response = as_json({"jsonrpc": "2.0", "id": asked.message["id"], **told})
        return response._replace(body=[b" ", self.may_end, response.body]) if method == "wait" else response


@pytest.fixture
def behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Behind]:
    monkeypatch.setenv("HOME", str(tmp_path))
    with serving(lambda _: Answer()) as web:
        made = Behind(web)
        yield made
        made.may_end.set()


@pytest.fixture
def proxy(serve: Serve, behind: Behind) -> Iterator[Callable[..., Server]]:
    """Serves the gateway; `more` are its further servers."""
    gateways: list[GatewayProvider] = []

    def make(more: dict[str, str] | None = None, **options: Any) -> Server:
        urls = {"echo": behind.web.origin, **(more or {})}
        entries = {name: read_entry(name, {"type": "rpc", "url": f"{url}/rpc"}) for name, url in urls.items()}
        gateway = GatewayProvider(entries)
        gateways.append(gateway)
        executing = ExecutingProvider(gateway, entries, gateway.has_tool, gateway.name_of)
        return serve(app_of(Tools(), a2a=(EXECUTE_TOOL, executing), **options))

    yield make
    for each in gateways:
        each.close()


@pytest.fixture
def server(proxy: Callable[..., Server]) -> Server:
    return proxy()


def data(content: Any) -> Wire:
    return {"type": "data", "content": content}


def echo(arguments: Any, tool: str = "say") -> Wire:
    """A data part that has its arguments returned."""
    return data({"target_mcp_server_id": "echo", "tool_name": tool, "arguments": arguments})


def ask(server: Server, method: str, params: Any, **headers: str) -> Any:
    return server.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, "/a2a", **headers)


def send(server: Server, *parts: Any, **more: Any) -> Reply:
    """Send a message with these parts."""
    found: Reply = ask(server, "tasks/send", {"message": {"role": "user", "parts": [*parts]}, **more}).reply()
    return found


def begin(server: Server, *parts: Any, **more: Any) -> str:
    found: str = send(server, *parts, **more).json["result"]["id"]
    return found


def ended(server: Server, task: str) -> Wire:
    """The outcome of a task, as one who subscribes sees it."""
    stream = ask(server, "tasks/sendSubscribe", {"id": task})
    while (event := stream.event()).name != "task_message":
        assert event.name == "task_status"
    found: Wire = json.loads(event.data)["message"]["parts"][0]["content"]
    assert json.loads(stream.event().data)["state"] == ("COMPLETED" if found["success"] else "FAILED")
    assert stream.ends()
    return found


def test_a_caller_learns_nothing_of_the_tasks_of_another(proxy: Callable[..., Server], behind: Behind) -> None:
    """Ours: of two with valid tokens of one issuer, neither reads, cancels, follows nor continues what the other began;
    to each it is as if there were no such task, and the other's goes on.
    """
    issuer = Issuer()
    try:
        server = proxy(authorizer=JwtAuthorizer(issuer.url, ISSUER, AUDIENCE))
        ada, eve = ({"x_api_key": issuer.token(sub=name)} for name in ("ada", "eve"))
        message = {"message": {"role": "user", "parts": [echo({}, "wait")]}}
        tasks = [ask(server, "tasks/send", message, **each).reply().json["result"]["id"] for each in (ada, eve)]

        for task, stranger in ((tasks[0], eve), (tasks[1], ada)):
            for method in METHODS:
                refused = ask(server, method, {**message, "id": task}, **stranger).reply()
                unknown = ask(server, method, {**message, "id": "nothing"}, **stranger).reply()
                assert (refused.status, refused.error) == (200, -32001)
                assert refused.body == unknown.body
            assert ask(server, "tasks/get", {"id": task}).reply().status == 401
        for task, owner in zip(tasks, (ada, eve), strict=True):
            assert ask(server, "tasks/get", {"id": task}, **owner).reply().json["result"]["state"] == "WORKING"
    finally:
        issuer.end()


def test_many_servers_that_are_not_there_and_many_names_that_are_not_known(
    proxy: Callable[..., Server], behind: Behind
) -> None:
    """Ours: 1,000 of each; every task ends, none of the servers is asked, and the one that is there serves."""
    with socket.socket() as dead:  # Bound, and not listening.
        dead.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{dead.getsockname()[1]}"
        server = proxy({f"dead{number}": url for number in range(1000)})
        named = [
            data({"target_mcp_server_id": f"none{number}", "tool_name": "x.y", "arguments": {}})
            for number in range(1000)
        ]

        tasks = [begin(server, part) for part in named]
        outcomes = [ended(server, task) for task in tasks]

        assert {(each["error"]["source"], each["error"]["code"]) for each in outcomes} == {
            ("A2A_PROXY", "MCP_CONNECTION_ERROR")
        }
        assert max(len(each["error"]["message"]) for each in outcomes) < 200
        assert behind.web.asked == []
        assert ended(server, begin(server, echo({"a": 1})))["mcp_result"]["arguments"] == {"a": 1}


@pytest.mark.parametrize("kind", ["text", "null", "number", "list", "object", "nothing", "file", "long"])
def test_a_webhook_is_never_fetched(server: Server, kind: str) -> None:
    """Seed systems, C9: of whatever kind it is, it is taken and ignored."""
    with socket.create_server(("127.0.0.1", 0)) as hook:
        url = f"http://127.0.0.1:{hook.getsockname()[1]}/hook"
        given = {
            "text": url, "null": None, "number": 5, "list": [url], "object": {"url": url}, "nothing": "",
            "file": "file:///etc/passwd", "long": url + "x" * 100_000,
        }[kind]  # fmt: skip

        assert ended(server, begin(server, echo({}), webhookUrl=given))["success"] is True
        hook.setblocking(False)
        with pytest.raises(BlockingIOError):
            hook.accept()


@pytest.mark.parametrize(
    "parts",
    [
        [{"type": "text", "content": "hello"}],
        [{"type": "file", "url": "https://example.com/a"}],
        [{"content": "hello"}],
        [{"url": "https://example.com/a"}],
        [data({})],
        [data({"target_mcp_server_id": "echo"})],
        [data({"target_mcp_server_id": "echo", "tool_name": ""})],
        [data({"target_mcp_server_id": "echo", "tool_name": {}})],
        [data({"target_mcp_server_id": [], "tool_name": "say"})],
        [data({"target_mcp_server_id": "echo", "tool_name": "say", "arguments": "x"})],
    ],
)
def test_a_message_that_asks_for_nothing_is_a_task_that_fails(server: Server, behind: Behind, parts: Any) -> None:
    """Seed systems, C8: its one outcome tells what is wrong."""
    found = ended(server, begin(server, *parts))

    assert (found["error"]["source"], found["error"]["code"]) == ("A2A_PROXY", "-32602")
    assert behind.web.asked == []


@pytest.mark.parametrize(
    "parts",
    [
        [], "x", None, {}, [None], ["x"], [[]], [{}], [{"type": "data"}], [data("x")], [data([])], [data(None)],
        [{"type": "text"}], [{"type": "file"}], [{"type": "file", "url": 5}], [{"type": "other", "content": {}}],
        [{"type": 5, "content": {}}], [{"type": {}, "content": {}}], [echo({}), "x"], [echo({}), data(5)],
    ],
)  # fmt: skip
def test_parts_that_are_none_are_invalid_parameters(server: Server, behind: Behind, parts: Any) -> None:
    """Seed systems, C6: -32602, and no task."""
    reply = ask(server, "tasks/send", {"message": {"role": "user", "parts": parts}}).reply()

    assert (reply.status, reply.error) == (200, -32602)
    assert behind.web.asked == []


@pytest.mark.parametrize(
    "params",
    [
        None, [], "x", 5, {}, {"message": None}, {"message": []}, {"message": {"parts": [echo({})]}},
        {"message": {"role": "root", "parts": [echo({})]}}, {"message": {"role": [], "parts": [echo({})]}},
        {"message": {"role": "user", "parts": [echo({})], "metadata": "x"}},
        {"message": {"role": "user", "parts": [echo({})]}, "id": 5},
    ],
)  # fmt: skip
def test_parameters_that_are_invalid_are_told_as_such(server: Server, params: Any) -> None:
    """Seed systems, C6."""
    reply = ask(server, "tasks/send", params).reply()

    assert (reply.status, reply.error) == (200, -32602)


def test_of_ten_parts_the_first_with_data_counts(server: Server) -> None:
    """Seed systems, C7."""
    text = {"type": "text", "content": "x"}

    assert ended(server, begin(server, text, *(echo({"part": number}) for number in range(9))))["mcp_result"] == {
        "content": [],
        "arguments": {"part": 0},
    }
    assert ended(server, begin(server, *[text] * 20_000, echo({"part": "last"})))["success"] is True


@pytest.mark.parametrize(
    ("request_id", "answered"),
    [
        (1, True), (-1, True), (1.5, True), (2**63, True), ("", True), ("a", True), ("\ud800", False), (None, True),
        (True, False), (False, False), ([], False), ([1], False), ({}, False), ({"a": 1}, False),
    ],
)  # fmt: skip
def test_ids_of_every_type(server: Server, request_id: Any, answered: bool) -> None:
    """JSON-RPC 2.0: returned as they came, or else an error whose id is null."""
    reply = server.send({"jsonrpc": "2.0", "id": request_id, "method": "tasks/get", "params": {"id": "x"}}, "/a2a")
    found = reply.reply().json

    if request_id == "\ud800":
        assert (found["id"], found["error"]["code"]) == ("\ufffd", -32001)
    elif answered:
        assert (found["id"], type(found["id"]), found["error"]["code"]) == (request_id, type(request_id), -32001)
    else:
        assert (found["id"], found["error"]["code"]) == (None, -32600)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity", "1" * 5000])
def test_a_number_that_json_has_not_is_never_returned(server: Server, number: str) -> None:
    """RFC 8259: whatever the id is, the response is JSON."""
    body = f'{{"jsonrpc": "2.0", "id": {number}, "method": "tasks/get", "params": {{"id": "x"}}}}'.encode()

    def refuse(name: str) -> None:
        raise AssertionError(name)

    reply = server.send(body, "/a2a").reply()
    assert (reply.status, json.loads(reply.body, parse_constant=refuse)["error"]["code"] < 0) == (200, True)


@pytest.mark.parametrize("depth", [50, 200, 500, 800, 2000, 100_000])
def test_deep_nesting_ends_in_an_outcome_or_a_clear_error(server: Server, depth: int) -> None:
    """Ours: what is nested too deeply to be read, sent on or kept is no internal error."""
    nested = "[" * depth + "]" * depth
    part = json.dumps(echo({"a": "DEEP"})).replace('"DEEP"', nested)
    body = f'{{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{{"message":{{"role":"user","parts":[{part}]}}}}}}'

    reply = server.send(body.encode(), "/a2a").reply()

    assert reply.status == 200
    if "error" in reply.json:
        assert (reply.error, depth > 200) == (-32700, True)
        return
    task = reply.json["result"]["id"]
    # The message is not read here: it may be nested as deeply.
    *before, message, status = ask(server, "tasks/sendSubscribe", {"id": task}).reply().events
    assert ({each.name for each in before} <= {"task_status"}, message.name) == (True, "task_message")
    state = json.loads(status.data)["state"]
    assert state == "COMPLETED" or (state == "FAILED" and depth > 200)
    got = ask(server, "tasks/get", {"id": task}).reply()
    assert (got.status, f'"state":"{state}"'.encode() in got.body) == (200, True)


@pytest.mark.parametrize("member", ["arguments", "context"])
def test_numbers_that_json_has_not_reach_no_server(server: Server, behind: Behind, member: str) -> None:
    """RFC 8259: they are read, and not sent on; the next message is served."""
    given = {"arguments": {"a": float("nan")}} if member == "arguments" else {"arguments": {}}
    metadata = {"mcp_context": float("inf")} if member == "context" else {}
    part = data({"target_mcp_server_id": "echo", "tool_name": "say", **given})
    message = {"role": "user", "parts": [part], "metadata": metadata}

    found = ended(server, ask(server, "tasks/send", {"message": message}).reply().json["result"]["id"])

    if member == "arguments":
        assert (found["error"]["source"], found["error"]["code"]) == ("A2A_PROXY", "-32602")
    else:
        assert found["success"] is True  # The dialect has no place for it.
    assert "say" not in behind.web.methods() or member == "context"
    assert ended(server, begin(server, echo({})))["success"] is True


def test_fifty_megabytes_are_refused_before_they_are_read(server: Server) -> None:
    """Ours: by the length that is announced, and by what comes where none is."""
    announced = server.ask("POST", "/a2a", content_type="application/json", content_length=str(50 * 2**20))
    assert announced.reply().status == 413

    asked = server.ask("POST", "/a2a", content_type="application/json", transfer_encoding="chunked")
    asked.feed(b'{"jsonrpc": "2.0", "id": 1, "method": "tasks/send", "params": "', more=True)
    for _ in range(5):
        asked.feed(b"x" * 2**20, more=True)
    assert asked.reply().status == 413


def test_a_thousand_streams_of_one_task_end_with_it(server: Server, behind: Behind) -> None:
    """Ours: half of the clients go away before; the others see one message, and one end."""
    task = begin(server, echo({}, "wait"))
    streams = [ask(server, "tasks/sendSubscribe", {"id": task}) for _ in range(1000)]
    assert {json.loads(stream.event().data)["state"] for stream in streams} == {"WORKING"}
    endpoint = next(each for each in server.app._open if isinstance(each, A2aEndpoint))
    assert endpoint.streams == 1000
    for stream in streams[::2]:
        stream.leave()
    wait_until(lambda: endpoint.streams == 500, ENOUGH_SECONDS)

    behind.may_end.set()

    for stream in streams[1::2]:
        assert [stream.event().name, stream.event().name] == ["task_message", "task_status"]
        assert stream.ends()
    wait_until(lambda: endpoint.streams == 0)


def test_more_streams_than_there_are_places_for_are_refused(proxy: Callable[..., Server], behind: Behind) -> None:
    """Ours: 503 for each of those, also when all come at once; a place that gets free is given again."""
    server = proxy(limits=Limits(streams=10))
    task = begin(server, echo({}, "wait"))
    streams = [ask(server, "tasks/sendSubscribe", {"id": task}) for _ in range(50)]

    statuses = [stream.head()["status"] for stream in streams]

    assert (statuses.count(200), statuses.count(503)) == (10, 40)
    streams[statuses.index(200)].leave()
    wait_until(lambda: ask(server, "tasks/sendSubscribe", {"id": task}).head()["status"] == 200)


def test_more_tasks_than_may_run_are_refused(server: Server, behind: Behind) -> None:
    """Ours: with an error of the agent, and those that run go on."""
    replies = [
        ask(server, "tasks/send", {"message": {"role": "user", "parts": [echo({}, "wait")]}}) for _ in range(300)
    ]
    answers = [each.reply().json for each in replies]

    refused = [each["error"] for each in answers if "error" in each]
    assert len(refused) == 300 - 256
    assert {each["code"] for each in refused} == {-32000}
    behind.may_end.set()
    for each in answers:
        if "result" in each:
            outcome = ended(server, each["result"]["id"])
            assert outcome["success"] is True, outcome
