"""The A2A endpoint in front of a real gateway, and clients that send invalid requests."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.config.entries import read_entry
from gaia_mcp.contrib.agentvault.a2a_endpoint import A2aEndpoint, TaskFront
from gaia_mcp.contrib.agentvault.a2a_front import EXECUTE_TOOL, ExecutingProvider
from gaia_mcp.fleet.gateway.provider import GatewayProvider
from gaia_mcp.server.http.security import JwtAuthorizer
from gaia_mcp.server.http.workers import Limits
from gaia_mcp.server.tasks import MAX_RUNNING
from tests.client.transports.http.web import Answer, Asked, Web, as_json, serving
from tests.server.http.asgi import Tools, app_of
from tests.server.http.test_security__bearer import AUDIENCE, ISSUER, Issuer
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
        outcome: Wire = {"result": {"content": [], "arguments": params}}
        if method == "tools/list":
            outcome = {"error": {"code": -32601, "message": "Method not found"}}
        response = as_json({"jsonrpc": "2.0", "id": asked.message["id"], **outcome})
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
        return serve(app_of(Tools(), fronts=[TaskFront(EXECUTE_TOOL, executing)], **options))

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


def code_of(reply: Reply) -> int:
    """The code of an error in a response with the status 200; 0 for any other response."""
    return reply.error if reply.status == 200 and "error" in reply.json else 0


def ended(server: Server, task: str) -> Wire:
    """The outcome of a task, as a subscriber gets it."""
    stream = ask(server, "tasks/sendSubscribe", {"id": task})
    while (event := stream.event()).name != "task_message":
        assert event.name == "task_status"
    found: Wire = json.loads(event.data)["message"]["parts"][0]["content"]
    assert json.loads(stream.event().data)["state"] == ("COMPLETED" if found["success"] else "FAILED")
    assert stream.ends()
    return found


def test_a_caller_cannot_access_the_tasks_of_another(proxy: Callable[..., Server], behind: Behind) -> None:
    """Ours: of two with valid tokens of one issuer, neither reads, cancels, follows nor continues the other's task;
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


def test_hundreds_of_tasks_for_unknown_servers_fail_beside_hundreds_of_unreachable_servers(
    proxy: Callable[..., Server], behind: Behind
) -> None:
    """Ours: every task ends, none of the servers gets a request, and the one that can be reached serves. There are more
    of both than tasks may run at once.
    """
    count = MAX_RUNNING + 44
    with socket.socket() as dead:  # Bound, and not listening.
        dead.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{dead.getsockname()[1]}"
        server = proxy({f"dead{number}": url for number in range(count)})
        named = [
            data({"target_mcp_server_id": f"none{number}", "tool_name": "x.y", "arguments": {}})
            for number in range(count)
        ]

        tasks = [begin(server, part) for part in named]
        outcomes = [ended(server, task) for task in tasks]

        assert {(each["error"]["source"], each["error"]["code"]) for each in outcomes} == {
            ("A2A_PROXY", "MCP_CONNECTION_ERROR")
        }
        assert max(len(each["error"]["message"]) for each in outcomes) < 200
        assert behind.web.asked == []
        assert ended(server, begin(server, echo({"a": 1})))["mcp_result"]["arguments"] == {"a": 1}


def test_a_webhook_is_never_fetched(server: Server) -> None:
    """Seed systems, C9: a value of any type is accepted and ignored."""
    with socket.create_server(("127.0.0.1", 0)) as hook:
        hook.setblocking(False)
        url = f"http://127.0.0.1:{hook.getsockname()[1]}/hook"
        given: list[Any] = [url, None, 5, [url], {"url": url}, "", "file:///etc/passwd", url + "x" * 100_000]

        for each in given:
            assert ended(server, begin(server, echo({}), webhookUrl=each))["success"] is True, each
        with pytest.raises(BlockingIOError):
            hook.accept()


