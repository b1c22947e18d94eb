"""Prompts, resources, completion, logging and skills: of real processes in both eras, and with unusual responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client import Host, MCPClient
from gaia_mcp.client.tools import Completion
from gaia_mcp.core.errors import (
    LocalProtocolError,
    NotConnectedError,
    PeerError,
    RemoteProtocolError,
    ResourceUnknownError,
)
from gaia_mcp.protocol import ALL_VERSIONS, STATELESS_VERSIONS
from tests.client.conftest import error_of, noted
from tests.client.eras import (
    CAPABILITIES,
    ERAS,
    SUBSCRIPTION,
    URI,
    connected,
    granted,
    is_stateless,
    scripted,
)
from tests.client.transports.scripted import Scripted
from tests.client.transports.talk import Message, Talk, error, result
from tests.protocol.test_wire_types import SAMPLED, is_notification, is_request
from tests.waiting import wait_until

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


def test_every_response_for_an_unknown_resource_is_the_same_error(start_talk: StartTalk) -> None:
    """MC-13: whichever code the server uses. Ours: it is a `PeerError` with the code and message of the response."""
    rows = [
        (-32602, "no scheme like that", True),
        (0, "Unknown resource: x://y", True),
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


def test_a_request_without_a_connection_is_an_error(start_server: Started) -> None:
    """GAIA's documents: a RuntimeError."""
    client = start_server("good_stateless", is_open=False)

    for ask in (client.list_prompts, client.list_resources, lambda: client.read_resource("x://")):
        with pytest.raises(NotConnectedError):
            ask()


@pytest.mark.parametrize("ask", [lambda client: client.get_prompt("p"), lambda client: client.read_resource("x://")])
def test_a_result_without_its_list_is_an_error(ask: Callable[[MCPClient], Any]) -> None:
    """Ours: a typed error with the server's name, rather than a KeyError somewhere else."""
    client = MCPClient("s", Scripted(resources_read={"text": "hello"}, prompts_get={"text": "hello"}))
    client.open()

    with pytest.raises(RemoteProtocolError, match="'s' answered"):
        ask(client)


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


# Listeners.


def test_a_listener_subscribes_to_list_changes_before_the_list_is_read(start_talk: StartTalk) -> None:
    """Ours: so that no change between the two is missed. Without a listener nothing is sent."""
    client, conversation = start_talk(lambda message: {"prompts": []} if message["method"] == "prompts/list" else [])
    client.list_prompts()
    assert conversation.methods() == ["prompts/list"]
    conversation.sent.clear()
    client.on_list_changed = lambda _: None

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
