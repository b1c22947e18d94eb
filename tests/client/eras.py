"""A client of a scripted server, in either era."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gaia_mcp.client.mcp_client import MCPClient
from gaia_mcp.protocol import STATELESS_VERSIONS
from tests.client.transports.talk import Message, Script, Talk, error, result
from tests.waiting import ENOUGH_SECONDS

# The stateless era and the newest of the other one.
ERAS = ("2026-07-28", "2025-11-25")
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
URI = "file:///a"
CAPABILITIES: Message = {
    "tools": {"listChanged": True},
    "prompts": {},
    "resources": {"subscribe": True},
    "completions": {},
    "logging": {},
}

# What a server responds to a request: a result, any messages, or None for silence.
Answers = Callable[[Message], Any]
StartTalk = Callable[..., tuple[MCPClient, Talk]]


def usual(message: Message) -> Any:
    """Grants every subscription and knows one resource."""
    method, params = message["method"], message.get("params", {})
    if method == "subscriptions/listen":
        uris = params["notifications"].get("resourceSubscriptions", [])
        return [granted(message, *uris)]
    return {"contents": []} if method == "resources/read" else {}


def scripted(version: str, answers: Answers, capabilities: Any = CAPABILITIES) -> Script:
    """A server of this revision, which agrees on it and leaves all other requests to `answers`."""

    def script(message: Message) -> list[Message]:
        method = message.get("method")
        if method == "server/discover" and version in STATELESS_VERSIONS:
            found = {"resultType": "complete", "supportedVersions": [version], "capabilities": capabilities}
            return [result(message, {**found, "ttlMs": 0, "cacheScope": "private"})]
        if method == "server/discover":
            return [error(message, -32601, "Method not found")]
        if method == "initialize":
            return [result(message, {"protocolVersion": version, "capabilities": capabilities})]
        if "id" not in message or method is None:
            return []
        answer = answers(message)
        return answer if isinstance(answer, list) else [] if answer is None else [result(message, answer)]

    return script


def connected(version: str, answers: Answers, capabilities: Any) -> tuple[MCPClient, Talk]:
    """A client that has agreed on this revision with a server that answers by `answers`."""
    conversation = Talk(scripted(version, answers, capabilities))
    client = MCPClient("odd", conversation, timeout=ENOUGH_SECONDS)
    client.open()
    conversation.sent.clear()
    assert client.protocol_version == version
    return client, conversation


def is_stateless(client: MCPClient) -> bool:
    return client.protocol_version == ERAS[0]


def granted(asked: Message, *uris: Any) -> Message:
    """The answer that grants a subscription to these resources."""
    params = {"notifications": {"resourceSubscriptions": list(uris)}, "_meta": {SUBSCRIPTION: asked["id"]}}
    return {"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": params}


def updated(uri: Any, **meta: Any) -> Message:
    params = {"uri": uri, "_meta": meta} if meta else {"uri": uri}
    return {"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": params}


def changed(kind: str) -> Message:
    return {"jsonrpc": "2.0", "method": f"notifications/{kind}/list_changed"}
