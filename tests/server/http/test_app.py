"""The ASGI app: endpoints, mounting, lifespan, and what a load balancer asks."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from gaia_mcp.contrib.agentvault.a2a_endpoint import TaskFront
from gaia_mcp.core.errors import AgentError
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.http import HttpApp, app_for
from gaia_mcp.server.http.app import new_metrics
from gaia_mcp.server.http.security import Hosts, JwtAuthorizer
from gaia_mcp.server.http.workers import Limits
from gaia_mcp.store import MemoryStore
from tests.server.http.asgi import Gate, Tools, app_of, text_of, with_capabilities
from tests.server.stores import FailingStore
from tests.server.talk import DISCOVER, call, stateless
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.server.http.asgi import Server

Serve = Callable[..., "Server"]
KEY, OTHER_KEY = "k" * 32, "o" * 32


class Lasting(Tools):
    """An agent that opens something."""

    def __init__(self) -> None:
        super().__init__(hi=lambda _: "hello")
        self.seen: list[str] = []

    def begin_mcp(self) -> None:
        self.seen.append("opened")

    def end_mcp(self) -> None:
        self.seen.append("closed")


def name_of(server: Server, path: str = "/mcp") -> str:
    meta = server.stateless(DISCOVER, path).reply().json["result"]["_meta"]
    found: str = meta["io.modelcontextprotocol/serverInfo"]["name"]
    return found


def test_an_app_serves_an_agent_by_name_class_instance_or_provider(serve: Serve) -> None:
    """Ours: `app_for` is called by programs, which may have any of them."""
    targets: list[Any] = ["demo", Lasting, Lasting(), AgentProvider(Lasting())]

    names = [name_of(serve(app_for(target, environ={}))) for target in targets]
    assert names == ["demo", "Lasting", "Lasting", "Lasting"]


def test_an_unknown_agent_raises_an_agent_error(serve: Serve) -> None:
    """Ours: as on the command line."""
    with pytest.raises(AgentError):
        app_for("no_such_agent", environ={})


def test_an_unknown_option_raises_a_type_error() -> None:
    """Ours: as an argument that a function does not have."""
    with pytest.raises(TypeError, match="'unknown'"):
        app_for("demo", unknown=True)


def test_several_agents_have_paths_of_their_own(serve: Serve) -> None:
    """Ours: `/NAME/mcp`, with and without a slash at the end."""
    server = serve(app_for({"one": "demo", "two": Lasting}, environ={}))

    assert name_of(server, "/one/mcp") == name_of(server, "/one/mcp/") == "demo"
    assert name_of(server, "/two/mcp") == "Lasting"
    assert server.stateless(DISCOVER).reply().status == 404


def test_each_agent_may_have_its_own_limit_of_running_calls(serve: Serve) -> None:
    """Ours: an agent that can run only one call does not delay the calls of another agent."""
    one, other = Gate(), Gate()
    providers = {"/one/mcp": AgentProvider(Tools(gate=one)), "/other/mcp": AgentProvider(Tools(gate=other))}
    app = HttpApp(
        providers, hosts=Hosts(), authorizer=None, limits=Limits(calls=2), store=MemoryStore(), calls={"/one/mcp": 1}
    )
    server = serve(app)
    asked = [server.stateless(call(number, "gate"), path) for number, path in enumerate([*providers, *providers])]
    one.await_entered()
    other.await_entered()
    other.await_entered()

    assert not one.entered.acquire(blocking=False)
    assert app.unfinished == 4
    one.open()
    other.open()
    assert [text_of(each.reply().json) for each in asked] == ["through"] * 4


def test_an_app_can_be_mounted_in_another(serve: Serve) -> None:
    """Ours: where nothing runs its lifespan, the first request opens the agent."""
    agent = Lasting()
    server = serve(Starlette(routes=[Mount("/tools", app=app_for(agent, environ={}))]))
    assert agent.seen == []

    assert name_of(server, "/tools/mcp") == "Lasting"
    assert name_of(server, "/tools/mcp") == "Lasting"
    assert agent.seen == ["opened"]


def test_the_lifespan_opens_and_closes_the_agent() -> None:
    """ASGI: for each once."""
    import asyncio

    agent = Lasting()
    app = app_for(agent, environ={})

    async def live() -> None:
        incoming: asyncio.Queue[Any] = asyncio.Queue()
        sent: asyncio.Queue[Any] = asyncio.Queue()
        running = asyncio.create_task(app({"type": "lifespan", "state": {}}, incoming.get, sent.put))
        await incoming.put({"type": "lifespan.startup"})
        assert (await sent.get())["type"] == "lifespan.startup.complete"
        assert agent.seen == ["opened"]
        await incoming.put({"type": "lifespan.shutdown"})
        assert (await sent.get())["type"] == "lifespan.shutdown.complete"
        await running

    asyncio.run(live())
    assert agent.seen == ["opened", "closed"]
    app.close()
    assert agent.seen == ["opened", "closed"]


def test_a_given_provider_is_neither_opened_nor_closed(serve: Serve) -> None:
    """Ours: its owner does that."""
    agent = Lasting()
    app = app_for(AgentProvider(agent), environ={})
    app.begin()
    app.begin()
    app.close()

    assert agent.seen == []


def test_health_and_readiness_are_reported(serve: Serve) -> None:
    """Ours: whether the process runs, and whether it would accept a call. Neither needs a token."""
    gate = Gate()
    server = serve(app_for(Tools(gate=gate), limits=Limits(calls=1, waiting_calls=0), token="t", environ={}))

    assert server.ask("GET", "/healthz").reply().body == b"ok\n"
    assert server.ask("GET", "/readyz").reply().status == 200
    running = server.stateless(call(1, "gate"), authorization="Bearer t")
    gate.await_entered()
    assert server.ask("GET", "/readyz").reply().status == 503
    gate.open()
    running.reply()
    server.app.end_streams()
    assert server.ask("GET", "/readyz").reply().status == 503
    assert server.ask("GET", "/healthz").reply().status == 200


def test_the_server_is_not_ready_while_the_store_does_not_answer(serve: Serve) -> None:
    """Ours: a load balancer sends requests elsewhere meanwhile."""
    store = FailingStore()
    server = serve(app_for("demo", store=store, environ={}))
    assert server.ask("GET", "/readyz").reply().status == 200
    store.failing.add("put")

    reply = server.ask("GET", "/readyz").reply()

    assert (reply.status, reply.body) == (503, b"the store does not answer\n")
    assert server.ask("GET", "/healthz").reply().status == 200


def test_the_server_is_not_ready_while_no_session_could_begin_or_no_call_could_ask(serve: Serve) -> None:
    """Ours: a full store still answers, and so does a server all of whose places to ask are taken."""
    full = serve(app_for(Tools(), store=MemoryStore(max_bytes=4096), environ={}))
    reply = full.ask("GET", "/readyz").reply()
    assert (reply.status, reply.body) == (503, b"the store is full\n")

    asking = serve(app_for(Tools(), limits=Limits(asking_calls=0), environ={}))
    assert asking.ask("GET", "/readyz").reply().body == b"busy\n"


def test_the_token_is_an_argument_or_in_the_environment(serve: Serve) -> None:
    """Ours: without it, 401."""
    for app in (app_for("demo", token="t", environ={}), app_for("demo", environ={"GAIA_MCP_TOKEN": "t"})):
        server = serve(app)
        assert server.stateless(DISCOVER).reply().status == 401
        assert server.stateless(DISCOVER, authorization="Bearer t").reply().status == 200
    assert serve(app_for("demo", environ={"GAIA_MCP_TOKEN": ""})).stateless(DISCOVER).reply().status == 200


def test_an_allowed_origin_gets_cors_headers(serve: Serve) -> None:
    """WHATWG Fetch: also for the preflight request; without the option there are no such headers."""
    server = serve(app_for("demo", origins=["https://app.example"], environ={}))
    asked = {"origin": "https://app.example", "access_control_request_method": "POST"}

    preflight = server.ask("OPTIONS", access_control_request_headers="mcp-param-x", **asked).reply()
    reply = server.stateless(DISCOVER, origin="https://app.example").reply()
    plain = serve(app_for("demo", environ={})).ask("OPTIONS", **asked).reply()

    assert preflight.headers["access-control-allow-origin"] == "https://app.example"
    assert "mcp-param-x" in preflight.headers["access-control-allow-headers"]
    assert "Mcp-Session-Id" in reply.headers["access-control-expose-headers"]
    assert "access-control-allow-origin" not in plain.headers


def test_hosts_can_be_allowed(serve: Serve) -> None:
    """Ours: behind a proxy, the server is addressed by the name of the proxy."""
    server = serve(app_for("demo", hosts=["mcp.example"], environ={}))

    assert server.stateless(DISCOVER, host="mcp.example").reply().status == 200


def test_workers_share_the_keys_of_request_states(serve: Serve) -> None:
    """Ours: the first seals, and each opens, so that keys can be replaced one after the other."""

    def app(keys: str) -> Server:
        return serve(
            app_for(Tools(ask=lambda running: running.sample("hm").text), environ={"GAIA_MCP_STATE_KEYS": keys})
        )

    old, new, stranger = app(KEY), app(f" {OTHER_KEY} ,{KEY},"), app(OTHER_KEY)
    first = old.stateless(call(1, "ask", **with_capabilities(sampling={}))).reply().json["result"]
    (name,) = first["inputRequests"]
    again = call(2, "ask", **with_capabilities(sampling={}))
    thought = {"role": "assistant", "content": {"type": "text", "text": "aha"}, "model": "m"}
    again["params"] |= {"requestState": first["requestState"], "inputResponses": {name: thought}}

    assert text_of(new.stateless(again).reply().json) == "aha"
    assert stranger.stateless(again).reply().error == -32602
    with pytest.raises(ValueError, match="32"):
        app_for("demo", environ={"GAIA_MCP_STATE_KEYS": "short"})


def test_a_request_state_is_refused_by_another_agent(serve: Serve) -> None:
    """MS-9: also at one address, with a tool of the same name and the same keys."""
    asks = Tools(ask=lambda running: running.sample("hm").text)
    server = serve(app_for({"a": asks, "b": asks}, environ={"GAIA_MCP_STATE_KEYS": KEY}))
    first = server.stateless(call(1, "ask", **with_capabilities(sampling={})), path="/a/mcp").reply().json["result"]
    again = call(2, "ask", **with_capabilities(sampling={}))
    thought = {"role": "assistant", "content": {"type": "text", "text": "aha"}, "model": "m"}
    answers = dict.fromkeys(first["inputRequests"], thought)
    again["params"] |= {"requestState": first["requestState"], "inputResponses": answers}

    assert server.stateless(again, path="/b/mcp").reply().error == -32602
    assert text_of(server.stateless(again, path="/a/mcp").reply().json) == "aha"


def test_workers_with_one_store_accept_the_request_states_of_each_other(serve: Serve) -> None:
    """Ours: without keys that were given."""
    store = FailingStore()
    agent = Tools(ask=lambda running: running.sample("hm").text)
    one, two = (serve(app_for(agent, store=store, environ={})) for _ in range(2))
    first = one.stateless(call(1, "ask", **with_capabilities(sampling={}))).reply().json["result"]
    (name,) = first["inputRequests"]
    again = call(2, "ask", **with_capabilities(sampling={}))
    thought = {"role": "assistant", "content": {"type": "text", "text": "aha"}, "model": "m"}
    again["params"] |= {"requestState": first["requestState"], "inputResponses": {name: thought}}

    assert text_of(two.stateless(again).reply().json) == "aha"


def test_sessions_are_saved_in_the_given_store(serve: Serve) -> None:
    """Ours: any worker that shares it finds them."""
    store = MemoryStore()
    one, two = (serve(app_for("demo", store=store, environ={})) for _ in range(2))
    session = one.open_session()

    assert two.send({"jsonrpc": "2.0", "id": 1, "method": "ping"}, **session).reply().json["result"] == {}
    one.app.close()
    assert two.send({"jsonrpc": "2.0", "id": 1, "method": "ping"}, **session).reply().json["result"] == {}


def test_a_task_outlives_its_request_and_is_found_by_any_worker(serve: Serve) -> None:
    """Extension; ours: its state is in the store, and the worker that runs it gets the updates of its client."""
    store = MemoryStore()
    form = {"type": "object", "properties": {"name": {"type": "string"}}}

    def ask(running: Any) -> str:
        running.continue_as_task()
        return str(running.elicit("Who?", form))

    one, two = (serve(app_of(Tools(ask=ask), store=store)) for _ in range(2))
    accepts = with_capabilities(elicitation={}, extensions={"io.modelcontextprotocol/tasks": {}})

    def about(method: str, **params: Any) -> Any:
        message = stateless(2, method, {"taskId": task, **params}, **accepts)
        return two.stateless(message, mcp_name=task).reply().json["result"]

    created = one.stateless(call(1, "ask", **accepts)).reply().json["result"]
    task = created["taskId"]
    assert created["resultType"] == "task"
    wait_until(lambda: about("tasks/get")["status"] == "input_required")
    (key,) = about("tasks/get")["inputRequests"]
    about("tasks/update", inputResponses={key: {"action": "decline"}})

    wait_until(lambda: about("tasks/get")["status"] == "completed")
    assert about("tasks/get")["result"]["content"][0]["text"] == "Declined()"


def test_closing_an_app_cancels_its_tasks(serve: Serve) -> None:
    """Ours: nothing is left running."""
    calls: list[Any] = []

    def work(running: Any) -> None:
        running.continue_as_task()
        calls.append(running)
        running.wait(3600)

    server = serve(app_of(Tools(work=work)))
    accepts = with_capabilities(extensions={"io.modelcontextprotocol/tasks": {}})
    assert server.stateless(call(1, "work", **accepts)).reply().json["result"]["resultType"] == "task"
    wait_until(lambda: calls)
    assert not calls[0].is_cancelled

    server.app.close()

    assert calls[0].is_cancelled


def test_the_protected_resource_metadata_is_served(serve: Serve) -> None:
    """RFC 9728: at the root and at the path; and an authorizer decides in the place of a token."""
    authorizer = JwtAuthorizer("https://127.0.0.1:9/jwks", "https://i.example", "https://a.example/mcp")
    server = serve(app_for("demo", authorizer=authorizer, token="t", environ={}))

    for path in ("/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"):
        assert server.ask("GET", path).reply().json["authorization_servers"] == ["https://i.example"]
    assert server.stateless(DISCOVER).reply().status == 401
    assert serve(app_for("demo", environ={})).ask("GET", path).reply().status == 404


def test_an_input_request_in_a_thread_of_a_tool_is_not_a_failure(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ours: as over stdio. The question ends the thread and the run."""
    reported: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", lambda ended: reported.append(ended.exc_type))

    def ask(running: Any) -> None:
        for target in (running.roots, lambda: 1 / 0):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()

    server = serve(app_for(Tools(ask=ask), environ={}))
    able = {"io.modelcontextprotocol/clientCapabilities": {"roots": {}}}

    assert server.stateless(call(1, "ask", **able)).reply().json["result"]["resultType"] == "input_required"
    assert reported == [ZeroDivisionError]


