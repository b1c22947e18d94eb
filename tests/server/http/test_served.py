"""The shared state of the calls of one endpoint: description, threads, and the headers of parameters."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any

from gaia_mcp.asking.sealing import Sealer
from gaia_mcp.protocol.server import Description
from gaia_mcp.server.agent import AgentProvider
from gaia_mcp.server.http.served import Served
from gaia_mcp.server.http.workers import Limits, Workers
from gaia_mcp.server.provider import Change, Listener, RequestError
from gaia_mcp.server.tasks import Tasks
from tests.server.agents_under_test import Plain
from tests.server.http.asgi import Gate, Tools, app_of, text_of
from tests.server.stores import FailingStore
from tests.server.talk import DISCOVER, call, stateless
from tests.waiting import wait_until

if TYPE_CHECKING:
    from tests.server.http.asgi import Server

Serve = Callable[..., "Server"]


def tool(name: str, header: Any = "Region") -> dict[str, Any]:
    properties = {"region": {"type": "string", "x-mcp-header": header}}
    return {"name": name, "description": "", "inputSchema": {"type": "object", "properties": properties}}


class Pages:
    """A provider with one tool on each page, which cannot list them once in a while."""

    def __init__(self, *tools: dict[str, Any]) -> None:
        self.tools = tools
        self.lists = 0
        self.fails = False
        self.while_listing: Callable[[], None] = lambda: None
        self.listener: Any = None

    def describe(self) -> Description:
        return Description({"name": "pages", "version": ""}, {"tools": {}})

    def answer(self, method: str, params: dict[str, Any], call: Any) -> dict[str, Any]:
        if method == "tools/call":
            return {"content": []}
        self.lists += 1
        if self.fails:
            raise RequestError("not now")
        self.while_listing()
        at = int(params.get("cursor", 0))
        page: dict[str, Any] = {"tools": [self.tools[at]]}
        return page | ({"nextCursor": str(at + 1)} if at + 1 < len(self.tools) else {})

    def on_change(self, listener: Any, wanted: Any = ()) -> Callable[[], None]:
        self.listener = self.listener or listener
        return lambda: None

    def close(self) -> None:
        pass


def status(server: Server, name: str, region: str | None, **headers: str) -> int:
    arguments = {} if region is None else {"region": region}
    return server.stateless(call(1, name, arguments), **headers).reply().status


def test_a_parameter_header_must_match_its_argument(serve: Serve) -> None:
    """Spec 2026-07-28, HS-5: 400 with -32020."""
    server = serve(Plain(tool("there"), {"name": "plain", "description": "", "inputSchema": {"type": "object"}}))

    assert status(server, "there", "us", mcp_param_region="us") == 200
    reply = server.stateless(call(1, "there", {"region": "us"})).reply()
    assert (reply.status, reply.error) == (400, -32020)
    assert status(server, "there", "us", mcp_param_region="eu") == 400
    assert status(server, "there", None, mcp_param_region="eu") == 400
    assert status(server, "there", None) == 200
    assert status(server, "plain", "us", mcp_param_region="eu") == 200
    assert server.stateless(stateless(1, "tools/list"), mcp_param_region="eu").reply().status == 200
    assert server.stateless(stateless(1, "tools/call", {"name": ["there"]})).reply().status == 200


def test_the_tools_of_all_pages_are_listed_once(serve: Serve) -> None:
    """Ours: a header costs no list for each call."""
    provider = Pages(tool("one"), tool("broken", 7), tool("two"))
    server = serve(app_of(provider))

    assert status(server, "one", "us") == 400
    assert status(server, "two", "us") == 400
    assert status(server, "broken", "us") == 200
    assert provider.lists == 3


def test_a_changed_list_of_tools_changes_the_parameter_headers(serve: Serve) -> None:
    """Ours: a call with the headers of the previous list would be refused."""
    provider = AgentProvider(Plain(tool("there")), list_changes=True)
    server = serve(app_of(provider))
    assert status(server, "there", "us") == 400

    provider.replace_agent(Plain(tool("there", "Area"), *[]))

    wait_until(lambda: status(server, "there", "us", mcp_param_area="us") == 200)
    assert status(server, "there", "us", mcp_param_region="us") == 400


def test_a_list_that_changes_while_it_is_read_is_read_again(serve: Serve) -> None:
    """Ours: its pages may belong to two different lists."""
    provider = Pages(tool("one"))
    server = serve(app_of(provider))
    provider.while_listing = lambda: provider.listener(Change(("tools",)))
    status(server, "one", "us")
    provider.while_listing = lambda: None

    status(server, "one", "us")
    status(server, "one", "us")

    assert provider.lists == 2


def test_a_failing_list_of_tools_does_not_prevent_a_call(serve: Serve) -> None:
    """Ours: an agent's own code may raise; its client learns of that when it asks for the list."""
    provider = Pages(tool("one"))
    provider.fails = True

    assert status(serve(app_of(provider)), "one", "us") == 200


