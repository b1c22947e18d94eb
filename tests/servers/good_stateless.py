"""Does nothing wrong: the stateless era, with a tool that echoes and tools that want input first."""

from __future__ import annotations

import json
from typing import Any

import _wire
from _wire import Message

VERSION = "io.modelcontextprotocol/protocolVersion"
CITY = {
    "method": "elicitation/create",
    "params": {
        "message": "Which city?",
        "requestedSchema": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
rounds = 0


def complete(value: Message) -> Message:
    return {"resultType": "complete", **value}


def wants(state: str | None, **questions: Any) -> Message:
    value: Message = {"resultType": "input_required", "inputRequests": questions}
    return value if state is None else {**value, "requestState": state}


def call(params: Message) -> Message:
    global rounds
    name, answers = params["name"], params.get("inputResponses")
    if name == "ask" and answers is None:
        return wants("state-1", q=CITY, r={"method": "roots/list"})
    if name == "ask":
        return complete(_wire.text(json.dumps([answers, params.get("requestState"), params["arguments"]])))
    if name == "endless":
        rounds += 1
        return wants(f"state-{rounds}", q=CITY)
    if name == "again":
        state = params.get("requestState", "0")
        if state == "3":
            return complete(_wire.text("at last"))
        return {"resultType": "input_required", "requestState": str(int(state) + 1)}
    if name == "sampling":
        return wants(None, s={"method": "sampling/createMessage", "params": {"messages": [], "maxTokens": 1}})
    if name == "nothing":
        return {"resultType": "input_required"}
    return complete(_wire.text(json.dumps(params.get("arguments", {}))))


def answer(message: Message) -> Message | None:
    if "id" not in message:
        return None
    method, params = message["method"], message.get("params", {})
    if VERSION not in params.get("_meta", {}):
        return _wire.error(message, -32602, "no version")
    if method == "server/discover":
        info = {"io.modelcontextprotocol/serverInfo": {"name": "good_stateless", "version": "1"}}
        found = {
            "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {"listChanged": True}}, "ttlMs": 0,
            "cacheScope": "private", "instructions": "Be kind.", "_meta": info,
        }  # fmt: skip
        return _wire.result(message, complete(found))
    if method == "tools/list":
        names = ("echo", "ask", "endless", "again", "sampling", "nothing")
        tools = [_wire.tool(name) for name in names]
        return _wire.result(message, complete({"tools": tools, "ttlMs": 0, "cacheScope": "private"}))
    if method == "tools/call":
        return _wire.result(message, call(params))
    if method == "subscriptions/listen":
        about = {"io.modelcontextprotocol/subscriptionId": message["id"]}
        seen = {"notifications": params["notifications"], "_meta": about}
        _wire.send({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged", "params": seen})
        return None
    return _wire.error(message, -32601, "Method not found")


_wire.serve(answer)
