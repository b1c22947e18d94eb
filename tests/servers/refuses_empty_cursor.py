"""Means "end" by an empty cursor, and refuses it when it is given back; with the argument "real" any cursor."""

from __future__ import annotations

import sys

import _wire

CURSOR = "next" if sys.argv[1:] == ["real"] else ""


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") != "tools/list":
        return _wire.handshake(message)
    if "cursor" in message.get("params", {}):
        return _wire.error(message, -32602, "Invalid cursor")
    return _wire.result(message, {"tools": [_wire.tool("echo")], "nextCursor": CURSOR})


_wire.serve(answer)
