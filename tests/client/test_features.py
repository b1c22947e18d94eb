"""What a server offers beside tools, asked of real processes in both eras, and of servers that answer oddly."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client import Host, MCPClient
from gaia_mcp.client.features import Completion
from gaia_mcp.errors import (
    ConnectionLostError,
    DeadlineError,
    LocalProtocolError,
    NotConnectedError,
    NotSupportedError,
    PeerError,
    RemoteProtocolError,
    ResourceUnknownError,
    ServerExitedError,
    SessionExpiredError,
)
from gaia_mcp.protocol.versions import ALL_VERSIONS, STATELESS_VERSIONS
from tests.client.eras import (
    CAPABILITIES,
    ERAS,
    SUBSCRIPTION,
    URI,
    changed,
    connected,
    granted,
    is_stateless,
    scripted,
    updated,
    usual,
)
from tests.client.transports.scripted import Scripted
from tests.client.transports.talk import Message, Talk, error, result
from tests.protocol.test_wire_types import SAMPLED, is_notification, is_request
from tests.waiting import deadline_until, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.client.conftest import Started
    from tests.client.eras import StartTalk


@pytest.fixture(params=ERAS)
def client(request: pytest.FixtureRequest, start_server: Started) -> MCPClient:
    """A client of a server that offers everything, in each era."""
    client = start_server("offers", request.param)
    assert client.protocol_version == request.param
    return client


def test_what_the_server_says_about_itself_is_there(client: MCPClient) -> None:
    """Spec, lifecycle and discovery: the same in both eras, and gone with the connection."""
    assert client.instructions == "Ask politely."
    assert set(client.capabilities) == {"tools", "prompts", "resources", "completions", "logging"}
    assert client.server_info == {"name": "offers.py", "version": "1"}

    client.disconnect()

    assert (client.instructions, client.protocol_version, client.capabilities) == ("", None, {})


def test_prompts_are_listed_from_all_pages_and_filled(client: MCPClient) -> None:
    """Spec, server/prompts. What has no name is left out and told."""
    assert [prompt["name"] for prompt in client.list_prompts()] == ["review", "second"]
    assert len(client.tool_problems) == 2
    filled = client.get_prompt("review", {"lang": "python"})
    assert filled["messages"][0]["content"]["text"] == "{'lang': 'python'}"
    assert client.get_prompt("review")["messages"][0]["content"]["text"] == "None"


def test_resources_and_their_templates_are_listed_and_read(client: MCPClient) -> None:
    """Spec, server/resources."""
    assert [resource["uri"] for resource in client.list_resources()] == ["file:///a"]
    assert [template["uriTemplate"] for template in client.list_resource_templates()] == ["file:///{path}"]
    assert client.read_resource("file:///a")["contents"] == [{"uri": "file:///a", "text": "hello"}]


def test_arguments_are_completed(client: MCPClient) -> None:
    """Spec, utilities/completion: with what is known of the other arguments, where something is."""
    reference = {"type": "ref/prompt", "name": "review"}

    assert client.complete(reference, "lang", "py") == Completion(["python", "pypy"], 12, has_more=True)
    known = client.complete(reference, "lang", "py", {"style": "short"})
    assert known == Completion(["{'arguments': {'style': 'short'}}"], None, has_more=False)
    with pytest.raises(RemoteProtocolError):
        client.complete(reference, "lang", "odd")


def test_a_log_level_can_be_set(client: MCPClient) -> None:
    """Spec, utilities/logging: by a request of its own, or with every request."""
    client.set_log_level("warning")

    assert client.list_resources()


def test_changes_of_a_resource_are_heard_until_it_is_unsubscribed(client: MCPClient) -> None:
    """Spec, server/resources: by `resources/subscribe`, or by listening."""
    heard: list[str] = []
    client.on_resource_updated = heard.append

    client.subscribe_resource("file:///a")
    client.call("touch", {})
    wait_until(lambda: heard == ["file:///a"])
    client.unsubscribe_resource("file:///a")

    assert client.call("touch", {})["content"][0]["text"] == ""
    assert heard == ["file:///a"]


def test_a_subscription_that_is_refused_is_an_error(client: MCPClient) -> None:
    """Spec: the server knows no such resource."""
    with pytest.raises(ResourceUnknownError, match="has no resource 'file:///refused'"):
        client.subscribe_resource("file:///refused")


@pytest.mark.parametrize(
    ("code", "text", "is_unknown"),
    [
        (-32002, "Resource not found", True),
        (-32602, "Resource not found", True),
        (-32602, "no scheme like that", True),
        (0, "Unknown resource: x://y", True),
        (-32601, "no such resource", True),
        (-32601, "Method not found", False),
        (-32601, "resources/read: unknown method, not found", False),
        (-32603, "out of order", False),
    ],
)
def test_a_resource_that_is_not_there_is_one_error(
    start_talk: StartTalk, code: int, text: str, is_unknown: bool
) -> None:
    """MC-13: whichever code the server has for it. Ours: it is also the error response that it is."""
    client, _ = start_talk(lambda asked: [error(asked, code, text)])

    with pytest.raises(PeerError) as caught:
        client.read_resource("x://y")

    assert isinstance(caught.value, ResourceUnknownError) == is_unknown
    assert (caught.value.code, caught.value.text) == (code, text)
    assert ("has no resource 'x://y'" in caught.value.message) == is_unknown


def test_a_list_whose_changes_are_not_granted_is_told() -> None:
    """MC-9: a program that waits for them would wait in vain."""
    talk = Talk(scripted(ERAS[0], lambda asked: [granted(asked)] if "listen" in asked["method"] else {"tools": []}))
    client = MCPClient("s", talk)
    heard: list[str] = []
    client.on_not_granted = heard.append
    client.open()

    client.fetch_tools()

    assert heard == ["tools"]


def test_a_subscription_that_the_server_ends_is_told(start_server: Started) -> None:
    """Spec 2026-07-28: nothing is replayed, so a program subscribes anew. Before, servers cannot end one."""
    client = start_server("offers", ERAS[0])
    ended: list[str] = []
    client.on_subscription_ended = ended.append
    client.subscribe_resource("file:///a")

    client.call("end", {})

    wait_until(lambda: ended == ["file:///a"])


def test_subscriptions_outlive_the_servers_process(client: MCPClient) -> None:
    """Spec, IO-7: a server that was started again is asked again, and what it has may have changed meanwhile."""
    heard: list[str] = []
    client.on_resource_updated = heard.append
    client.subscribe_resource("file:///a")
    client.call_tool("die", {})
    wait_until(lambda: not client.is_connected())

    assert client.call("list", {})["content"][0]["text"] == "file:///a"

    assert heard == ["file:///a"]


@pytest.mark.parametrize(
    "ask",
    [
        lambda client: client.get_prompt("p"),
        lambda client: client.read_resource("x://"),
        lambda client: client.complete({"type": "ref/prompt", "name": "p"}, "a", ""),
        lambda client: client.subscribe_resource("x://"),
    ],
)
def test_what_is_not_offered_is_not_asked_for(start_server: Started, ask: Callable[[MCPClient], Any]) -> None:
    """Spec, LC-3: only negotiated capabilities are used."""
    for server in ("good_stateless", "good_handshake"):
        client = start_server(server)

        with pytest.raises(NotSupportedError) as caught:
            ask(client)

        assert caught.value.feature in ("prompts", "resources", "completions")
        assert client.list_prompts() == client.list_resources() == client.list_resource_templates() == []


def test_nothing_is_asked_without_a_connection(start_server: Started) -> None:
    """GAIA's documents: a RuntimeError."""
    client = start_server("good_stateless", is_open=False)

    for ask in (client.list_prompts, client.list_resources, lambda: client.read_resource("x://")):
        with pytest.raises(NotConnectedError):
            ask()


