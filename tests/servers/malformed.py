"""Writes what servers in PHP and Go write: an empty object is a list, an empty list is null. Some of its items are not
even that.
"""

from __future__ import annotations

from typing import Any

import _wire

OBJECT = {"type": "object"}
LISTS = {
    "tools/list": {
        "tools": [
            {"name": "empty", "inputSchema": {"type": "object", "properties": []}},
            {"name": "one", "inputSchema": {"type": "object", "properties": {"a": "string"}, "required": "a"}},
            {"name": "out", "inputSchema": OBJECT, "outputSchema": {"type": "object", "properties": []}},
            {"name": "", "inputSchema": OBJECT},
        ]
    },
    "prompts/list": {"prompts": [{"name": "ask", "arguments": None}, {"name": ""}]},
    "resources/list": {
        "resources": [{"uri": "x://1", "annotations": []}, {"uri": "two", "name": "n"}, {"uri": "x://3", "size": "3"}]
    },
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "x://{a}"}]},
}
# What is answered to the call of a tool, a prompt, or the read of a resource, by its name or URI.
RESULTS: dict[str, dict[str, Any]] = {
    "nothing": {"content": None, "structuredContent": {"a": 1}, "isError": None},
    "block": {"content": {"type": "text", "text": "x"}, "isError": "true"},
    "text": {"content": "hello", "_meta": []},
    "blocks": {
        "content": [
            None,
            "a",
            {"type": "text", "text": "b", "annotations": []},
            {"type": "image", "data": 5},
            {"type": "resource_link", "uri": "x:c"},
        ]
    },
    "number": {"content": 7},
    "ask": {"messages": None},
    "say": {"messages": {"role": "user", "content": "hi"}},
    "many": {"messages": ["a", {"role": "assistant", "content": [{"type": "text", "text": "b"}, "c"]}, {"role": "x"}]},
    "x://1": {"contents": {"text": "one"}},
    "x://3": {"contents": ["three", {"uri": "x://3", "blob": None}]},
    "x://4": {"contents": None},
}


def answer(message: _wire.Message) -> _wire.Message | None:
    method, params = str(message.get("method")), message.get("params") or {}
    if method == "initialize":
        return _wire.initialized(message, resources={}, prompts={}, completions={})
    if method in LISTS:
        return _wire.result(message, LISTS[method])
    if method == "completion/complete":
        return _wire.result(message, {"completion": None})
    if (found := RESULTS.get(str(params.get("name", params.get("uri"))))) is not None:
        return _wire.result(message, found)
    if method == "resources/read":
        return _wire.error(message, 0, f"Unknown resource: {params['uri']}")
    return _wire.handshake(message)


_wire.serve(answer)
