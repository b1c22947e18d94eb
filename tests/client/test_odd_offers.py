"""Servers that answer oddly when asked for what they offer, listeners that misbehave, and calls that are cancelled."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client import Host, MCPClient
from gaia_mcp.client.features import Completion
from gaia_mcp.deadline import Deadline
from gaia_mcp.errors import (
    CallCancelledError,
    CancelledError,
    DeadlineError,
    LocalProtocolError,
    NotOfferedError,
    PeerError,
    RemoteProtocolError,
    ServerExitedError,
)
from gaia_mcp.protocol.pagination import MAX_PAGES
from tests.client.test_features import ERAS
from tests.client.transports.talk import Message, Talk, error, in_thread, result
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.client.conftest import Started

    Answers = Callable[[Message], Any]
    Start = Callable[..., tuple[MCPClient, Talk]]

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
CAPABILITIES: Message = {
    "tools": {"listChanged": True},
    "prompts": {},
    "resources": {"subscribe": True},
    "completions": {},
    "logging": {},
}
URI = "file:///a"


def granted(asked: Message, *uris: Any) -> Message:
    """The answer that grants a subscription to these resources."""
    params = {"notifications": {"resourceSubscriptions": list(uris)}, "_meta": {SUBSCRIPTION: asked["id"]}}
    return {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}


def updated(uri: Any, **meta: Any) -> Message:
    params = {"uri": uri, "_meta": meta} if meta else {"uri": uri}
    return {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params}


def changed(kind: str) -> Message:
    return {"jsonrpc": "2.0", "method": f"notifications/{kind}/list_changed"}


def usual(message: Message) -> Any:
    """Grants every subscription and knows one resource."""
    method, params = message["method"], message.get("params", {})
    if method == "subscriptions/listen":
        uris = params["notifications"].get("resourceSubscriptions", [])
        return [granted(message, *uris)]
    return {"contents": []} if method == "resources/read" else {}


@pytest.fixture(params=ERAS)
def talk(request: pytest.FixtureRequest) -> Start:
    """Connects a client to a function in each era. It returns a result, or messages, or nothing."""

    def start(answers: Answers = usual, capabilities: Any = CAPABILITIES, **options: Any) -> tuple[MCPClient, Talk]:
        def script(message: Message) -> list[Message]:
            method = message.get("method")
            if method == "server/discover" and request.param == ERAS[0]:
                found = {"resultType": "complete", "supportedVersions": [ERAS[0]], "capabilities": capabilities}
                return [result(message, {**found, "ttlMs": 0, "cacheScope": "private"})]
            if method == "server/discover":
                return [error(message, -32601, "Method not found")]
            if method == "initialize":
                return [result(message, {"protocolVersion": request.param, "capabilities": capabilities})]
            if "id" not in message or method is None:
                return []
            answer = answers(message)
            return answer if isinstance(answer, list) else [] if answer is None else [result(message, answer)]

        conversation = Talk(script)
        client = MCPClient("odd", conversation, timeout=5, **options)
        client.open()
        conversation.sent.clear()
        assert client.protocol_version == request.param
        return client, conversation

    return start


def is_stateless(client: MCPClient) -> bool:
    return client.protocol_version == ERAS[0]


# What is listed.

LISTS = pytest.mark.parametrize(
    ("method", "member", "key"),
    [
        ("list_prompts", "prompts", "name"),
        ("list_resources", "resources", "uri"),
        ("list_resource_templates", "resourceTemplates", "uriTemplate"),
    ],
)


@LISTS
def test_what_is_no_item_is_left_out_and_told(talk: Start, method: str, member: str, key: str) -> None:
    """Ours: one bad item must not hide the others."""
    bad = [None, 7, "x", [], {}, {key: 7}, {key: None}]
    client, _ = talk(lambda _: {member: [*bad, {key: "good", "size": "odd", "arguments": 7}]})

    assert getattr(client, method)() == [{key: "good", "size": "odd", "arguments": 7}]
    assert len(client.tool_problems) == len(bad)
    assert all(key in problem for problem in client.tool_problems)


@LISTS
@pytest.mark.parametrize("page", [None, "x", 7, {}])
def test_a_page_without_a_list_is_an_empty_one(talk: Start, method: str, member: str, key: str, page: Any) -> None:
    """Ours: noted, as it is with tools."""
    client, _ = talk(lambda _: {} if page is None else {member: page})

    assert getattr(client, method)() == []
    assert len(client.tool_problems) == 1


@LISTS
@pytest.mark.parametrize("cursor", [7, {}, ["x"], True])
def test_a_cursor_that_is_none_ends_the_list(talk: Start, method: str, member: str, key: str, cursor: Any) -> None:
    """Ours: what came is kept."""
    client, _ = talk(lambda _: {member: [{key: "a"}], "nextCursor": cursor})

    assert getattr(client, method)() == [{key: "a"}]
    assert len(client.tool_problems) == 1


def test_a_huge_list_is_read_to_its_end(talk: Start) -> None:
    """Ours: also one that comes in a single page."""
    client, _ = talk(lambda _: {"resources": [{"uri": f"x://{number}", "name": "x"} for number in range(20_000)]})

    assert len(client.list_resources()) == 20_000
    assert client.tool_problems == []


def test_a_list_that_never_ends_is_ended(talk: Start) -> None:
    """Ours: each page has another cursor, and what came so far is there."""

    def answers(message: Message) -> Message:
        here = int(message.get("params", {}).get("cursor", "0"))
        return {"prompts": [{"name": str(here)}], "nextCursor": str(here + 1)}

    client, conversation = talk(answers)

    assert [prompt["name"] for prompt in client.list_prompts()] == [str(number) for number in range(MAX_PAGES)]
    assert len(conversation.sent) == MAX_PAGES
    assert len(client.tool_problems) == 1


def test_a_list_that_is_refused_is_an_error(talk: Start) -> None:
    """Spec, errors: with the server's own code."""
    client, _ = talk(lambda message: [error(message, -32603, "no list today")])

    with pytest.raises(PeerError, match="no list today") as caught:
        client.list_prompts()

    assert caught.value.code == -32603


