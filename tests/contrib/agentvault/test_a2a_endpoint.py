"""The A2A endpoint: messages become tasks, which are asked for, cancelled and followed."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.contrib.agentvault import a2a
from gaia_mcp.contrib.agentvault.a2a_endpoint import CARD_PATH, A2aEndpoint, AgentCard, TaskFront
from gaia_mcp.protocol.envelope import TASKS_EXTENSION
from gaia_mcp.protocol.server import Description
from gaia_mcp.server.http.received import Caller
from gaia_mcp.server.http.security import ANY, Hosts, StaticToken
from gaia_mcp.server.http.workers import Limits
from gaia_mcp.server.provider import RequestError
from gaia_mcp.server.tasks import Tasks
from gaia_mcp.store import MemoryStore
from tests.server.http.asgi import Tools, app_of
from tests.server.stores import FailingStore
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from gaia_mcp.asking import Call
    from tests.server.http.asgi import Asked, Reply, Server

    Serve = Callable[..., Server]

Wire = dict[str, Any]
Serve = Callable[..., "Server"]
UNKNOWN = "x" * 32


class Executing:
    """A provider with one tool, whose arguments decide whether it refuses, waits or returns."""

    def __init__(self) -> None:
        self.may_end = threading.Event()
        self.calls: list[Call] = []
        self.has_ended = threading.Event()

    def describe(self) -> Description:
        return Description({"name": "x", "version": "1"}, {"tools": {}, "extensions": {TASKS_EXTENSION: {}}}, "")

    def on_change(self, listener: Any, wanted: Any = ()) -> Callable[[], None]:
        return lambda: None

    def answer(self, method: str, params: Wire, call: Call) -> Wire:
        assert (method, params["name"]) == ("tools/call", "do")
        arguments = params.get("arguments")
        if arguments == {"refuse": True}:
            raise RequestError("too many tasks are running")
        call.continue_as_task(required=True)
        self.calls.append(call)
        if arguments == {"wait": True}:
            call.progress(1, 2, "half")
            assert self.may_end.wait(PATIENCE_SECONDS)
        outcome = a2a.succeeded({"content": [], "arguments": arguments, "context": call.meta.get("mcp_context")})
        self.has_ended.set()
        return {"content": [], "structuredContent": outcome}


@pytest.fixture
def provider() -> Any:
    made = Executing()
    yield made
    made.may_end.set()


def app(provider: Executing, **options: Any) -> Any:
    return app_of(Tools(), fronts=[TaskFront("do", provider)], **options)


@pytest.fixture
def server(serve: Serve, provider: Executing) -> Server:
    return serve(app(provider))


def ask(server: Server, method: str, params: Any, request_id: Any = 1, **headers: str) -> Asked:
    """Send a request as AgentVault's client does."""
    message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
    return server.send(message, "/a2a", **{"accept": "*/*", **headers})


def message(content: Any = None, **more: Any) -> Wire:
    """The parameters of `tasks/send` for a message with this data."""
    part = {"type": "text", "content": "x"} if content is None else {"type": "data", "content": content}
    return {"message": {"role": "user", "parts": [part], **more}}


def begin(server: Server, content: Any = None, **headers: str) -> str:
    """Begin a task; its id."""
    found: str = ask(server, "tasks/send", message(content), **headers).reply().json["result"]["id"]
    return found


def get(server: Server, task_id: str, **headers: str) -> Wire:
    found: Wire = ask(server, "tasks/get", {"id": task_id}, **headers).reply().json["result"]
    return found


def outcome(task: Wire) -> Wire:
    [sent] = task["messages"]
    found: Wire = sent["parts"][0]["content"]
    return found


def await_end(server: Server, task_id: str) -> Wire:
    wait_until(lambda: get(server, task_id)["state"] != "WORKING")
    return get(server, task_id)


def code(reply: Reply) -> int:
    """The code of an error, which has status 200."""
    assert reply.status == 200
    return reply.error


