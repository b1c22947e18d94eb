"""Prompts, resources, completion, logging and skills: of real processes in both eras, and with unusual responses."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client import Host, MCPClient
from gaia_mcp.client.mcp_client import Completion
from gaia_mcp.core.errors import (
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
from tests.client.conftest import error_of, noted
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


def test_server_info_and_capabilities_are_known_until_disconnect(client: MCPClient) -> None:
    """Spec, lifecycle and discovery: the same in both eras. Ours: they belong to the connection."""
    assert client.instructions == "Ask politely."
    assert set(client.capabilities) == {"tools", "prompts", "resources", "completions", "logging"}
    assert client.server_info == {"name": "offers.py", "version": "1"}

    client.disconnect()

    assert (client.instructions, client.protocol_version, client.capabilities) == ("", None, {})


def test_prompts_are_listed_from_all_pages_and_read(client: MCPClient) -> None:
    """Spec, server/prompts. Ours: prompts without a name are left out and reported."""
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
    """Spec, utilities/completion: with the values of the other arguments, if there are any."""
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


def test_resource_updates_are_received_until_unsubscribe(client: MCPClient) -> None:
    """Spec, server/resources: by `resources/subscribe`, or by listening."""
    heard: list[str] = []
    client.on_resource_updated = heard.append

    client.subscribe_resource("file:///a")
    client.call("touch", {})
    wait_until(lambda: heard == ["file:///a"])
    client.unsubscribe_resource("file:///a")

    assert client.call("touch", {})["content"][0]["text"] == ""
    assert heard == ["file:///a"]


def test_a_refused_subscription_is_an_error(client: MCPClient) -> None:
    """Spec: the server knows no such resource."""
    with pytest.raises(ResourceUnknownError, match="has no resource 'file:///refused'"):
        client.subscribe_resource("file:///refused")


def test_every_response_for_an_unknown_resource_is_the_same_error(start_talk: StartTalk) -> None:
    """MC-13: whichever code the server uses. Ours: it is a `PeerError` with the code and message of the response."""
    rows = [
        (-32002, "Resource not found", True),
        (-32602, "Resource not found", True),
        (-32602, "no scheme like that", True),
        (0, "Unknown resource: x://y", True),
        (-32601, "no such resource", True),
        (-32601, "Method not found", False),
        (-32601, "resources/read: unknown method, not found", False),
        (-32603, "out of order", False),
    ]
    found = []
    for code, text, _ in rows:
        client, _talk = start_talk(lambda asked, code=code, text=text: [error(asked, code, text)])
        caught = error_of(client.read_resource, "x://y")
        assert isinstance(caught, PeerError), (code, text)
        is_unknown = isinstance(caught, ResourceUnknownError)
        found.append((caught.code, caught.text, is_unknown))
        assert ("has no resource 'x://y'" in caught.message) == is_unknown, (code, text)

    assert found == rows


def test_a_list_changed_subscription_that_is_not_granted_is_reported() -> None:
    """MC-9: else a program would wait for changes that are never sent."""
    talk = Talk(scripted(ERAS[0], lambda asked: [granted(asked)] if "listen" in asked["method"] else {"tools": []}))
    client = MCPClient("s", talk)
    heard: list[str] = []
    client.on_not_granted = heard.append
    client.open()

    client.fetch_tools()

    assert heard == ["tools"]


def test_a_subscription_ended_by_the_server_is_reported(start_server: Started) -> None:
    """Spec 2026-07-28: nothing is replayed, so a program subscribes anew. Before, servers cannot end one."""
    client = start_server("offers", ERAS[0])
    ended: list[str] = []
    client.on_subscription_ended = ended.append
    client.subscribe_resource("file:///a")

    client.call("end", {})

    wait_until(lambda: ended == ["file:///a"])


def test_subscriptions_are_renewed_after_a_restart(client: MCPClient) -> None:
    """Spec, IO-7: a restarted server has no subscriptions. Ours: an update is reported, as one may have been missed."""
    heard: list[str] = []
    client.on_resource_updated = heard.append
    client.subscribe_resource("file:///a")
    client.call_tool("die", {})
    wait_until(lambda: not client.is_connected())

    assert client.call("list", {})["content"][0]["text"] == "file:///a"

    assert heard == ["file:///a"]


def test_an_undeclared_feature_is_not_requested(start_server: Started) -> None:
    """Spec, LC-3: only negotiated capabilities are used."""
    for server in ("good_stateless", "good_handshake"):
        client = start_server(server)

        errors = [
            error_of(client.get_prompt, "p"),
            error_of(client.read_resource, "x://"),
            error_of(client.complete, {"type": "ref/prompt", "name": "p"}, "a", ""),
            error_of(client.subscribe_resource, "x://"),
        ]

        features = [each.feature for each in errors if isinstance(each, NotSupportedError)]
        assert features == ["prompts", "resources", "completions", "resources"], errors
        assert client.list_prompts() == client.list_resources() == client.list_resource_templates() == []


def test_a_request_without_a_connection_is_an_error(start_server: Started) -> None:
    """GAIA's documents: a RuntimeError."""
    client = start_server("good_stateless", is_open=False)

    for ask in (client.list_prompts, client.list_resources, lambda: client.read_resource("x://")):
        with pytest.raises(NotConnectedError):
            ask()