def test_metrics_cover_all_endpoints_and_dialects(serve: Serve) -> None:
    """Ours: requests of clients alone, and not what the server asks of an agent by itself."""
    server = serve(app_for({"one": "demo", "two": Tools(hi=lambda _: "hello")}, metrics=True, rpc=True, environ={}))
    server.stateless(call(1, "hi"), "/two/mcp").reply()
    server.send(b"{", "/one/mcp").reply()
    server.send({"jsonrpc": "2.0", "id": 1, "method": "hi", "params": {}}, "/two/rpc").reply()

    text = server.ask("GET", "/metrics").reply().body.decode()

    ran = 'gaia_mcp_requests_total{endpoint="/two/mcp",method="tools/call",outcome="ok",tool="hi"} 2.0'
    assert [line for line in text.splitlines() if line.startswith("gaia_mcp_requests_total")] == [ran]
    assert 'gaia_mcp_http_requests_total{endpoint="/two/rpc",method="POST",status="200"} 1.0' in text
    assert 'gaia_mcp_http_refused_total{endpoint="/one/mcp",reason="invalid"} 1.0' in text
    assert "gaia_mcp_sessions 0.0" in text
    server.app.close()


def test_the_a2a_endpoint_is_served_beside_mcp(serve: Serve) -> None:
    """Seed systems, C6: beside `/mcp`, and with the same tasks, metrics and end."""
    executing = AgentProvider(Tools(run=lambda _: "done"))
    server = serve(app_of(Tools(), fronts=[TaskFront("run", executing)], metrics=new_metrics()))
    request = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": "x"}}

    assert server.ask("GET", "/agent-card.json").reply().json["skills"][0]["id"] == "run"
    assert [server.send(request, path).reply().error for path in ("/a2a", "/a2a/")] == [-32001] * 2
    assert "gaia_mcp_streams 0.0" in server.ask("GET", "/metrics").reply().body.decode()
    server.app.end_streams()
    assert server.send(request, "/a2a").reply().status == 503
    assert server.ask("GET", "/readyz").reply().status == 503