def test_a_message_becomes_a_task(server: Server) -> None:
    """Seed systems, C6 and C9: with and without a slash at the end of the path, and with any request id."""
    sent = message({"a": 1}, metadata={"mcp_context": {"user": 7}})

    for path, request_id in itertools.product(("/a2a", "/a2a/"), ("req-1", 7, None)):
        request = {"jsonrpc": "2.0", "id": request_id, "method": "tasks/send", "params": {**sent, "webhookUrl": "x"}}
        reply = server.send(request, path, accept="*/*").reply().json
        assert (reply["jsonrpc"], reply["id"], list(reply["result"])) == ("2.0", request_id, ["id"])
        task = await_end(server, reply["result"]["id"])
        assert task["state"] == "COMPLETED"
        assert outcome(task)["mcp_result"] == {"content": [], "arguments": {"a": 1}, "context": {"user": 7}}


def test_a_message_without_data_becomes_a_task_too(server: Server) -> None:
    """Seed systems, C8: the outcome of the task names the problem."""
    assert outcome(await_end(server, begin(server)))["mcp_result"]["arguments"] is None


def test_a_task_continues_after_its_message_was_answered(server: Server, provider: Executing) -> None:
    """Seed systems, C6."""
    task_id = begin(server, {"wait": True})
    wait_until(lambda: bool(provider.calls))
    assert (get(server, task_id)["state"], get(server, task_id)["messages"]) == ("WORKING", [])

    provider.may_end.set()
    assert await_end(server, task_id)["state"] == "COMPLETED"


def test_a_cancelled_task_stays_cancelled_when_its_tool_returns(server: Server, provider: Executing) -> None:
    """Seed systems, C8."""
    task_id = begin(server, {"wait": True})
    wait_until(lambda: bool(provider.calls))

    assert ask(server, "tasks/cancel", {"id": task_id}).reply().json["result"] == {"success": True, "message": None}
    provider.may_end.set()
    assert provider.has_ended.wait(PATIENCE_SECONDS)
    task = get(server, task_id)
    assert (task["state"], outcome(task)["error"]["code"]) == ("CANCELED", "TASK_CANCELED")
    assert provider.calls[0].is_cancelled


def test_a_finished_task_is_not_cancelled(server: Server) -> None:
    """Seed systems, C6: terminal states stay."""
    task_id = begin(server, {})
    await_end(server, task_id)

    reply = ask(server, "tasks/cancel", {"id": task_id}).reply().json["result"]
    assert reply == {"success": False, "message": "the task has ended already"}
    assert get(server, task_id)["state"] == "COMPLETED"


def test_a_subscriber_gets_progress_and_the_final_message(server: Server, provider: Executing) -> None:
    """Seed systems, C6: progress is a status, and the message comes before the last one."""
    task_id = begin(server, {"wait": True})
    stream = ask(server, "tasks/sendSubscribe", {"id": task_id})
    seen = [stream.event()]
    while json.loads(seen[-1].data)["message"] != "half":
        seen.append(stream.event())
    provider.may_end.set()
    last = [stream.event(), stream.event()]

    assert {event.name for event in seen} == {"task_status"}
    assert [event.name for event in last] == ["task_message", "task_status"]
    assert [json.loads(event.data)["taskId"] for event in (*seen, *last)] == [task_id] * (len(seen) + 2)
    assert json.loads(last[1].data)["state"] == "COMPLETED"
    assert stream.ends()


def test_a_late_subscriber_gets_the_final_message(server: Server) -> None:
    """Seed systems, C8: exactly one message, and a terminal status."""
    task_id = begin(server, {})
    await_end(server, task_id)
    reply = ask(server, "tasks/sendSubscribe", {"id": task_id}).reply()

    assert [event.name for event in reply.events] == ["task_message", "task_status"]


def test_a_stream_sends_keep_alives_while_the_store_fails(serve: Serve, provider: Executing) -> None:
    """Ours: proxies close what is silent."""
    store = FailingStore()
    server = serve(app(provider, store=store, limits=Limits(keep_alive_seconds=0.02)))
    task_id = begin(server, {"wait": True})
    stream = ask(server, "tasks/sendSubscribe", {"id": task_id})
    while json.loads(stream.event().data)["message"] != "half":
        pass
    store.failing.add("get")
    assert stream.raw() == b":\n\n"
    store.failing.clear()
    provider.may_end.set()

    while stream.event().name != "task_message":
        pass
    assert stream.event().name == "task_status"


