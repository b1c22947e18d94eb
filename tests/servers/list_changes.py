"""Announces during a call that its tools have changed, and has another one then; with REFUSES it does not say which."""

from __future__ import annotations

import os

import _wire

names = ["echo"]


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "tools/call":
        names.append(f"new{len(names)}")
        _wire.send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
    if message.get("method") == "tools/list":
        if len(names) > 1 and "REFUSES" in os.environ:
            return _wire.error(message, -32603, "not now")
        return _wire.result(message, {"tools": [_wire.tool(name) for name in names]})
    if message.get("method") == "initialize":
        return _wire.initialized(message, tools={"listChanged": True})
    return _wire.handshake(message)


_wire.serve(answer)