def test_a_server_that_says_nothing_about_itself_is_asked_all_the_same() -> None:
    """Ours: custom transports answer `initialize` as they like."""
    found = {"contents": [], "messages": [], "prompts": [{"name": "p"}]}
    client = MCPClient("s", Scripted(**dict.fromkeys(("resources/read", "prompts/get", "prompts/list"), found)))
    client.open()

    assert client.read_resource("x://") == client.get_prompt("p")
    assert client.list_prompts() == [{"name": "p"}]
    with pytest.raises(NotSupportedError):
        client.subscribe_resource("x://")


@pytest.mark.parametrize("ask", [lambda client: client.get_prompt("p"), lambda client: client.read_resource("x://")])
def test_a_result_without_its_list_is_an_error(ask: Callable[[MCPClient], Any]) -> None:
    """Ours: a typed error with the server's name, rather than a KeyError somewhere else."""
    client = MCPClient("s", Scripted(resources_read={"text": "hello"}, prompts_get={"text": "hello"}))
    client.open()

    with pytest.raises(RemoteProtocolError, match="'s' answered"):
        ask(client)


def test_the_oldest_servers_are_asked_to_complete_though_they_cannot_say_that_they_do(start_server: Started) -> None:
    """Spec 2024-11-05: there was no capability for it."""
    client = start_server("offers", "2024-11-05")

    assert client.complete({"type": "ref/prompt", "name": "review"}, "lang", "py").values == ["python", "pypy"]