def test_a_message_without_a_valid_call_is_a_task_that_fails(server: Server, behind: Behind) -> None:
    """Seed systems, C8: its one outcome names the problem."""
    parts = [
        {"type": "text", "content": "hello"},
        {"type": "file", "url": "https://example.com/a"},
        {"content": "hello"},
        {"url": "https://example.com/a"},
        data({}),
        data({"target_mcp_server_id": "echo"}),
        data({"target_mcp_server_id": "echo", "tool_name": ""}),
        data({"target_mcp_server_id": "echo", "tool_name": {}}),
        data({"target_mcp_server_id": [], "tool_name": "say"}),
        data({"target_mcp_server_id": "echo", "tool_name": "say", "arguments": "x"}),
    ]
    errors = [(part, ended(server, begin(server, part))["error"]) for part in parts]

    assert [(part, e) for part, e in errors if (e["source"], e["code"]) != ("A2A_PROXY", "-32602")] == []
    assert behind.web.asked == []


def test_invalid_parts_are_invalid_parameters(server: Server, behind: Behind) -> None:
    """Seed systems, C6: -32602, and no task."""
    invalid: list[Any] = [
        [], "x", None, {}, [None], ["x"], [[]], [{}], [{"type": "data"}], [data("x")], [data([])], [data(None)],
        [{"type": "text"}], [{"type": "file"}], [{"type": "file", "url": 5}], [{"type": "other", "content": {}}],
        [{"type": 5, "content": {}}], [{"type": {}, "content": {}}], [echo({}), "x"], [echo({}), data(5)],
    ]  # fmt: skip
    replies = [
        (parts, ask(server, "tasks/send", {"message": {"role": "user", "parts": parts}}).reply()) for parts in invalid
    ]

    assert [(parts, reply) for parts, reply in replies if code_of(reply) != -32602] == []
    assert behind.web.asked == []


def test_invalid_parameters_are_reported(server: Server) -> None:
    """Seed systems, C6."""
    invalid: list[Any] = [
        None, [], "x", 5, {}, {"message": None}, {"message": []}, {"message": {"parts": [echo({})]}},
        {"message": {"role": "root", "parts": [echo({})]}}, {"message": {"role": [], "parts": [echo({})]}},
        {"message": {"role": "user", "parts": [echo({})], "metadata": "x"}},
        {"message": {"role": "user", "parts": [echo({})]}, "id": 5},
    ]  # fmt: skip
    replies = [(params, ask(server, "tasks/send", params).reply()) for params in invalid]

    assert [(params, reply) for params, reply in replies if code_of(reply) != -32602] == []


def test_of_ten_parts_the_first_with_data_is_executed(server: Server) -> None:
    """Seed systems, C7."""
    text = {"type": "text", "content": "x"}

    assert ended(server, begin(server, text, *(echo({"part": number}) for number in range(9))))["mcp_result"] == {
        "content": [],
        "arguments": {"part": 0},
    }
    assert ended(server, begin(server, *[text] * 20_000, echo({"part": "last"})))["success"] is True


def test_a_request_id_is_returned_unchanged_or_is_invalid(server: Server) -> None:
    """JSON-RPC 2.0: a string, a number or null; the error for an invalid one has the id null."""
    valid: list[Any] = [1, -1, 1.5, 2**63, "", "a", None]
    invalid: list[Any] = [True, False, [], [1], {}, {"a": 1}]

    def answer(request_id: Any) -> tuple[Any, type, int]:
        message = {"jsonrpc": "2.0", "id": request_id, "method": "tasks/get", "params": {"id": "x"}}
        found = server.send(message, "/a2a").reply().json
        return found["id"], type(found["id"]), found["error"]["code"]

    assert [answer(each) for each in valid] == [(each, type(each), -32001) for each in valid]
    assert [answer(each) for each in invalid] == [(None, type(None), -32600)] * len(invalid)
    assert answer("\ud800") == ("\ufffd", str, -32001)


def test_a_response_is_json_whatever_number_the_request_id_is(server: Server) -> None:
    """RFC 8259 has neither infinity nor NaN, which Python's parser reads."""

    def refuse(name: str) -> None:
        raise AssertionError(name)

    for number in ("1e999", "-1e999", "NaN", "Infinity", "1" * 5000):
        body = f'{{"jsonrpc": "2.0", "id": {number}, "method": "tasks/get", "params": {{"id": "x"}}}}'.encode()
        reply = server.send(body, "/a2a").reply()
        code = json.loads(reply.body, parse_constant=refuse)["error"]["code"]
        assert (reply.status, code < 0) == (200, True), number