def test_a_server_that_declares_no_capabilities_is_sent_requests() -> None:
    """Ours: custom transports respond to `initialize` without any capabilities."""
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


def test_a_server_of_2024_11_05_needs_no_capability_for_completion(start_server: Started) -> None:
    """Spec 2024-11-05: there was no capability for it."""
    client = start_server("offers", "2024-11-05")

    assert client.complete({"type": "ref/prompt", "name": "review"}, "lang", "py").values == ["python", "pypy"]


def test_the_log_level_is_set_again_after_a_restart(start_server: Started) -> None:
    """Ours: as subscriptions are."""
    client = start_server("offers", ERAS[1])
    client.set_log_level("warning")
    client.call_tool("die", {})
    wait_until(lambda: not client.is_connected())

    client.list_resources()

    assert [line for line in start_server.notes("offers") if "logging/setLevel" in line][1:]


def test_prompts_and_resources_are_not_requested_if_capabilities_are_empty(start_server: Started) -> None:
    """Spec, LC-3: an empty object declares no capability."""
    client = start_server("declares_nothing")

    assert client.list_prompts() == client.list_resources() == []


# Unusual responses.

# The methods that list, the member of their results, and the member that each item must have.
LISTS = (
    ("list_prompts", "prompts", "name"),
    ("list_resources", "resources", "uri"),
    ("list_resource_templates", "resourceTemplates", "uriTemplate"),
)


def listed(start_talk: StartTalk, method: str, result: Message) -> tuple[Any, list[str]]:
    """The list that a client reads from this result, and the problems it reports."""
    client, _ = start_talk(lambda _: result)
    with noted((method, result)):
        return getattr(client, method)(), client.tool_problems


# Arguments for each of these methods.
CALLS: dict[str, tuple[Any, ...]] = {
    "list_prompts": (),
    "get_prompt": ("p",),
    "read_resource": ("x://",),
    "complete": ({"type": "ref/prompt", "name": "p"}, "a", ""),
    "subscribe_resource": (URI,),
}


def not_refused(client: MCPClient, *methods: str) -> dict[str, Exception | None]:
    """Those methods that do not raise an error with the name of the server, and what they raise."""
    errors = {method: error_of(getattr(client, method), *CALLS[method]) for method in methods}
    return {
        method: each
        for method, each in errors.items()
        if not isinstance(each, RemoteProtocolError) or "'odd' answered" not in str(each)
    }


def test_an_invalid_item_is_left_out_and_reported(start_talk: StartTalk) -> None:
    """Ours: one invalid item must not hide the others."""
    for method, member, key in LISTS:
        bad = [None, 7, "x", [], {}, {key: 7}, {key: None}]
        good = {key: "good", "size": "odd", "arguments": 7}

        items, problems = listed(start_talk, method, {member: [*bad, good]})

        assert (items, len(problems)) == ([good], len(bad))
        assert [problem for problem in problems if key not in problem] == []


def test_a_page_without_a_list_is_empty_and_reported(start_talk: StartTalk) -> None:
    """Ours: as of tools; the items of the other pages are returned."""
    rows = [(method, page) for method, member, _ in LISTS for page in ({}, {member: "x"}, {member: 7}, {member: {}})]
    found = [(*row, listed(start_talk, *row)) for row in rows]

    assert [each for each in found if (each[2][0], len(each[2][1])) != ([], 1)] == []


def test_an_invalid_cursor_ends_the_list(start_talk: StartTalk) -> None:
    """Ours: the items before it are returned."""
    rows = [(*each, cursor) for each in LISTS for cursor in (7, {}, ["x"], True)]
    found = {
        (method, str(cursor)): listed(start_talk, method, {member: [{key: "a"}], "nextCursor": cursor})
        for method, member, key, cursor in rows
    }

    assert {row: items for row, (items, _) in found.items()} == {
        (method, str(cursor)): [{key: "a"}] for method, _, key, cursor in rows
    }
    assert {row: problems for row, (_, problems) in found.items() if len(problems) != 1} == {}