def test_the_log_level_outlives_the_servers_process(start_server: Started) -> None:
    """Ours: as subscriptions do."""
    client = start_server("offers", ERAS[1])
    client.set_log_level("warning")
    client.call_tool("die", {})
    wait_until(lambda: not client.is_connected())

    client.list_resources()

    assert [line for line in start_server.notes("offers") if "logging/setLevel" in line][1:]


def test_a_server_that_declares_nothing_is_asked_for_nothing(start_server: Started) -> None:
    """Spec, LC-3: an empty object says that nothing is offered."""
    client = start_server("declares_nothing")

    assert client.list_prompts() == client.list_resources() == []


# Unusual responses.

LISTS = pytest.mark.parametrize(
    ("method", "member", "key"),
    [
        ("list_prompts", "prompts", "name"),
        ("list_resources", "resources", "uri"),
        ("list_resource_templates", "resourceTemplates", "uriTemplate"),
    ],
)


@LISTS
def test_an_invalid_item_is_left_out_and_reported(start_talk: StartTalk, method: str, member: str, key: str) -> None:
    """Ours: one bad item must not hide the others."""
    bad = [None, 7, "x", [], {}, {key: 7}, {key: None}]
    client, _ = start_talk(lambda _: {member: [*bad, {key: "good", "size": "odd", "arguments": 7}]})

    assert getattr(client, method)() == [{key: "good", "size": "odd", "arguments": 7}]
    assert len(client.tool_problems) == len(bad)
    assert all(key in problem for problem in client.tool_problems)


@LISTS
@pytest.mark.parametrize("page", [None, "x", 7, {}])
def test_a_page_without_a_list_is_an_empty_one(
    start_talk: StartTalk, method: str, member: str, key: str, page: Any
) -> None:
    """Ours: noted, as it is with tools."""
    client, _ = start_talk(lambda _: {} if page is None else {member: page})

    assert getattr(client, method)() == []
    assert len(client.tool_problems) == 1


@LISTS
@pytest.mark.parametrize("cursor", [7, {}, ["x"], True])
def test_an_invalid_cursor_ends_the_list(
    start_talk: StartTalk, method: str, member: str, key: str, cursor: Any
) -> None:
    """Ours: what came is kept."""
    client, _ = start_talk(lambda _: {member: [{key: "a"}], "nextCursor": cursor})

    assert getattr(client, method)() == [{key: "a"}]
    assert len(client.tool_problems) == 1


