"""Does all that the specification requires, in both eras, but for one requirement, whose number is its argument."""

from __future__ import annotations

import sys
import time
from typing import Any

import _wire
from _wire import Message

RULE = sys.argv[1]
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
LEVEL = "io.modelcontextprotocol/logLevel"
REVISIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
STATELESS = "2026-07-28"
INFO = {"name": "breaks_rule", "version": "1"}
DECLARED = {"tools": {"listChanged": True}, "prompts": {}, "resources": {}, "logging": {}, "completions": {}}
TOOLS = [
    {"name": name, "description": name, "inputSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
    for name in ("one", "two")
]
PROMPTS: list[Message] = [
    {"name": "plain"},
    {"name": "asking", "arguments": [{"name": "about", "required": True}]},
]
RESOURCES = [{"uri": "rule://a", "name": "a"}]
LISTS: dict[str, tuple[str, list[Any]]] = {
    "tools/list": ("tools", TOOLS), "prompts/list": ("prompts", PROMPTS), "resources/list": ("resources", RESOURCES),
    "resources/templates/list": ("resourceTemplates", []),
}  # fmt: skip

asked: list[str] = []
has_cancelled = False


def feature(message: Message) -> Message:
    """The response to a request of both eras, without what one of them adds."""
    method, params = message["method"], message.get("params", {})
    if method in LISTS:
        return _wire.result(message, listed(method))
    if method == "tools/call":
        return _wire.error(message, -32602, "Unknown tool")
    if method == "prompts/get":
        if RULE == "MS-17" and params["name"] != "plain":
            return _wire.error(message, -32050, "Unknown prompt")
        if params["name"] != "plain":
            return _wire.error(message, -32602, "Unknown prompt")
        if RULE == "MS-8":
            return _wire.result(message, {"resultType": "input_required"})
        return _wire.result(message, {"messages": [{"role": "user", "content": {"type": "text", "text": "hello"}}]})
    if method == "resources/read":
        return read(message)
    if method == "completion/complete":
        return _wire.result(message, {"completion": {"values": ["x"]}})
    if RULE in ("LS-10", "MS-21"):
        return _wire.result(message, {})
    return _wire.error(message, -32601, "Method not found")


def listed(method: str) -> Message:
    member, items = LISTS[method]
    if RULE == "B-4" and member == "tools":
        items = [{**TOOLS[0], "inputSchema": {"type": "object", "properties": {"a": {"type": "strin"}}}}]
    if RULE == "B-14" and member == "prompts":
        items = [*PROMPTS, {"description": "without a name"}]
    if RULE == "MS-12" and member == "tools" and asked.count(method) % 2:
        items = items[::-1]
    found: Message = {member: items}
    return {**found, "nextCursor": "again"} if RULE == "B-6" and member == "tools" else found


def read(message: Message) -> Message:
    if message["params"]["uri"] == RESOURCES[0]["uri"]:
        return _wire.result(message, {"contents": [{"uri": "rule://a", "text": "a"}]})
    if RULE == "MS-15":
        return _wire.result(message, {"contents": []})
    is_stateless = VERSION in message["params"].get("_meta", {})
    return _wire.error(message, -32602 if is_stateless else -32002, "Resource not found")


def handshake(message: Message) -> Message | None:
    method, params = message["method"], message.get("params", {})
    if method == "initialize":
        wanted = params["protocolVersion"]
        version = wanted if wanted in REVISIONS or RULE == "LS-1" else REVISIONS[0]
        if RULE == "LS-2":
            _wire.send(_wire.result(message, {"protocolVersion": version, "capabilities": {}, "serverInfo": INFO}))
            _wire.send({"jsonrpc": "2.0", "id": "early", "method": "roots/list"})
            return None
        return _wire.result(message, {"protocolVersion": version, "capabilities": DECLARED, "serverInfo": INFO})
    if method == "ping":
        if RULE == "LC-3":
            _wire.send({"jsonrpc": "2.0", "id": "mine", "method": "sampling/createMessage", "params": {}})
        if RULE == "LC-4" or (RULE == "B-9" and has_cancelled):
            return _wire.error(message, -32603, "no ping")
        return _wire.result(message, {})
    if method == "logging/setLevel":
        is_known = params["level"] == "info"
        return _wire.result(message, {}) if is_known else _wire.error(message, -32602, "Unknown level")
    return feature(message)


def stateless(message: Message) -> Message | None:
    method, meta = message["method"], message["params"]["_meta"]
    if CAPABILITIES not in meta and RULE != "MS-2":
        return _wire.error(message, -32602, "no capabilities")
    if meta[VERSION] != STATELESS and RULE != "MS-3":
        data = {"supported": [STATELESS, *REVISIONS], "requested": meta[VERSION]}
        return _wire.error(message, -32022, "Unsupported protocol version", data)
    if meta.get(LEVEL, "info") != "info":
        return _wire.error(message, -32602, "Unknown level")
    if RULE == "B-9" and has_cancelled:
        return _wire.error(message, -32603, "cancelled")
    if RULE == "MS-6" and method != "server/discover" and "server/discover" not in asked:
        return _wire.error(message, -32600, "discover first") if len(asked) == 1 else whole(feature(message), method)
    if method == "server/discover":
        named = [] if RULE == "MS-1" else [STATELESS]
        return whole(
            _wire.result(message, {"supportedVersions": [*named, *REVISIONS], "capabilities": DECLARED}), method
        )
    if method == "subscriptions/listen":
        about = {"io.modelcontextprotocol/subscriptionId": message["id"]}
        kind = "tools/list_changed" if RULE == "MS-13" else "subscriptions/acknowledged"
        seen = {"notifications": message["params"]["notifications"], "_meta": about}
        _wire.send({"jsonrpc": "2.0", "method": f"notifications/{kind}", "params": seen})
        return None
    if RULE == "MS-7" and method == "tools/list":
        _wire.send({"jsonrpc": "2.0", "id": "mine", "method": "ping"})
    if RULE == "MS-14" and method == "tools/list":
        _wire.send({"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "hello"}})
    return whole(feature(message), method)


def whole(response: Message, method: str) -> Message:
    """A response with what the stateless era adds."""
    if "result" not in response:
        return response
    result = {"resultType": "complete", "_meta": {"io.modelcontextprotocol/serverInfo": INFO}, **response["result"]}
    if method in LISTS or method in ("server/discover", "resources/read"):
        result |= {"ttlMs": 0, "cacheScope": "private"}
    if RULE == "MS-11" and method == "resources/read":
        del result["ttlMs"]
    if RULE == "MS-5" and method == "tools/list":
        del result["resultType"]
    return {**response, "result": result}


def answer(message: Any) -> Message | None:
    global has_cancelled
    if isinstance(message, list):
        if RULE != "LC-9":
            _wire.send([answer(one) for one in message])  # type: ignore[arg-type]
        return None
    if "method" not in message:
        return None
    if "id" not in message:
        has_cancelled |= message["method"] == "notifications/cancelled"
        return {"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "?"}} if RULE == "B-3" else None
    asked.append(message["method"])
    is_stateless = VERSION in message.get("params", {}).get("_meta", {})
    response = stateless(message) if is_stateless else handshake(message)
    if response is not None and message["method"] == "prompts/list":
        if RULE == "B-1":
            del response["jsonrpc"]
        if RULE == "B-2":
            response["id"] = str(response["id"]) if isinstance(response["id"], int) else int(response["id"])
        if RULE == "B-7":
            params = {"progressToken": "t", "progress": 1}
            _wire.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": params})
    return response


if RULE == "IO-2":
    print("breaks_rule is ready", flush=True)
_wire.serve(answer)
if RULE == "IO-6":
    time.sleep(60)