# What is fetched.


@pytest.mark.parametrize("value", [None, 7, "x", {}, ["x"], [None], [{"role": "user", "content": {}}, 7]])
def test_an_answer_of_the_wrong_form_is_a_breach(talk: Start, value: Any) -> None:
    """Ours: a typed error with the server's name, rather than a TypeError in whoever reads it."""
    client, _ = talk(lambda _: {"messages": value, "contents": value})

    for ask in (lambda: client.get_prompt("p"), lambda: client.read_resource("x://")):
        with pytest.raises(RemoteProtocolError, match="'odd' answered"):
            ask()


def test_what_is_odd_inside_is_handed_over_as_it_came(talk: Start) -> None:
    """Ours: nobody can tell what a later revision puts there."""
    inside = [{}, {"role": 7, "content": "text"}, {"uri": None, "blob": "no base64!"}]
    client, _ = talk(lambda _: {"messages": inside, "contents": inside, "description": 7})

    assert client.get_prompt("p")["messages"] == inside
    assert client.read_resource("x://")["contents"] == inside


@pytest.mark.parametrize("found", [None, 7, "x", [], {}, {"values": None}, {"values": "abc"}, {"values": {"a": 1}}])
def test_a_completion_without_values_is_a_breach(talk: Start, found: Any) -> None:
    """Ours."""
    client, _ = talk(lambda _: {"completion": found})

    with pytest.raises(RemoteProtocolError, match="'odd' answered"):
        client.complete({"type": "ref/prompt", "name": "p"}, "a", "")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"values": []}, Completion([], None, has_more=False)),
        ({"values": ["a", None, 7, ["b"], {}, "c"]}, Completion(["a", "c"], None, has_more=False)),
        ({"values": [], "total": "7", "hasMore": "yes"}, Completion([], None, has_more=False)),
        ({"values": [], "total": True, "hasMore": 1}, Completion([], None, has_more=False)),
        ({"values": [], "total": 2.5, "hasMore": None}, Completion([], None, has_more=False)),
        ({"values": [], "total": 0, "hasMore": True}, Completion([], 0, has_more=True)),
    ],
)
def test_what_is_odd_in_a_completion_is_left_out(talk: Start, found: Any, expected: Completion) -> None:
    """Ours: the rest is of use."""
    client, _ = talk(lambda _: {"completion": found})

    assert client.complete({"type": "ref/prompt", "name": "p"}, "a", "") == expected


