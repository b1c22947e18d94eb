"""Offers prompts, resources, completion and subscriptions, in the era whose revision is its argument."""

from __future__ import annotations

import sys

import _wire

STATELESS = sys.argv[1] >= "2026"
CAPABILITIES = {"tools": {}, "prompts": {}, "resources": {"subscribe": True}, "completions": {}, "logging": {}}
# The resources that are subscribed to, by the request that did it, where the era has that.
listening: dict[str, object] = {}


def offers(message: _wire.Message) -> _wire.Message | None:
    method, params = message.get("method"), message.get("params", {})
    if method == "prompts/list":
        if params.get("cursor"):
            return {"prompts": [{"name": "second"}, {"title": "nameless"}, "odd"]}
        return {"prompts": [{"name": "review", "arguments": [{"name": "lang"}]}], "nextCursor": "2"}
    if method == "prompts/get":
        return {"messages": [{"role": "user", "content": {"type": "text", "text": str(params.get("arguments"))}}]}
    if method == "resources/list":
        return {"resources": [{"uri": "file:///a", "name": "a"}]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": "file:///{path}", "name": "files"}]}
    if method == "resources/read":
        return {"contents": [{"uri": params["uri"], "text": "hello"}]}
    if method == "completion/complete":
        if "context" in params:
            return {"completion": {"values": [str(params["context"])]}}
        if params["argument"]["value"] == "odd":
            return {"completion": {"values": "none"}}
        return {"completion": {"values": ["python", 7, "pypy"], "total": 12, "hasMore": True}}
    return {} if method == "logging/setLevel" else None


def subscription(message: _wire.Message) -> _wire.Message | None:
    params = message["params"]
    uris = params["notifications"].get("resourceSubscriptions", []) if STATELESS else [params["uri"]]
    if uris == ["file:///refused"]:
        return _wire.error(message, -32602, "no such resource")
    for uri in uris:
        listening[uri] = message["id"] if STATELESS else None
    if not STATELESS:
        return _wire.result(message, {})
    key = {"io.modelcontextprotocol/subscriptionId": message["id"]}
    granted = {"notifications": params["notifications"], "_meta": key}
    _wire.send({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": granted})
    return None


def called(message: _wire.Message) -> _wire.Message | None:
    name = message["params"]["name"]
    if name == "die":
        sys.exit(3)
    if name == "hang":
        return None
    for uri, known in list(listening.items()):
        if name == "touch":
            _wire.send({"jsonrpc": "2.0", "method": "notifications/resources/updated", "params": {"uri": uri}})
        if name == "end" and known is not None:
            _wire.send({"jsonrpc": "2.0", "id": known, "result": {"resultType": "complete"}})
    return _wire.result(message, {**_wire.text(" ".join(sorted(listening))), "resultType": "complete"})


def presented(message: _wire.Message) -> _wire.Message | None:
    info = {"name": "offers.py", "version": "1"}
    same = {"capabilities": CAPABILITIES, "instructions": "Ask politely."}
    if message.get("method") == "server/discover" and STATELESS:
        meta = {"io.modelcontextprotocol/serverInfo": info}
        more = {"supportedVersions": [sys.argv[1]], "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        return _wire.result(message, {**same, **more, "_meta": meta})
    if message.get("method") == "initialize" and not STATELESS:
        return _wire.result(message, {**same, "protocolVersion": sys.argv[1], "serverInfo": info})
    return None


def answer(message: _wire.Message) -> _wire.Message | None:
    method, params = message.get("method"), message.get("params", {})
    if (result := offers(message)) is not None:
        return _wire.result(message, {"resultType": "complete", **result} if STATELESS else result)
    if (first := presented(message)) is not None:
        return first
    if method in ("subscriptions/listen", "resources/subscribe"):
        return subscription(message)
    if method == "resources/unsubscribe":
        listening.pop(params["uri"], None)
        return _wire.result(message, {})
    if method == "notifications/cancelled":
        for uri in [uri for uri, known in listening.items() if known == params["requestId"]]:
            del listening[uri]
    if method == "tools/call":
        return called(message)
    return _wire.error(message, -32601, "Method not found") if "id" in message else None


_wire.serve(answer)