@pytest.mark.parametrize(("code", "is_empty"), [(-32601, True), (-32603, False)])
def test_templates_that_a_server_does_not_know_of_are_an_empty_list(
    start_talk: StartTalk, code: int, is_empty: bool
) -> None:
    """Ours: many servers have resources and no templates; any other error is one."""
    client, _ = start_talk(lambda message: [error(message, code, "no")])

    if is_empty:
        assert client.list_resource_templates() == []
        return
    with pytest.raises(PeerError):
        client.list_resource_templates()


@pytest.mark.parametrize("value", [None, 7, "x", {}, ["x"], [None], [{"role": "user", "content": {}}, 7]])
def test_a_result_of_the_wrong_form_is_an_error(start_talk: StartTalk, value: Any) -> None:
    """Ours: a typed error with the server's name, rather than a TypeError in the caller."""
    client, _ = start_talk(lambda _: {"messages": value, "contents": value})

    for ask in (lambda: client.get_prompt("p"), lambda: client.read_resource("x://")):
        with pytest.raises(RemoteProtocolError, match="'odd' answered"):
            ask()


def test_what_is_odd_inside_is_handed_over_as_it_came(start_talk: StartTalk) -> None:
    """Ours: a later revision may allow it."""
    inside = [{}, {"role": 7, "content": "text"}, {"uri": None, "blob": "no base64!"}]
    client, _ = start_talk(lambda _: {"messages": inside, "contents": inside, "description": 7})

    assert client.get_prompt("p")["messages"] == inside
    assert client.read_resource("x://")["contents"] == inside


@pytest.mark.parametrize("found", [None, 7, "x", [], {}, {"values": None}, {"values": "abc"}, {"values": {"a": 1}}])
def test_a_completion_without_values_is_an_error(start_talk: StartTalk, found: Any) -> None:
    """Ours."""
    client, _ = start_talk(lambda _: {"completion": found})

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
def test_what_is_odd_in_a_completion_is_left_out(start_talk: StartTalk, found: Any, expected: Completion) -> None:
    """Ours: the rest is of use."""
    client, _ = start_talk(lambda _: {"completion": found})

    assert client.complete({"type": "ref/prompt", "name": "p"}, "a", "") == expected


def test_a_completion_of_very_many_values_is_kept(start_talk: StartTalk) -> None:
    """Ours: the specification's hundred is a limit for servers."""
    client, _ = start_talk(lambda _: {"completion": {"values": ["x"] * 5000}})

    assert len(client.complete({"type": "ref/prompt", "name": "p"}, "a", "").values) == 5000


@pytest.mark.parametrize("broken", [None, 7, "x", [1]])
def test_a_result_that_is_not_an_object_is_an_error(start_talk: StartTalk, broken: Any) -> None:
    """Spec, JSON-RPC: a result of MCP is an object."""
    client, _ = start_talk(lambda message: [{"jsonrpc": "2.0", "id": message["id"], "result": broken}])

    for ask in (
        client.list_prompts,
        lambda: client.read_resource("x://"),
        lambda: client.complete({"type": "ref/prompt", "name": "p"}, "a", ""),
        lambda: client.subscribe_resource(URI),
    ):
        with pytest.raises(RemoteProtocolError, match="'odd' answered"):
            ask()


def test_an_unknown_log_level_is_not_sent(start_talk: StartTalk) -> None:
    """Spec 2026-07-28: it would go into every request from then on, and have each of them refused."""
    client, conversation = start_talk()

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
def test_a_server_that_tells_of_no_changes_is_not_asked_to(start_talk: StartTalk, offer: Any) -> None:
    """Spec, resources: `subscribe` is a capability of its own (LC-3)."""
    client, conversation = start_talk(capabilities={"resources": offer})

    with pytest.raises(NotSupportedError) as caught:
        client.subscribe_resource(URI)

    assert (caught.value.feature, conversation.sent) == ("subscriptions", [])