def test_deep_nesting_ends_in_an_outcome_or_a_parse_error(server: Server) -> None:
    """Ours: a message too deep to be parsed, forwarded or saved is not an internal error."""
    for depth in (50, 200, 500, 800, 2000, 100_000):
        nested = "[" * depth + "]" * depth
        part = json.dumps(echo({"a": "DEEP"})).replace('"DEEP"', nested)
        params = f'{{"message":{{"role":"user","parts":[{part}]}}}}'
        body = f'{{"jsonrpc":"2.0","id":1,"method":"tasks/send","params":{params}}}'

        reply = server.send(body.encode(), "/a2a").reply()

        assert reply.status == 200, depth
        if "error" in reply.json:
            assert (reply.error, depth > 200) == (-32700, True), depth
            continue
        task = reply.json["result"]["id"]
        # The message is not read here: it may be nested as deeply.
        *before, message, status = ask(server, "tasks/sendSubscribe", {"id": task}).reply().events
        assert ({each.name for each in before} <= {"task_status"}, message.name) == (True, "task_message"), depth
        state = json.loads(status.data)["state"]
        assert state == "COMPLETED" or (state == "FAILED" and depth > 200), depth
        got = ask(server, "tasks/get", {"id": task}).reply()
        assert (got.status, f'"state":"{state}"'.encode() in got.body) == (200, True), depth


def test_nan_in_arguments_is_not_forwarded(server: Server, behind: Behind) -> None:
    """RFC 8259 does not have it: the task fails, and the next message is served."""
    found = ended(server, begin(server, echo({"a": float("nan")})))

    assert (found["error"]["source"], found["error"]["code"]) == ("A2A_PROXY", "-32602")
    assert "say" not in behind.web.methods()
    assert ended(server, begin(server, echo({})))["success"] is True


def test_infinity_in_the_context_is_ignored(server: Server) -> None:
    """Ours: the dialect of JSON-RPC behind the gateway has no context to forward."""
    message = {"role": "user", "parts": [echo({})], "metadata": {"mcp_context": float("inf")}}

    assert (
        ended(server, ask(server, "tasks/send", {"message": message}).reply().json["result"]["id"])["success"] is True
    )
    assert ended(server, begin(server, echo({})))["success"] is True


def test_a_body_of_fifty_megabytes_is_refused_before_it_is_read(server: Server) -> None:
    """Ours: by its Content-Length, and without one once too much has come."""
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


def test_streams_beyond_the_limit_are_refused(proxy: Callable[..., Server], behind: Behind) -> None:
    """Ours: 503 for each of those, also when all come at once; when one ends, another may begin."""
    server = proxy(limits=Limits(streams=10))
    task = begin(server, echo({}, "wait"))
    streams = [ask(server, "tasks/sendSubscribe", {"id": task}) for _ in range(50)]

    statuses = [stream.head()["status"] for stream in streams]

    assert (statuses.count(200), statuses.count(503)) == (10, 40)
    streams[statuses.index(200)].leave()
    wait_until(lambda: ask(server, "tasks/sendSubscribe", {"id": task}).head()["status"] == 200)


def test_tasks_beyond_the_limit_are_refused(server: Server, behind: Behind) -> None:
    """Ours: with an error of the agent, and those that run go on."""
    replies = [
        ask(server, "tasks/send", {"message": {"role": "user", "parts": [echo({}, "wait")]}})
        for _ in range(MAX_RUNNING + 4)
    ]
    answers = [each.reply().json for each in replies]

    refused = [each["error"] for each in answers if "error" in each]
    assert len(refused) == 4
    assert {each["code"] for each in refused} == {-32000}
    behind.may_end.set()
    for each in answers:
        if "result" in each:
            outcome = ended(server, each["result"]["id"])
            assert outcome["success"] is True, outcome