def test_a_task_deleted_from_the_store_ends_its_stream(serve: Serve, provider: Executing) -> None:
    """Ours: for instance when a store was emptied."""
    store = MemoryStore()
    server = serve(app(provider, store=store, limits=Limits(keep_alive_seconds=0.02)))
    task_id = begin(server, {"wait": True})
    stream = ask(server, "tasks/sendSubscribe", {"id": task_id})
    stream.event()
    store.remove(f"task/{task_id}")

    event = stream.event()
    while event.name == "task_status":
        event = stream.event()
    assert (event.name, json.loads(event.data)["error"]) == ("error", "task_not_found")
    assert stream.ends()


def test_a_disconnected_subscriber_is_removed(server: Server, provider: Executing) -> None:
    """Ours: nothing is left of its stream."""
    endpoint = endpoint_of(server)
    stream = ask(server, "tasks/sendSubscribe", {"id": begin(server, {"wait": True})})
    stream.event()
    assert endpoint.streams == 1
    stream.leave()
    stream.end()

    assert endpoint.streams == 0


def test_the_end_of_the_server_ends_the_streams(server: Server, provider: Executing) -> None:
    """Ours: otherwise the server would wait for its tasks; further requests get 503."""
    stream = ask(server, "tasks/sendSubscribe", {"id": begin(server, {"wait": True})})
    stream.event()
    server.loop.call_soon_threadsafe(server.app.end_streams)

    while not stream.ends():
        pass
    assert ask(server, "tasks/get", {"id": UNKNOWN}).reply().status == 503


def test_streams_beyond_the_limit_are_refused(serve: Serve, provider: Executing) -> None:
    """Ours: 503, so that the client retries later."""
    server = serve(app(provider, limits=Limits(streams=1)))
    task_id = begin(server, {"wait": True})
    first = ask(server, "tasks/sendSubscribe", {"id": task_id})
    first.event()

    assert ask(server, "tasks/sendSubscribe", {"id": task_id}).reply().status == 503


def test_an_unknown_task_is_refused(server: Server) -> None:
    """Seed systems, C6: -32001."""
    for method in ("tasks/get", "tasks/cancel", "tasks/sendSubscribe", "tasks/send"):
        params = {**message({}), "id": UNKNOWN} if method == "tasks/send" else {"id": UNKNOWN}
        assert code(ask(server, method, params).reply()) == a2a.TASK_UNKNOWN, method


def test_a_task_accepts_only_one_message(server: Server) -> None:
    """Seed systems, C6: AgentVault's own proxy continues no task either."""
    reply = ask(server, "tasks/send", {**message({}), "id": begin(server, {})}).reply()

    assert code(reply) == a2a.AGENT_ERROR


def test_a_task_that_cannot_start_is_an_agent_error(server: Server) -> None:
    """Seed systems, C6: -32000, with the reason."""
    reply = ask(server, "tasks/send", message({"refuse": True}), "req-9").reply()

    assert code(reply) == a2a.AGENT_ERROR
    assert (reply.json["id"], reply.json["error"]["message"]) == ("req-9", "too many tasks are running")


def test_an_invalid_request_is_an_error_with_status_200(server: Server) -> None:
    """Seed systems, C6."""
    invalid: list[tuple[Any, int]] = [
        (b"{", -32700),
        ([], -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": 5}, -32600),
        ({"jsonrpc": "2.0", "id": 1, "method": "tasks/list"}, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {}}, -32601),
        ({"jsonrpc": "2.0", "id": 1, "method": "tasks/send", "params": {}}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tasks/get"}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tasks/cancel", "params": {"id": 5}}, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tasks/sendSubscribe", "params": []}, -32602),
    ]
    replies = [(body, server.send(body, "/a2a").reply()) for body, _ in invalid]

    assert [(body, code(reply)) for body, reply in replies] == invalid
    assert [body for body, reply in replies if "id" not in reply.json] == []


def test_a_body_that_is_too_large_is_refused(serve: Serve, provider: Executing) -> None:
    """Ours: as everywhere, before it is read."""
    server = serve(app(provider, limits=Limits(body_bytes=1000)))

    assert ask(server, "tasks/send", message({"a": "x" * 1000})).reply().status == 413


def test_a_failing_store_is_reported_without_its_address(serve: Serve, provider: Executing) -> None:
    """Ours: the owner of the server finds the reason in the log."""
    failures: list[str] = []
    store = FailingStore()
    server = serve(app(provider, store=store, on_failure=lambda what, _: failures.append(what)))
    store.failing.add("get")

    reply = ask(server, "tasks/get", {"id": UNKNOWN}).reply()
    assert (code(reply), reply.json["error"]["message"]) == (
        a2a.AGENT_ERROR, "the store of tasks does not answer; repeat this later"
    )  # fmt: skip
    assert failures == ["gone"]


