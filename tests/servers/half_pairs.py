"""Holds half of a surrogate pair in everything that it sends, and drops every line that has one, as the SDK does."""

from __future__ import annotations

import json

import _wire

HALF = "a\ud800"


def offers(message: _wire.Message) -> _wire.Message | None:
    method = message["method"]
    if method == "tools/list":
        schema = {"type": "object", "properties": {HALF: {"type": "string", "description": HALF, "enum": [HALF]}}}
        odd = {"name": HALF, "title": HALF, "description": HALF, "inputSchema": schema}
        return {"tools": [odd, {**_wire.tool("echo"), "outputSchema": schema}, _wire.tool("fail")]}
    if method == "prompts/list":
        return {"prompts": [{"name": name, "arguments": [{"name": HALF}]} for name in (HALF, "plain")]}
    if method == "prompts/get":
        return {"messages": [{"role": HALF, "content": {"type": "text", "text": HALF}}] * 2}
    if method == "resources/list":
        return {"resources": [{"uri": f"x:{HALF}", "name": HALF, "mimeType": HALF}, {"uri": "x:plain", "name": "x"}]}
    if method == "resources/templates/list":
        return {"resourceTemplates": [{"uriTemplate": f"y:{{{HALF}}}", "name": HALF}]}
    if method == "resources/read":
        return {"contents": [{"uri": HALF, "mimeType": HALF, "text": HALF}]}
    return None


def called(message: _wire.Message) -> _wire.Message:
    params = message["params"]
    token = params.get("_meta", {}).get("progressToken")
    progress = {"progressToken": token, "progress": 1, "total": 2, "message": HALF}
    _wire.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})
    data = {"level": "warning", "logger": HALF, "data": {HALF: HALF}}
    _wire.send({"jsonrpc": "2.0", "method": "notifications/message", "params": data})
    echoed = json.dumps(params.get("arguments", {}))
    return {"content": [{"type": "text", "text": HALF + echoed}, {"type": HALF}], "structuredContent": {HALF: HALF}}


def answer(message: _wire.Message) -> _wire.Message | None:
    try:
        json.dumps(message, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return None
    if "id" not in message:
        return None
    if message["method"] == "initialize":
        return _wire.initialized(message, tools={}, prompts={}, resources={}, logging={})
    if (result := offers(message)) is not None:
        return _wire.result(message, result)
    if message["method"] == "tools/call" and message["params"]["name"] == "echo":
        return _wire.result(message, called(message))
    if message["method"] == "tools/call":
        return _wire.error(message, -32602, HALF, HALF)
    return _wire.handshake(message)


_wire.serve(answer)