@pytest.mark.parametrize(("code", "is_empty"), [(-32601, True), (-32603, False)])
def test_resource_templates_are_empty_if_the_method_is_unknown(
    start_talk: StartTalk, code: int, is_empty: bool
) -> None:
    """Ours: many servers have resources and no templates. Any other error is raised."""
    client, _ = start_talk(lambda message: [error(message, code, "no")])

    if is_empty:
        assert client.list_resource_templates() == []
        return
    with pytest.raises(PeerError):
        client.list_resource_templates()


def test_a_malformed_result_is_an_error(start_talk: StartTalk) -> None:
    """Ours: a typed error with the server's name, rather than a TypeError in the caller."""
    values: list[Any] = [None, 7, "x", {}, ["x"], [None], [{"role": "user", "content": {}}, 7]]
    wrong = []
    for value in values:
        client, _ = start_talk(lambda _, value=value: {"messages": value, "contents": value})
        if found := not_refused(client, "get_prompt", "read_resource"):
            wrong.append((value, found))

    assert not wrong


def test_unknown_content_is_returned_unchanged(start_talk: StartTalk) -> None:
    """Ours: a later revision may allow it."""
    inside = [{}, {"role": 7, "content": "text"}, {"uri": None, "blob": "no base64!"}]
    client, _ = start_talk(lambda _: {"messages": inside, "contents": inside, "description": 7})

    assert client.get_prompt("p")["messages"] == inside
    assert client.read_resource("x://")["contents"] == inside


def test_a_completion_without_values_is_an_error(start_talk: StartTalk) -> None:
    """Ours: an empty list would mean that the server has no suggestion."""
    completions: list[Any] = [None, 7, "x", [], {}, {"values": None}, {"values": "abc"}, {"values": {"a": 1}}]
    wrong = []
    for completion in completions:
        client, _ = start_talk(lambda _, completion=completion: {"completion": completion})
        if found := not_refused(client, "complete"):
            wrong.append((completion, found))

    assert not wrong


def test_invalid_members_of_a_completion_are_left_out(start_talk: StartTalk) -> None:
    """Ours: the other members are valid."""
    rows: list[tuple[Message, Completion]] = [
        ({"values": []}, Completion([], None, has_more=False)),
        ({"values": ["a", None, 7, ["b"], {}, "c"]}, Completion(["a", "c"], None, has_more=False)),
        ({"values": [], "total": "7", "hasMore": "yes"}, Completion([], None, has_more=False)),
        ({"values": [], "total": True, "hasMore": 1}, Completion([], None, has_more=False)),
        ({"values": [], "total": 2.5, "hasMore": None}, Completion([], None, has_more=False)),
        ({"values": [], "total": 0, "hasMore": True}, Completion([], 0, has_more=True)),
    ]

    def completed(completion: Message) -> Completion:
        client, _ = start_talk(lambda _: {"completion": completion})
        with noted(completion):
            return client.complete({"type": "ref/prompt", "name": "p"}, "a", "")

    assert [(completion, completed(completion)) for completion, _ in rows] == rows


def test_a_completion_of_5000_values_is_returned(start_talk: StartTalk) -> None:
    """Ours: the limit of the specification, 100 values, is one for servers."""
    client, _ = start_talk(lambda _: {"completion": {"values": ["x"] * 5000}})

    assert len(client.complete({"type": "ref/prompt", "name": "p"}, "a", "").values) == 5000


def test_a_result_that_is_not_an_object_is_an_error(start_talk: StartTalk) -> None:
    """Spec, JSON-RPC: a result of MCP is an object."""
    wrong = []
    for value in (None, 7, "x", [1]):
        client, _ = start_talk(lambda asked, value=value: [{"jsonrpc": "2.0", "id": asked["id"], "result": value}])
        if found := not_refused(client, "list_prompts", "read_resource", "complete"):
            wrong.append((value, found))

    assert not wrong


def test_an_unknown_log_level_is_not_sent(start_talk: StartTalk) -> None:
    """Spec 2026-07-28: every later request would contain it, and be refused."""
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


def test_a_subscription_needs_the_subscribe_capability(start_talk: StartTalk) -> None:
    """Spec, resources: `subscribe` is a capability of its own (LC-3)."""
    for resources in ({}, {"subscribe": False}, {"subscribe": "yes"}, None, 7):
        client, conversation = start_talk(capabilities={"resources": resources})

        caught = error_of(client.subscribe_resource, URI)

        assert isinstance(caught, NotSupportedError), resources
        assert (resources, caught.feature, conversation.sent) == (resources, "subscriptions", [])


def test_a_second_subscription_to_a_resource_is_not_sent(start_talk: StartTalk) -> None:
    """Ours: in 2026-07-28 the server would send each update once for each subscription."""
    client, conversation = start_talk()

    client.subscribe_resource(URI)
    client.subscribe_resource(URI)
    assert len(subscriptions_sent(conversation)) == 1
    client.unsubscribe_resource(URI)
    client.subscribe_resource(URI)

    assert len(subscriptions_sent(conversation)) == 2