def test_a_resource_that_is_subscribed_to_twice_is_told_once(start_talk: StartTalk) -> None:
    """Ours: each listening of 2026-07-28 would be told of each change."""
    client, conversation = start_talk()

    client.subscribe_resource(URI)
    client.subscribe_resource(URI)
    assert len(subscriptions_sent(conversation)) == 1
    client.unsubscribe_resource(URI)
    client.subscribe_resource(URI)

    assert len(subscriptions_sent(conversation)) == 2


def test_a_subscription_that_met_an_expired_session_is_sent_once_in_another() -> None:
    """Spec, LC-6: with those that were granted before."""
    granted_in: list[tuple[int, str]] = []

    def answer(message: Message) -> Any:
        if message["method"] == "resources/subscribe":
            uri = message["params"]["uri"]
            if uri == "test://b" and len(talk.channels) == 1:
                talk.fails_request(message["id"], SessionExpiredError("s"))
                talk.ends(ConnectionLostError("the session is gone"))
                return []
            granted_in.append((len(talk.channels), uri))
        return {}

    talk = Talk(scripted("2025-11-25", answer))
    with MCPClient("s", talk, timeout=5) as client:
        client.subscribe_resource("test://a")
        client.subscribe_resource("test://b")

    assert granted_in == [(1, "test://a"), (2, "test://a"), (2, "test://b")]


