"""What a client says in each revision when its methods are called, read by the types of the official SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from gaia_mcp.client import Host, MCPClient
from gaia_mcp.protocol.versions import ALL_VERSIONS, STATELESS_VERSIONS
from tests.client.transports.talk import Message, Talk, asks, error, result
from tests.protocol.test_wire_types import SAMPLED, is_notification, is_request
from tests.protocol_support import SUBSCRIPTION
from tests.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

every_version = pytest.mark.parametrize("version", ALL_VERSIONS)
CAPABILITIES: Message = {
    "tools": {"listChanged": True},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "completions": {},
    "logging": {},
}
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


def server(version: str) -> Callable[[Message], list[Message]]:
    """A server of this revision that has two pages of everything and grants every subscription."""
    is_stateless = version in STATELESS_VERSIONS

    def answer(message: Message) -> list[Message]:
        method, params = message.get("method"), message.get("params", {})
        if "id" not in message or method is None:
            return []
        if method == "server/discover":
            found = {"resultType": "complete", "supportedVersions": [version], "capabilities": CAPABILITIES}
            return [result(message, found) if is_stateless else error(message, -32601, "Method not found")]
        if method == "initialize":
            return [result(message, {"protocolVersion": version, "capabilities": CAPABILITIES})]
        if method == "subscriptions/listen":
            granted = {"notifications": params["notifications"], "_meta": {SUBSCRIPTION: message["id"]}}
            return [{"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": granted}]
        if method == "tools/call" and is_stateless and "inputResponses" not in params:
            wanted = {"m": {"method": "sampling/createMessage"}, "r": {"method": "roots/list"}}
            return [result(message, {"resultType": "input_required", "inputRequests": wanted, "requestState": "s"})]
        more = {"nextCursor": "2"} if method.endswith("/list") and "cursor" not in params else {}
        return [result(message, {**ANSWERS.get(method, {}), **more})]

    return answer


@every_version
def test_everything_that_a_client_says_is_what_the_sdk_expects(version: str) -> None:
    """Spec: each message by the types of its own revision; none is of a method that the revision lacks."""
    talk = Talk(server(version))
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


@pytest.mark.parametrize("version", [version for version in ALL_VERSIONS if version not in STATELESS_VERSIONS])
@pytest.mark.parametrize(
    ("method", "expected"), [("sampling/createMessage", SAMPLED[0]), ("roots/list", {"roots": ROOTS})]
)
def test_what_a_host_answers_arrives_as_it_is(version: str, method: str, expected: Any) -> None:
    """Spec, sampling and roots: whatever the revision."""
    talk = Talk(server(version))
    client = MCPClient("peer", talk, timeout=5, host=Host(sample=lambda _: SAMPLED[0], roots=lambda: ROOTS))
    client.open()
    talk.sent.clear()

    talk.arrives(asks(method, "q"))
    wait_until(lambda: talk.sent)

    assert talk.sent == [{"jsonrpc": "2.0", "id": "q", "result": expected}]