def test_the_description_is_updated_after_a_change(serve: Serve) -> None:
    """Ours: it is not asked for it in the event loop."""
    provider = AgentProvider(Tools(), list_changes=True)
    server = serve(app_of(provider))

    class Named(Tools):
        def get_mcp_server_info(self) -> dict[str, Any]:
            return {"name": "named", "version": "2"}

    provider.replace_agent(Named())

    def name() -> Any:
        meta = server.stateless(DISCOVER).reply().json["result"]["_meta"]
        return meta["io.modelcontextprotocol/serverInfo"]["name"]

    wait_until(lambda: name() == "named")


def test_a_provider_that_fails_to_describe_itself_keeps_its_description(serve: Serve) -> None:
    """Ours: an agent's own code may raise; one line is for the log."""
    failures: list[str] = []
    provider = Pages(tool("one"))
    server = serve(app_of(provider, on_failure=lambda what, _: failures.append(what)))

    def describe() -> Description:
        raise OSError("odd")

    provider.describe = describe  # type: ignore[method-assign]
    provider.listener(Change(("tools",)))

    assert server.stateless(DISCOVER).reply().status == 200
    assert failures == ["describing the server after a change raised OSError: odd"]


def test_an_exception_of_the_provider_is_reported(serve: Serve) -> None:
    """Ours: one line for the log."""
    failures: list[str] = []

    class Odd(Pages):
        def answer(self, method: str, params: dict[str, Any], call: Any) -> dict[str, Any]:
            raise OSError("odd")

    server = serve(app_of(Odd(), on_failure=lambda what, _: failures.append(what)))

    assert server.stateless(stateless(1, "tools/list")).reply().error == -32603
    assert failures == ["tools/list raised OSError: odd"]


def test_calls_beyond_the_limit_are_refused(serve: Serve) -> None:
    """Ours: 503."""
    gate = Gate()
    server = serve(Tools(gate=gate), Limits(calls=1, waiting_calls=0))
    running = server.stateless(call(1, "gate"))
    gate.await_entered()

    assert server.stateless(call(2, "gate")).reply().status == 503
    gate.open()
    running.reply()


def test_a_change_of_another_list_keeps_the_parameter_headers(serve: Serve) -> None:
    """Ours: reading the list of tools again would cost a request for each change."""
    provider = Pages(tool("one"))
    server = serve(app_of(provider))
    status(server, "one", "us")
    provider.listener(Change(("prompts",), ("a:b",)))
    provider.listener(Change((), ("a:b",)))
    status(server, "one", "us")

    assert provider.lists == 1


def test_a_change_in_one_worker_is_announced_in_the_others() -> None:
    """Ours: with a new description, as here; and until the end of either side."""
    store = FailingStore()
    providers = [AgentProvider(Tools(), list_changes=True) for _ in range(2)]
    here, there = (
        Served(each, Workers(1, 1, 1), Limits(), Sealer(), Tasks(store), store=store, path="/mcp") for each in providers
    )
    heard: list[Change] = []
    for each in (here, there):
        each.open()
    end = there.on_change(heard.append)
    before = there.describe()

    providers[0].replace_agent(Tools())

    wait_until(lambda: heard)
    assert set(heard[0].lists) == {"tools", "prompts", "resources"}
    assert there.describe() is not before
    end()
    for each in (here, there):
        each.close()
    assert not store._listeners
    for provider in providers:
        provider.close()


class Followed(AgentProvider):
    """Counts who follows its changes."""

    following = 0

    def on_change(self, listener: Listener, wanted: Container[str] = ()) -> Callable[[], None]:
        end = super().on_change(listener, wanted)
        self.following += 1

        def counted() -> None:
            self.following -= 1
            end()

        return counted


def test_only_a_subscription_listens_to_changes_of_the_provider(serve: Serve) -> None:
    """Ours: a request that ends with its response cannot send notifications later."""
    provider = Followed(Tools(hi=lambda _: provider.following), list_changes=True)
    server = serve(app_of(provider))
    by_server = provider.following

    assert text_of(server.stateless(call(1, "hi")).reply().json) == str(by_server)
    asked = server.stateless(stateless("s", "subscriptions/listen", {"notifications": {"toolsListChanged": True}}))
    asked.message()
    assert provider.following == by_server + 1
    asked.leave()
    asked.end()
    wait_until(lambda: provider.following == by_server)