def test_a_completion_of_very_many_values_is_kept(talk: Start) -> None:
    """Ours: the specification's hundred is a limit for servers."""
    client, _ = talk(lambda _: {"completion": {"values": ["x"] * 5000}})

    assert len(client.complete({"type": "ref/prompt", "name": "p"}, "a", "").values) == 5000


@pytest.mark.parametrize("broken", [None, 7, "x", [1]])
def test_a_result_that_is_no_object_is_a_breach(talk: Start, broken: Any) -> None:
    """Spec, JSON-RPC: a result of MCP is an object."""
    client, _ = talk(lambda message: [{"jsonrpc": "2.0", "id": message["id"], "result": broken}])

    for ask in (
        client.list_prompts,
        lambda: client.read_resource("x://"),
        lambda: client.complete({"type": "ref/prompt", "name": "p"}, "a", ""),
        lambda: client.subscribe_resource(URI),
    ):
        with pytest.raises(RemoteProtocolError, match="'odd' answered"):
            ask()


def test_a_log_level_that_there_is_not_is_not_asked_for(talk: Start) -> None:
    """Spec 2026-07-28: it would go into every request from then on, and have each of them refused."""
    client, conversation = talk()

    with pytest.raises(LocalProtocolError, match="'loud'"):
        client.set_log_level("loud")
    client.read_resource("x://")

    assert conversation.methods() == ["resources/read"]
    assert "loud" not in str(conversation.sent)


# Subscriptions.


def subscriptions_sent(conversation: Talk) -> list[str]:
    methods = ("subscriptions/listen", "resources/subscribe")
    return [method for method in conversation.methods() if method in methods]


@pytest.mark.parametrize("offer", [{}, {"subscribe": False}, {"subscribe": "yes"}, None, 7])
def test_a_server_that_tells_of_no_changes_is_not_asked_to(talk: Start, offer: Any) -> None:
    """Spec, resources: `subscribe` is a capability of its own (LC-3)."""
    client, conversation = talk(capabilities={"resources": offer})

    with pytest.raises(NotOfferedError) as caught:
        client.subscribe_resource(URI)

    assert (caught.value.offer, conversation.sent) == ("subscriptions", [])


def test_a_resource_that_is_subscribed_to_twice_is_told_once(talk: Start) -> None:
    """Ours: each listening of 2026-07-28 would be told of each change."""
    client, conversation = talk()

    client.subscribe_resource(URI)
    client.subscribe_resource(URI)
    assert len(subscriptions_sent(conversation)) == 1
    client.unsubscribe_resource(URI)
    client.subscribe_resource(URI)

    assert len(subscriptions_sent(conversation)) == 2


def test_changes_that_belong_to_no_subscription_are_not_told(talk: Start) -> None:
    """Spec 2026-07-28, MC-9: routed by the id of the subscription; one that was given up may still be under way."""
    heard: list[str] = []
    client, conversation = talk()
    client.on_resource_updated = heard.append
    client.subscribe_resource(URI)
    if not is_stateless(client):
        return
    number = conversation.sent[0]["id"]

    conversation.arrives(updated(URI, **{SUBSCRIPTION: number + 7}))
    conversation.arrives(updated(URI, **{SUBSCRIPTION: str(number)}))
    assert heard == []
    conversation.arrives(updated(URI, **{SUBSCRIPTION: number}))
    client.unsubscribe_resource(URI)
    conversation.arrives(updated(URI, **{SUBSCRIPTION: number}))

    assert heard == [URI]


def test_a_part_of_what_was_subscribed_to_is_told(talk: Start) -> None:
    """Spec, resources: the uri may be that of a sub-resource. What is no uri is passed over."""
    heard: list[str] = []
    client, conversation = talk()
    client.on_resource_updated = heard.append
    client.subscribe_resource(URI)

    for uri in (f"{URI}/part", 7, None, ["x"], {}):
        conversation.arrives(updated(uri))
    conversation.arrives({"jsonrpc": "2.0", "method": "notifications/resources/updated"})

    assert heard == [f"{URI}/part"]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"notifications": None},
        {"notifications": 7},
        {"notifications": [URI]},
        {"notifications": {"resourceSubscriptions": URI}},
        {"notifications": {"resourceSubscriptions": {URI: True}}},
        {"notifications": {"resourceSubscriptions": [[URI], None]}},
    ],
)
def test_a_grant_of_the_wrong_form_is_none(talk: Start, params: Message) -> None:
    """Spec 2026-07-28, MC-9; and the listening is given up."""

    def answers(message: Message) -> Any:
        if message["method"] != "subscriptions/listen":
            return {}
        meta = {SUBSCRIPTION: message["id"]}
        notification = "notifications/subscriptions/acknowledged"
        return [{"jsonrpc": "2.0", "method": notification, "params": {**params, "_meta": meta}}]

    client, conversation = talk(answers)
    if not is_stateless(client):
        client.subscribe_resource(URI)  # Any result is a grant there.
        return

    with pytest.raises(RemoteProtocolError, match="acknowledged a subscription without"):
        client.subscribe_resource(URI)

    assert conversation.methods()[-1] == "notifications/cancelled"