@pytest.mark.parametrize("meta", [None, 7, {}, {SUBSCRIPTION: None}, {SUBSCRIPTION: {}}, {SUBSCRIPTION: "other"}])
def test_a_server_that_never_acknowledges_is_not_waited_for(start_talk: StartTalk, meta: Any) -> None:
    """Ours: the caller's deadline holds, nothing is left open, and a grant that comes too late grants nothing."""
    notification = {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged"}
    unknown = {**notification, "params": {"notifications": {"resourceSubscriptions": [URI]}, "_meta": meta}}
    heard: list[str] = []
    client, conversation = start_talk(lambda message: [unknown])
    client.on_resource_updated = client.on_subscription_ended = heard.append

    with pytest.raises(DeadlineError):
        client.subscribe_resource(URI, deadline_until(lambda: conversation.sent))

    asked, cancelled = conversation.sent
    assert asked["method"] in ("subscriptions/listen", "resources/subscribe")
    assert (cancelled["method"], cancelled["params"]["requestId"]) == ("notifications/cancelled", asked["id"])
    late = granted(asked, URI) if is_stateless(client) else result(asked, {})
    conversation.arrives(late)
    conversation.arrives(result(asked, {}))
    assert heard == []
    assert not client._subscribed


def test_a_subscription_that_ends_as_soon_as_it_is_granted_can_be_made_again(start_talk: StartTalk) -> None:
    """Ours: it must not be remembered as one that is there."""
    ended: list[str] = []

    def answers(message: Message) -> Any:
        if message["method"] != "subscriptions/listen":
            return {}
        return [granted(message, URI), result(message, {"resultType": "complete"})]

    client, conversation = start_talk(answers)
    client.on_subscription_ended = ended.append

    client.subscribe_resource(URI)
    client.subscribe_resource(URI)

    assert ended == ([URI, URI] if is_stateless(client) else [])
    assert len(subscriptions_sent(conversation)) == (2 if is_stateless(client) else 1)


def test_a_subscription_that_was_refused_can_be_asked_for_again(start_talk: StartTalk) -> None:
    """Ours: nothing of it is remembered."""
    answers: list[Any] = [lambda message: [error(message, -32602, "not yet")], usual]
    client, conversation = start_talk(lambda message: answers.pop(0)(message))

    with pytest.raises(PeerError, match="not yet"):
        client.subscribe_resource(URI)
    client.subscribe_resource(URI)

    assert len(subscriptions_sent(conversation)) == 2


def test_a_subscription_that_is_refused_after_a_restart_has_ended(start_talk: StartTalk) -> None:
    """Ours: the call that connects again succeeds, and the program is notified of the end."""
    answers: list[Any] = [usual, lambda message: [error(message, -32602, "no such resource")]]

    def answer(message: Message) -> Any:
        is_subscribing = message["method"] in ("subscriptions/listen", "resources/subscribe")
        return answers.pop(0)(message) if is_subscribing else usual(message)

    ended: list[str] = []
    client, conversation = start_talk(answer)
    client.subscribe_resource(URI)
    client.on_subscription_ended = ended.append
    conversation.ends(ConnectionLostError("gone", server="odd"))

    assert client.read_resource("x://")["contents"] == []
    assert (ended, answers) == ([URI], [])


def test_a_change_that_no_listener_is_interested_in_is_passed_over(start_talk: StartTalk) -> None:
    """Ours: a program need not set all three."""
    client, conversation = start_talk()
    client.subscribe_resource(URI)

    conversation.arrives(changed("tools"))
    conversation.arrives(updated(URI))

    assert client.read_resource("x://")["contents"] == []


# Listeners.


def raising(_: str) -> None:
    raise ZeroDivisionError("a listener's own mistake")


def test_a_listener_that_fails_does_not_stop_the_reading(
    start_talk: StartTalk, caplog: pytest.LogCaptureFixture
) -> None:
    """Ours: it is logged, and the other requests are served."""
    client, conversation = start_talk()
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
    """Ours: the call is not the listener's."""
    client = start_server("offers", era)
    client.on_resource_updated = raising
    client.subscribe_resource("file:///a")
    with pytest.raises(ServerExitedError):
        client.call("die", {})

    assert client.call("list", {})["content"][0]["text"] == "file:///a"

    assert any(record.exc_info for record in caplog.records)


def test_changed_lists_are_heard_by_who_listens_from_the_start(start_talk: StartTalk) -> None:
    """Ours: the same in both eras, though only the older one announces them unasked."""
    heard: list[str] = []
    conversation = start_talk()[1]
    client = MCPClient("odd", conversation, timeout=5)
    client.on_list_changed = heard.append

    client.open()

    listening = [message for message in conversation.sent if message.get("method") == "subscriptions/listen"]
    assert [message["params"]["notifications"] for message in listening] == (
        [{"toolsListChanged": True}] if is_stateless(client) else []
    )
    conversation.arrives(changed("tools"))
    assert heard == ["tools"]


def test_changed_lists_are_heard_by_who_has_asked_for_one(start_talk: StartTalk) -> None:
    """Ours: before it is read, so that no change falls in between. Without a listener there is no traffic."""
    client, conversation = start_talk(lambda message: {"prompts": []} if message["method"] == "prompts/list" else [])
    client.list_prompts()
    assert conversation.methods() == ["prompts/list"]
    conversation.sent.clear()
    client.on_list_changed = raising

    client.list_prompts()
    client.list_prompts()

    first = ["subscriptions/listen"] if is_stateless(client) else []
    assert conversation.methods() == [*first, "prompts/list", "prompts/list"]


# As the official SDK reads it.

EVERYTHING: Message = {
    **CAPABILITIES, "prompts": {"listChanged": True}, "resources": {"subscribe": True, "listChanged": True},
}  # fmt: skip
ROOTS = [{"uri": "file:///a"}, {"uri": "file:///b", "name": "b"}]
REFERENCE = {"type": "ref/prompt", "name": "review"}
ANSWERS: dict[str, Message] = {
    "prompts/list": {"prompts": [{"name": "review"}]},
    "prompts/get": {"messages": []},
    "resources/list": {"resources": [{"uri": "file:///a", "name": "a"}]},
    "resources/templates/list": {"resourceTemplates": []},
    "resources/read": {"contents": []},
    "completion/complete": {"completion": {"values": []}},
    "tools/list": {"tools": []},
}


def answer(message: Message) -> list[Message]:
    """Two pages of everything, a grant of every subscription, and for each call of a tool two requests of its own."""
    method, params = message["method"], message.get("params", {})
    if method == "subscriptions/listen":
        params = {"notifications": params["notifications"], "_meta": {SUBSCRIPTION: message["id"]}}
        return [{"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}]
    is_stateless = "io.modelcontextprotocol/protocolVersion" in params.get("_meta", {})
    if method == "tools/call" and is_stateless and "inputResponses" not in params:
        wanted = {"m": {"method": "sampling/createMessage"}, "r": {"method": "roots/list"}}
        return [result(message, {"resultType": "input_required", "inputRequests": wanted, "requestState": "s"})]
    more = {"nextCursor": "2"} if method.endswith("/list") and "cursor" not in params else {}
    return [result(message, {**ANSWERS.get(method, {}), **more})]


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_everything_that_a_client_says_is_what_the_sdk_expects(version: str) -> None:
    """Spec, IO-2: each message by the types of its own revision; none is of a method that the revision lacks."""
    talk = Talk(scripted(version, answer, EVERYTHING))
    client = MCPClient("peer", talk, timeout=5, host=Host(sample=lambda _: SAMPLED[0], roots=lambda: ROOTS))
    client.on_list_changed = client.on_resource_updated = lambda _: None

    client.open()
    assert client.protocol_version == version
    client.list_prompts()
    client.get_prompt("review")
    client.get_prompt("review", {"language": "Python"})
    client.list_resources()
    client.list_resource_templates()
    client.read_resource("file:///a")
    client.complete(REFERENCE, "language", "py")
    client.complete({"type": "ref/resource", "uri": "file:///{path}"}, "path", "", {"other": "x"})
    client.subscribe_resource("file:///a")
    client.set_log_level("warning")
    client.call("dream", {})
    client.fetch_tools()
    client.unsubscribe_resource("file:///a")
    client.check_alive()

    said = [message for message in talk.sent if message["method"] != "server/discover" or version in STATELESS_VERSIONS]
    for message in said:
        if "id" in message:
            is_request(version, message)
        else:
            is_notification(version, message, by="client")
    asked = {message["method"] for message in said}
    assert {*ANSWERS, "tools/call"} <= asked
    only_stateless = {"server/discover", "subscriptions/listen", "notifications/cancelled"}
    only_handshake = {"initialize", "notifications/initialized", "ping", "logging/setLevel"}
    only_handshake |= {"resources/subscribe", "resources/unsubscribe"}
    mine, others = (only_stateless, only_handshake)[:: 1 if version in STATELESS_VERSIONS else -1]
    assert mine <= asked
    assert not others & asked


@pytest.mark.parametrize("version", ALL_VERSIONS)
def test_skills_are_listed_from_all_pages_and_read_one_by_one(version: str) -> None:
    """Extension: of a server that declares it; another one is not asked."""
    text = "---\nname: a\ndescription: b\n---\n"
    uri = "skill://a/SKILL.md"
    skill = {"uri": uri, "frontmatter": {"name": "a", "description": "b"}, "resources": "dynamic"}

    def answers(message: Message) -> Message:
        params = message.get("params") or {}
        if message["method"] == "resources/read":
            return {"contents": [{"uri": params["uri"], "text": text if params["uri"] == uri else "more"}]}
        if "cursor" in params:
            return {"skills": [{"uri": "skill://b/SKILL.md"}, {"frontmatter": {}}]}
        return {"skills": [skill], "nextCursor": "2"}

    declared = {"resources": {}, "extensions": {"io.modelcontextprotocol/skills": {}}}
    client, conversation = connected(version, answers, declared)
    assert [each["uri"] for each in client.list_skills()] == [uri, "skill://b/SKILL.md"]
    assert client.tool_problems == ["item 3 of skills/list has no uri"]
    assert {message["method"] for message in conversation.sent} == {"skills/list"}
    assert client.read_skill(skill) == text.encode()
    assert client.read_skill(skill, "skill://a/more.md") == b"more"
    with pytest.raises(LocalProtocolError):
        client.read_skill(skill, "file:///etc/passwd")

    without, conversation = connected(version, answers, {"resources": {}, "extensions": None})
    assert without.list_skills() == []
    assert conversation.sent == []