def test_the_token_is_accepted_as_an_api_key(serve: Serve, provider: Executing) -> None:
    """Seed systems, C11: AgentVault's client sends it in a header of its own."""
    server = serve(app(provider, authorizer=StaticToken("secret")))

    assert ask(server, "tasks/get", {"id": UNKNOWN}).reply().status == 401
    assert ask(server, "tasks/get", {"id": UNKNOWN}, x_api_key="wrong").reply().status == 401
    for header in ({"x_api_key": "secret"}, {"authorization": "Bearer secret"}):
        assert code(ask(server, "tasks/get", {"id": UNKNOWN}, **header).reply()) == a2a.TASK_UNKNOWN


def test_a_task_is_visible_to_its_caller_only(serve: Serve, provider: Executing) -> None:
    """Ours: for any other caller the task is unknown."""

    class Named:
        async def authorize(self, request: Any) -> Caller:
            return Caller(request.headers["authorization"])

    server = serve(app(provider, authorizer=Named()))
    task_id = begin(server, {"wait": True}, authorization="ada")

    assert get(server, task_id, authorization="ada")["id"] == task_id
    for method in ("tasks/get", "tasks/cancel", "tasks/sendSubscribe"):
        assert code(ask(server, method, {"id": task_id}, authorization="eve").reply()) == a2a.TASK_UNKNOWN


def test_only_post_is_allowed(server: Server) -> None:
    """Ours: 405 with `Allow`."""
    for method in ("GET", "DELETE", "PUT"):
        reply = server.ask(method, "/a2a").reply()
        assert (reply.status, reply.headers["allow"]) == (405, "POST"), method


def test_an_a2a_task_is_an_mcp_task_in_the_store(serve: Serve, provider: Executing) -> None:
    """Ours: so any worker of the store knows them."""
    store = MemoryStore()
    task_id = begin(serve(app(provider, store=store)), {})
    wait_until(lambda: Tasks(store).state_of(task_id, "").is_final)

    assert get(serve(app(Executing(), store=store)), task_id)["state"] == "COMPLETED"


def endpoint_of(server: Server) -> A2aEndpoint:
    [found] = [each for each in server.app._open if isinstance(each, A2aEndpoint)]
    return found


def card(serve: Serve, host: str = "127.0.0.1:8000", **options: Any) -> Any:
    given = {"hosts": Hosts([ANY]), "authorizer": None, **options}
    return serve(AgentCard("mcp.execute_tool", Limits(), **given)).ask("GET", CARD_PATH, host=host).reply().json


def test_the_card_has_a_url_that_its_client_accepts(serve: Serve) -> None:
    """Seed systems, C6: AgentVault's client refuses 127.0.0.1."""
    urls = {
        "127.0.0.1:8000": "http://localhost:8000/a2a",
        "[::1]:8000": "http://localhost:8000/a2a",
        "localhost": "http://localhost/a2a",
        "proxy.example:8069": "http://proxy.example:8069/a2a",
    }

    assert {host: card(serve, host)["url"] for host in urls} == urls


def test_the_card_declares_the_authentication_scheme(serve: Serve) -> None:
    """Seed systems, C6, C11: the client sends an API key, which a variable of its environment has by this name."""
    (open_to_all,) = card(serve)["authSchemes"]
    (with_token,) = card(serve, authorizer=StaticToken("x"))["authSchemes"]

    assert (open_to_all["scheme"], "service_identifier" in open_to_all) == ("none", False)
    assert (with_token["scheme"], with_token["service_identifier"]) == ("apiKey", "gaia_mcp")


def test_the_card_is_refused_under_another_host_name(serve: Serve) -> None:
    """Ours: no host but those of the server (DNS rebinding)."""
    server = serve(AgentCard("mcp.execute_tool", Limits(), Hosts(), StaticToken("x")))

    assert server.ask("GET", CARD_PATH, host="evil.example").reply().status == 403
    assert server.ask("GET", CARD_PATH).reply().json["skills"][0]["id"] == "mcp.execute_tool"