@pytest.mark.parametrize("meta", [None, 7, {}, {SUBSCRIPTION: None}, {SUBSCRIPTION: {}}, {SUBSCRIPTION: "other"}])
def test_a_server_that_never_acknowledges_is_not_waited_for(talk: Start, meta: Any) -> None:
    """Ours: the caller's deadline holds, nothing is left open, and a grant that comes too late grants nothing."""
    notification = {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged"}
    unknown = {**notification, "params": {"notifications": {"resourceSubscriptions": [URI]}, "_meta": meta}}
    heard: list[str] = []
    client, conversation = talk(lambda message: [unknown])
    client.on_resource_updated = client.on_subscription_ended = heard.append

    with pytest.raises(DeadlineError):
        client.subscribe_resource(URI, Deadline(0.05))

    asked, cancelled = conversation.sent
    assert asked["method"] in ("subscriptions/listen", "resources/subscribe")
    assert (cancelled["method"], cancelled["params"]["requestId"]) == ("notifications/cancelled", asked["id"])
    late = granted(asked, URI) if is_stateless(client) else result(asked, {})
    conversation.arrives(late)
    conversation.arrives(result(asked, {}))
    assert heard == []
    assert not client._subscribed


def test_a_subscription_that_is_waited_for_can_be_cancelled(talk: Start) -> None:
    """Ours: from another thread, and the server is told."""
    client, conversation = talk(lambda _: None)
    deadline = client.deadline()
    thread, outcomes = in_thread(lambda: client.subscribe_resource(URI, deadline))
    wait_until(lambda: conversation.sent)

    deadline.cancel()
    thread.join(5)

    assert [type(outcome) for outcome in outcomes] == [CancelledError]
    assert conversation.methods()[1:] == ["notifications/cancelled"]


def test_a_subscription_that_ends_as_soon_as_it_is_granted_can_be_made_again(talk: Start) -> None:
    """Ours: it must not be remembered as one that is there."""
    ended: list[str] = []

    def answers(message: Message) -> Any:
        if message["method"] != "subscriptions/listen":
            return {}
        return [granted(message, URI), result(message, {"resultType": "complete"})]

    client, conversation = talk(answers)
    client.on_subscription_ended = ended.append

    client.subscribe_resource(URI)
    client.subscribe_resource(URI)

    assert ended == ([URI, URI] if is_stateless(client) else [])
    assert len(subscriptions_sent(conversation)) == (2 if is_stateless(client) else 1)


def test_a_subscription_that_was_refused_can_be_asked_for_again(talk: Start) -> None:
    """Ours: nothing of it is remembered."""
    answers: list[Any] = [lambda message: [error(message, -32602, "not yet")], usual]
    client, conversation = talk(lambda message: answers.pop(0)(message))

    with pytest.raises(PeerError, match="not yet"):
        client.subscribe_resource(URI)
    client.subscribe_resource(URI)

    assert len(subscriptions_sent(conversation)) == 2


def test_unsubscribing_leaves_alone_whoever_still_waits_for_a_grant(talk: Start) -> None:
    """Ours: another thread's request must not lose its answer."""
    client, conversation = talk(lambda message: {} if message["method"] == "resources/unsubscribe" else None)
    thread, outcomes = in_thread(lambda: client.subscribe_resource(URI))
    wait_until(lambda: conversation.sent)
    asked = conversation.sent[0]

    client.unsubscribe_resource(URI)
    conversation.arrives(granted(asked, URI) if is_stateless(client) else result(asked, {}))
    thread.join(5)

    assert outcomes == [None]


# Listeners.


def raising(_: str) -> None:
    raise ZeroDivisionError("a listener's own mistake")


def test_a_listener_that_fails_does_not_stop_the_reading(talk: Start, caplog: pytest.LogCaptureFixture) -> None:
    """Ours: it is logged, and everybody else is served."""
    client, conversation = talk()
    client.on_list_changed = client.on_resource_updated = client.on_subscription_ended = raising
    client.subscribe_resource(URI)
    asked = conversation.sent[-1]

    conversation.arrives(changed("tools"))
    conversation.arrives(updated(URI))
    conversation.arrives(result(asked, {}))

    assert client.read_resource("x://")["contents"] == []
    assert sum(record.levelno == logging.ERROR for record in caplog.records) == (3 if is_stateless(client) else 2)


@pytest.mark.parametrize("era", ERAS)
def test_a_listener_that_fails_does_not_end_the_call_that_connects_again(
    start_server: Started, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Ours: the call is somebody else's."""
    client = start_server("offers", era)
    client.on_resource_updated = raising
    client.subscribe_resource("file:///a")
    with pytest.raises(ServerExitedError):
        client.call("die", {})

    assert client.call("list", {})["content"][0]["text"] == "file:///a"

    assert any(record.exc_info for record in caplog.records)


ASKING = pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.read_resource("x://"),
        lambda client: client.list_prompts(),
        lambda client: client.fetch_tools(),
        lambda client: client.find_tool("x"),
        lambda client: client.call("x", {}),
        lambda client: client.check_alive(),
        lambda client: client.set_log_level("info"),
        lambda client: client.subscribe_resource("x://"),
        lambda client: client.unsubscribe_resource(URI),
    ],
)


