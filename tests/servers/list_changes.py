"""Announces during a call that its tools have changed, and has another one then; with REFUSES it does not say which.
With KIND it announces another list.

Announces the same before it refuses to read a resource, and when it is asked for its prompts.
"""

from __future__ import annotations

import os

import _wire

KIND = os.environ.get("KIND", "tools")
names = ["echo"]
CAPABILITIES: _wire.Message = {"tools": {"listChanged": True}, "prompts": {}, "resources": {}}


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") in ("tools/call", "prompts/list", "resources/read"):
        names.append(f"new{len(names)}")
        _wire.send({"jsonrpc": "2.0", "method": f"notifications/{KIND}/list_changed"})
    if message.get("method") == "tools/list":
        if len(names) > 1 and "REFUSES" in os.environ:
            return _wire.error(message, -32603, "not now")
        return _wire.result(message, {"tools": [_wire.tool(name) for name in names]})
    if message.get("method") == "prompts/list":
        return _wire.result(message, {"prompts": []})
    if message.get("method") == "resources/read":
        return _wire.error(message, -32002, "no such resource")
    if message.get("method") == "initialize":
        return _wire.initialized(message, **CAPABILITIES)
    return _wire.handshake(message)


_wire.serve(answer)
