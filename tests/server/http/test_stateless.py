"""The stateless era over HTTP, one POST for each request."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gaia_mcp.contrib.agentvault.rpc import RpcFront
from gaia_mcp.protocol import jsonrpc
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.http.exchange import MAX_AHEAD
from gaia_mcp.server.http.workers import Limits
from gaia_mcp.server.provider import Change
from tests.server.http.asgi import Gate, Tools, app_of, text_of, with_capabilities
from tests.server.talk import DISCOVER, META, call, plain, stateless
from tests.waiting import PATIENCE_SECONDS, wait_until

if TYPE_CHECKING:
    from tests.server.http.asgi import Server

Serve = Callable[..., "Server"]
LISTEN = stateless("s", "subscriptions/listen", {"notifications": {"toolsListChanged": True}})


def report(running: Any) -> str:
    running.progress(1, 2, "half")
    running.log("info", "note")
    return "done"


def test_a_call_without_notifications_is_answered_with_json(serve: Serve) -> None:
    """Spec 2026-07-28, HS-3: JSON or a stream; nothing was sent before."""
    server = serve(Tools(hi=lambda _: "hello"))

    reply = server.stateless(call(1, "hi")).reply()

    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert text_of(reply.json) == "hello"
    assert "mcp-session-id" not in reply.headers
    assert server.stateless(DISCOVER).reply().json["result"]["supportedVersions"] == ["2026-07-28"]


def test_the_rpc_dialect_has_its_own_response_format(serve: Serve) -> None:
    """Spec, C4: of responses alone, and their status; see `test_rpc` for the rest."""
    server = serve(app_of(Tools(hi=lambda _: "hello"), fronts=[RpcFront(["/mcp"])]))

    reply = server.send(plain(1, "no_tool"), "/rpc").reply()
    assert (reply.status, reply.error) == (200, -32601)
    assert "resultType" not in server.send(plain(1, "hi"), "/rpc").reply().json["result"]


def test_notifications_of_a_call_make_the_response_an_event_stream(serve: Serve) -> None:
    """Spec 2026-07-28, HS-3, HS-8, MS-14: notifications of this request, then its response, then the end."""
    server = serve(Tools(report=report))

    plain = server.stateless(call(1, "report")).reply()
    reply = server.stateless(
        call(2, "report", progressToken="p", **{"io.modelcontextprotocol/logLevel": "info"})
    ).reply()

    assert plain.headers["content-type"] == "application/json"
    assert (reply.headers["x-accel-buffering"], reply.headers["cache-control"]) == ("no", "no-cache, no-transform")
    progress, log, answer = reply.messages
    assert progress["params"] == {"progressToken": "p", "progress": 1, "total": 2, "message": "half"}
    assert log["params"]["data"] == "note"
    assert text_of(answer) == "done"
    assert not any(event.id for event in reply.events)


def test_a_request_gets_no_message_of_an_earlier_one(serve: Serve) -> None:
    """Spec 2026-07-28: each is independent. A thread of an earlier call may still run, and the ids may be the same."""
    earlier: list[Any] = []

    def late(running: Any) -> str:
        for one in earlier:
            one.log("info", "late")
            one.progress(1)
        earlier.append(running)
        return f"call {len(earlier)}"

    server = serve(Tools(late=late))
    asked = call(1, "late", progressToken="p", **{"io.modelcontextprotocol/logLevel": "info"})

    replies = [server.stateless(asked).reply() for _ in range(3)]

    assert [reply.headers["content-type"] for reply in replies] == ["application/json"] * 3
    assert [text_of(reply.json) for reply in replies] == ["call 1", "call 2", "call 3"]


def test_a_change_of_the_provider_is_known_to_the_next_request(serve: Serve) -> None:
    """Ours: what the server offers is not that of the first request."""
    provider = AgentProvider(Tools(hi=lambda _: "hello"))
    described = provider.describe()
    server = serve(provider)
    names = []
    for name in ("before", "after"):
        provider.describe = lambda name=name: described._replace(info={"name": name, "version": "1"})  # type: ignore[misc,method-assign]
        server.app.endpoints["/mcp"].served._change(Change(lists=("tools",)))
        meta = server.stateless(call(1, "hi")).reply().json["result"]["_meta"]
        names.append(meta["io.modelcontextprotocol/serverInfo"]["name"])

    assert names == ["before", "after"]


def test_a_notification_is_accepted(serve: Serve) -> None:
    """Spec 2026-07-28, HS-2."""
    reply = serve(Tools()).stateless({"jsonrpc": "2.0", "method": "notifications/cancelled"}).reply()

    assert (reply.status, reply.body) == (202, b"")


def test_an_invalid_request_has_its_status_and_code(serve: Serve) -> None:
    """Spec 2026-07-28, MS-2, MS-3, HS-5, HS-6: an invalid request has a status too, and a failure of a tool has not."""
    server = serve(Tools(hi=lambda _: "hello"))
    invalid: list[tuple[Any, dict[str, str], int, int]] = [
        (stateless(1, "tools/list", **{"io.modelcontextprotocol/protocolVersion": None}), {}, 400, -32602),
        (stateless(1, "tools/list", **{"io.modelcontextprotocol/clientCapabilities": None}), {}, 400, -32602),
        ({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, {}, 400, -32602),
        (stateless(1, "tools/list"), {"mcp_method": "tools/call"}, 400, -32020),
        (stateless(1, "tools/list"), {"mcp_protocol_version": "2025-11-25"}, 400, -32020),
        (stateless(1, "tools/list"), {"mcp_method": "=?base64?!?="}, 400, -32020),
        (call(1, "hi"), {"mcp_name": "ho"}, 400, -32020),
        (
            stateless(1, "tools/list", **{"io.modelcontextprotocol/protocolVersion": "2030-01-01"}),
            {"mcp_protocol_version": "2030-01-01"},
            400,
            -32022,
        ),
        (stateless(1, "no/such"), {}, 404, -32601),
        (stateless(1, "ping"), {}, 404, -32601),
        (stateless(1, "initialize"), {}, 404, -32601),
        (stateless(1, "prompts/list"), {}, 404, -32601),
        (stateless(1, "subscriptions/listen"), {}, 400, -32602),
        (stateless(1, "tools/list", {"cursor": "bad"}), {}, 200, -32602),
        (call(1, "unknown"), {}, 200, -32602),
        ({"jsonrpc": "2.0", "method": "m", "id": None, "params": {"_meta": META}}, {"mcp_method": "m"}, 400, -32600),
        ({"method": "m", "id": 4, "params": {"_meta": META}}, {"mcp_method": "m"}, 400, -32600),
    ]

    for message, headers, status, code in invalid:
        reply = server.stateless(message, **headers).reply()
        assert (reply.status, reply.error) == (status, code), (message, headers, reply.json)
        assert reply.json.get("id") == message.get("id")


def test_a_post_without_exactly_one_request_is_refused(serve: Serve) -> None:
    """Spec 2026-07-28, HC-2: neither a batch nor a response is accepted from a client."""
    server = serve(Tools())
    bodies: tuple[Any, ...] = ([], [DISCOVER], {"jsonrpc": "2.0", "id": 1, "result": {}}, 7, "x", None)
    replies = [(body, server.send(body, mcp_protocol_version="2026-07-28").reply()) for body in bodies]

    assert [(body, reply) for body, reply in replies if (reply.status, reply.error) != (400, -32600)] == []


def test_a_missing_client_capability_is_reported(serve: Serve) -> None:
    """Spec 2026-07-28, MS-4: -32021 with status 400; with it, the question is the result."""
    server = serve(Tools(ask=lambda running: running.sample("hm").text))

    reply = server.stateless(call(1, "ask")).reply()
    asked = server.stateless(call(2, "ask", **with_capabilities(sampling={}))).reply()

    assert (reply.status, reply.error) == (400, jsonrpc.MISSING_CAPABILITY)
    assert reply.json["error"]["data"] == {"requiredCapabilities": {"sampling": {}}}
    assert asked.json["result"]["resultType"] == "input_required"


def test_a_retry_with_the_requested_input_completes_the_call(serve: Serve) -> None:
    """Spec 2026-07-28, MS-6, MS-9: nothing is kept between the two, and any worker may take the second."""
    server = serve(Tools(ask=lambda running: running.sample("hm").text))
    first = server.stateless(call(1, "ask", **with_capabilities(sampling={}))).reply().json["result"]
    (name,) = first["inputRequests"]

    again = call(2, "ask", **with_capabilities(sampling={}))
    thought = {"role": "assistant", "content": {"type": "text", "text": "aha"}, "model": "m"}
    again["params"] |= {"requestState": first["requestState"], "inputResponses": {name: thought}}

    assert text_of(server.stateless(again).reply().json) == "aha"


def test_a_disconnect_cancels_the_request(serve: Serve) -> None:
    """Spec 2026-07-28, HS-4, MS-18: before anything was sent, and in the middle of a stream."""
    began, cancelled = threading.Semaphore(0), threading.Semaphore(0)

    def wait(running: Any) -> None:
        running.on_cancel(cancelled.release)
        running.progress(1)
        began.release()
        running.wait(PATIENCE_SECONDS * 4)

    server = serve(Tools(wait=wait))
    silent, loud = server.stateless(call(1, "wait")), server.stateless(call(1, "wait", progressToken=1))
    assert began.acquire(timeout=PATIENCE_SECONDS)
    assert began.acquire(timeout=PATIENCE_SECONDS)
    assert loud.message()["params"]["progress"] == 1

    silent.leave()
    loud.leave()

    assert cancelled.acquire(timeout=PATIENCE_SECONDS)
    assert cancelled.acquire(timeout=PATIENCE_SECONDS)
    silent.end()
    loud.end()
    assert silent.start is None


def test_a_call_that_waits_for_a_thread_is_dropped_when_its_client_disconnects(serve: Serve) -> None:
    """Ours: neither its request nor its place is kept until a thread is free."""
    gate, ran = Gate(), threading.Event()
    server = serve(Tools(gate=gate, run=lambda _: ran.set()), Limits(calls=1, waiting_calls=1))
    running = server.stateless(call(1, "gate"))
    gate.await_entered()
    waiting = server.stateless(call(2, "run"))
    wait_until(lambda: server.app.workers.waiting == 1)

    waiting.leave()
    waiting.end()

    assert server.app.workers.waiting == 0
    gate.open()
    running.reply()
    assert not ran.is_set()


def test_large_requests_do_not_wait_for_a_thread_in_any_number(serve: Serve) -> None:
    """Ours: 503, since each keeps its memory."""
    gate = Gate()
    server = serve(Tools(gate=gate), Limits(calls=1, waiting_bytes=25_000))
    first = [server.stateless(call(1, "gate"))]
    gate.await_entered()
    first.append(server.stateless(call(2, "gate", {"x": [{}] * 80})))
    wait_until(lambda: server.app.workers.waiting == 1)

    assert server.stateless(call(3, "gate", {"x": [{}] * 80})).reply().status == 503
    first.append(server.stateless(call(4, "gate")))
    wait_until(lambda: server.app.workers.waiting == 2)
    gate.open()
    assert [each.reply().status for each in first] == [200] * 3


def test_a_slow_client_slows_the_call_down(serve: Serve) -> None:
    """Ours: the messages of a call that reports without end are not collected without bound."""
    reported: list[int] = []

    def flood(running: Any) -> None:
        for number in range(10 * MAX_AHEAD):
            running.progress(number)
            reported.append(number)

    server = serve(Tools(flood=flood))
    asked = server.stateless(call(1, "flood", progressToken=1))
    asked.stop_reading()
    wait_until(lambda: len(reported) >= MAX_AHEAD)
    seen = len(reported)

    assert seen < 8 * MAX_AHEAD
    asked.read_again()
    assert len(asked.reply().messages) == 10 * MAX_AHEAD + 1


def test_a_call_whose_client_does_not_read_is_cancelled(serve: Serve) -> None:
    """Ours: its call is cancelled, so that its thread is free."""
    cancelled = threading.Event()

    def flood(running: Any) -> None:
        running.on_cancel(cancelled.set)
        for number in range(10 * MAX_AHEAD):
            running.progress(number)

    asked = serve(Tools(flood=flood), Limits(stalled_seconds=0.01)).stateless(call(1, "flood", progressToken=1))
    asked.stop_reading()

    assert cancelled.wait(PATIENCE_SECONDS)


def test_a_subscription_is_a_stream_until_the_server_ends(serve: Serve) -> None:
    """Spec 2026-07-28, MS-13: acknowledged first, then what was opted in to, and at the end a result."""
    provider = AgentProvider(Tools(), list_changes=True)
    server = serve(app_of(provider))
    asked = server.stateless(LISTEN)
    assert asked.message()["method"] == "notifications/subscriptions/acknowledged"

    provider.replace_agent(Tools(new=str))
    changed = asked.message()
    server.loop.call_soon_threadsafe(server.app.end_streams)

    assert changed["method"] == "notifications/tools/list_changed"
    assert changed["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "s"}
    assert asked.message()["id"] == "s"
    assert asked.ends()
    asked.end()


def test_notifications_for_a_subscriber_that_does_not_read_are_merged(serve: Serve) -> None:
    """Ours: a notification that it has not read yet covers the later changes too."""
    provider = AgentProvider(Tools(), list_changes=True)
    server = serve(app_of(provider))
    asked = server.stateless(LISTEN)
    asked.message()
    asked.stop_reading()

    for _ in range(1000):
        provider._listeners.announce(Change(("tools",)))
    asked.read_again()
    server.loop.call_soon_threadsafe(server.app.end_streams)

    methods = []
    while (message := asked.message()).get("id") != "s":
        methods.append(message["method"])
    assert set(methods) == {"notifications/tools/list_changed"}
    assert len(methods) < 100
    asked.end()


def test_subscriptions_beyond_the_limit_are_refused(serve: Serve) -> None:
    """Ours: 503, with Retry-After."""
    server = serve(Tools(), Limits(streams=1))
    first = server.stateless(LISTEN)
    first.message()

    reply = server.stateless(LISTEN).reply()

    assert (reply.status, reply.headers["retry-after"], reply.json["id"]) == (503, "2", "s")
    first.leave()
    first.end()
    assert server.stateless(LISTEN).message()["method"] == "notifications/subscriptions/acknowledged"


def test_calls_beyond_the_limit_are_refused(serve: Serve) -> None:
    """Ours: 503, with Retry-After; the running calls continue."""
    gate = Gate()
    server = serve(Tools(gate=gate), Limits(calls=1, waiting_calls=0))
    running = server.stateless(call(1, "gate"))
    gate.await_entered()

    reply = server.stateless(call(2, "gate")).reply()

    assert (reply.status, reply.headers["retry-after"], reply.json["id"]) == (503, "2", 2)
    gate.open()
    assert text_of(running.reply().json) == "through"


def test_a_task_subscription_is_an_event_stream(serve: Serve) -> None:
    """Extension, notifications/tasks."""
    accepts = with_capabilities(extensions={"io.modelcontextprotocol/tasks": {}})
    gate = Gate()
    server = serve(app_of(Tools(work=lambda running: running.continue_as_task() and gate())))
    task = server.stateless(call(1, "work", **accepts)).reply().json["result"]["taskId"]

    wanted = {"notifications": {"taskIds": [task]}}
    stream = server.stateless(stateless(2, "subscriptions/listen", wanted, **accepts))
    assert stream.message()["params"]["notifications"] == {"taskIds": [task]}
    assert stream.message()["params"]["status"] == "working"
    gate.open()

    assert stream.message()["params"]["result"]["content"][0]["text"] == "through"
    stream.leave()
    stream.end()


def test_open_subscriptions_are_counted(serve: Serve) -> None:
    """Ours: the metrics and the limit of streams depend on it."""
    server = serve(Tools())
    counted = server.app.endpoints["/mcp"].stateless

    asked = server.stateless(stateless("s", "subscriptions/listen", {"notifications": {}}))
    asked.message()

    assert counted.subscriptions == 1
    asked.leave()
    asked.end()
    assert counted.subscriptions == 0