@ASKING
def test_a_listener_that_asks_the_same_client_is_refused_at_once(talk: Start, ask: Callable[[MCPClient], Any]) -> None:
    """Ours: it is called where the answers are read. Also while another thread asks for the tools."""
    client, conversation = talk(lambda _: None)
    thread, tools = in_thread(client.fetch_tools)
    wait_until(lambda: "tools/list" in conversation.methods())
    refused: list[Exception] = []

    def listener(_: str) -> None:
        try:
            ask(client)
        except LocalProtocolError as problem:
            refused.append(problem)

    client.on_list_changed = client.on_resource_updated = listener
    before = conversation.methods()
    conversation.arrives(changed("prompts"))
    conversation.arrives(updated(URI))

    assert len(refused) == 2
    assert conversation.methods() == before
    asked = next(message for message in conversation.sent if message["method"] == "tools/list")
    conversation.arrives(result(asked, {"tools": []}))
    thread.join(5)
    assert tools == [[]]


@ASKING
@pytest.mark.parametrize("era", ERAS)
def test_a_listener_that_asks_where_the_server_is_connected_to_again_is_refused_too(
    start_server: Started, era: str, ask: Callable[[MCPClient], Any]
) -> None:
    """Ours: the same wherever it is called."""
    client = start_server("offers", era)
    refused: list[Exception] = []

    def listener(_: str) -> None:
        try:
            ask(client)
        except LocalProtocolError as problem:
            refused.append(problem)

    client.subscribe_resource(URI)
    client.on_resource_updated = listener
    with pytest.raises(ServerExitedError):
        client.call("die", {})

    assert client.call("list", {})["content"][0]["text"] == URI
    assert len(refused) == 1


@pytest.mark.parametrize("era", ERAS)
def test_a_listener_may_have_another_thread_ask(start_server: Started, era: str) -> None:
    """Ours: that is what the refusal advises."""
    client = start_server("offers", era)
    read: list[Any] = []

    def listener(uri: str) -> None:
        threading.Thread(target=lambda: read.append(client.read_resource(uri))).start()

    client.on_resource_updated = listener
    client.subscribe_resource(URI)
    client.call("touch", {})

    wait_until(lambda: read)
    assert read[0]["contents"] == [{"uri": URI, "text": "hello"}]


def test_changed_lists_are_heard_by_who_listens_from_the_start(talk: Start) -> None:
    """Ours: the same in both eras, though only the older one announces them unasked."""
    heard: list[str] = []
    conversation = talk()[1]
    client = MCPClient("odd", conversation, timeout=5)
    client.on_list_changed = heard.append

    client.open()

    listening = [message for message in conversation.sent if message.get("method") == "subscriptions/listen"]
    assert [message["params"]["notifications"] for message in listening] == (
        [{"toolsListChanged": True}] if is_stateless(client) else []
    )
    conversation.arrives(changed("tools"))
    assert heard == ["tools"]