def test_a_subscription_in_an_expired_session_is_sent_again_in_a_new_one() -> None:
    """Spec, LC-6: a new session has no subscriptions, so those granted before are sent again as well."""
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


def test_a_subscription_without_an_acknowledgement_ends_with_the_deadline(start_talk: StartTalk) -> None:
    """Ours: the request is cancelled, and an acknowledgement after that has no effect."""
    notification = {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged"}

    def check(meta: Any) -> None:
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

    for meta in (None, 7, {}, {SUBSCRIPTION: None}, {SUBSCRIPTION: {}}, {SUBSCRIPTION: "other"}):
        with noted(meta):
            check(meta)


def test_a_subscription_that_has_ended_can_be_made_again(start_talk: StartTalk) -> None:
    """Ours: one that ends as soon as it is granted must not count as active."""
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


def test_a_refused_subscription_can_be_requested_again(start_talk: StartTalk) -> None:
    """Ours: only granted subscriptions count as active."""
    answers: list[Any] = [lambda message: [error(message, -32602, "not yet")], usual]
    client, conversation = start_talk(lambda message: answers.pop(0)(message))

    with pytest.raises(PeerError, match="not yet"):
        client.subscribe_resource(URI)
    client.subscribe_resource(URI)

    assert len(subscriptions_sent(conversation)) == 2


def test_a_subscription_refused_after_a_restart_is_reported_as_ended(start_talk: StartTalk) -> None:
    """Ours: the call that reconnects succeeds, and the program can subscribe again."""
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


def test_notifications_without_a_listener_are_ignored(start_talk: StartTalk) -> None:
    """Ours: a program need not set all three listeners."""
    client, conversation = start_talk()
    client.subscribe_resource(URI)

    conversation.arrives(changed("tools"))
    conversation.arrives(updated(URI))

    assert client.read_resource("x://")["contents"] == []


# Listeners.


def raising(_: str) -> None:
    raise ZeroDivisionError("a listener's own mistake")


def test_an_exception_of_a_listener_is_logged_and_reading_continues(
    start_talk: StartTalk, caplog: pytest.LogCaptureFixture
) -> None:
    """Ours: every other request would wait for a response that is never read."""
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
def test_an_exception_of_a_listener_does_not_fail_the_call_that_reconnects(
    start_server: Started, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Ours: the caller of the request did not cause the exception, and cannot handle it."""
    client = start_server("offers", era)
    client.on_resource_updated = raising
    client.subscribe_resource("file:///a")
    with pytest.raises(ServerExitedError):
        client.call("die", {})

    assert client.call("list", {})["content"][0]["text"] == "file:///a"

    assert any(record.exc_info for record in caplog.records)


def test_a_listener_set_before_opening_receives_list_changes(start_talk: StartTalk) -> None:
    """Ours: the same in both eras, though servers of the handshake era send them without a subscription."""
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


def test_a_listener_subscribes_to_list_changes_before_the_list_is_read(start_talk: StartTalk) -> None:
    """Ours: so that no change between the two is missed. Without a listener nothing is sent."""
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
    """Two pages of each list, a grant of every subscription, and two requests of its own during a call."""
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


def messages_of(version: str) -> list[Message]:
    """All the messages of a client that uses every feature of a server of this revision."""
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

    # In the handshake era `server/discover` is a probe, which that era does not define.
    return [each for each in talk.sent if each["method"] != "server/discover" or version in STATELESS_VERSIONS]


def test_every_message_of_a_client_is_valid_by_the_types_of_the_sdk() -> None:
    """Spec, IO-2: each message by the types of its own revision; none is of a method that the revision lacks."""
    only_stateless = {"server/discover", "subscriptions/listen", "notifications/cancelled"}
    only_handshake = {"initialize", "notifications/initialized", "ping", "logging/setLevel"}
    only_handshake |= {"resources/subscribe", "resources/unsubscribe"}
    for version in ALL_VERSIONS:
        with noted(version):
            messages = messages_of(version)
            for message in messages:
                if "id" in message:
                    is_request(version, message)
                else:
                    is_notification(version, message, by="client")
            methods = {message["method"] for message in messages}
            assert {*ANSWERS, "tools/call"} <= methods
            mine, others = (only_stateless, only_handshake)[:: 1 if version in STATELESS_VERSIONS else -1]
            assert mine <= methods
            assert not others & methods


def test_skills_are_listed_from_all_pages_and_read() -> None:
    """Extension: of a server that declares it; of another one nothing is requested."""
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

    for version in ALL_VERSIONS:
        with noted(version):
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