def test_changed_lists_are_heard_by_who_has_asked_for_one(talk: Start) -> None:
    """Ours: before it is read, so that no change falls in between. Who does not listen causes no traffic."""
    client, conversation = talk(lambda message: {"prompts": []} if message["method"] == "prompts/list" else [])
    client.list_prompts()
    assert conversation.methods() == ["prompts/list"]
    conversation.sent.clear()
    client.on_list_changed = raising

    client.list_prompts()
    client.list_prompts()

    first = ["subscriptions/listen"] if is_stateless(client) else []
    assert conversation.methods() == [*first, "prompts/list", "prompts/list"]


# Cancelling.


@pytest.mark.parametrize("era", ERAS)
def test_a_call_that_was_cancelled_before_it_began_ends_at_once(start_server: Started, era: str) -> None:
    """Ours: the deadline has passed, for every request that it is given to."""
    client = start_server("offers", era)
    deadline = client.deadline()
    deadline.cancel()
    deadline.cancel()

    for ask in (
        lambda: client.call("hang", {}, deadline),
        lambda: client.read_resource("file:///a", deadline),
        lambda: client.list_prompts(deadline),
        lambda: client.subscribe_resource("file:///a", deadline),
    ):
        with pytest.raises(CancelledError):
            ask()

    assert client.call("list", {})["content"][0]["text"] == ""


@pytest.mark.parametrize("era", ERAS)
def test_cancelling_what_is_done_changes_nothing(start_server: Started, era: str) -> None:
    """Ours."""
    client = start_server("offers", era)
    deadline = client.deadline()
    client.subscribe_resource(URI, deadline)

    deadline.cancel()

    assert client.call("list", {})["content"][0]["text"] == URI
    assert "notifications/cancelled" not in start_server.notes("offers")


@pytest.mark.parametrize("era", ERAS)
def test_of_several_calls_only_the_cancelled_one_ends(start_server: Started, era: str) -> None:
    """Ours: threads share a client, and each has a deadline of its own."""
    client = start_server("offers", era)
    deadlines = [client.deadline() for _ in range(4)]
    running = [in_thread(lambda deadline=deadline: client.call("hang", {}, deadline)) for deadline in deadlines]
    wait_until(lambda: start_server.notes("offers").count("tools/call hang") == 4)

    deadlines[2].cancel()
    running[2][0].join(5)

    assert [len(outcomes) for _, outcomes in running] == [0, 0, 1, 0]
    assert client.read_resource(URI)["contents"]
    for deadline in deadlines:
        deadline.cancel()
    for thread, outcomes in running:
        thread.join(5)
        assert [type(outcome) for outcome in outcomes] == [CallCancelledError]
    wait_until(lambda: start_server.notes("offers").count("notifications/cancelled") == 4)
    assert client.call("list", {})


@pytest.mark.parametrize("era", ERAS)
def test_a_deadline_of_several_threads_ends_all_their_requests(start_server: Started, era: str) -> None:
    """Ours: what a program does together it can give up together."""
    client = start_server("offers", era)
    deadline = client.deadline()
    running = [in_thread(lambda: client.call("hang", {}, deadline)) for _ in range(3)]
    wait_until(lambda: start_server.notes("offers").count("tools/call hang") == 3)

    deadline.cancel()

    for thread, outcomes in running:
        thread.join(5)
        assert [type(outcome) for outcome in outcomes] == [CallCancelledError]


def test_a_call_can_be_cancelled_while_a_person_is_asked(start_server: Started) -> None:
    """Ours: the clock stands still then, but nobody is kept waiting who no longer wants the answer."""
    asked, answered = threading.Event(), threading.Event()

    def sample(_params: dict[str, Any]) -> dict[str, Any]:
        asked.set()
        answered.wait(5)
        return {"role": "assistant", "content": {"type": "text", "text": "Yes."}, "model": "m"}

    client = start_server("asks_sampling", host=Host(sample=sample))
    deadline = client.deadline()
    thread, outcomes = in_thread(lambda: client.call("ask", {}, deadline))
    assert asked.wait(5)

    deadline.cancel()
    thread.join(5)
    answered.set()

    assert [type(outcome) for outcome in outcomes] == [CallCancelledError]
