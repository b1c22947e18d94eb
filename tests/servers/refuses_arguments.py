"""Refuses arguments that its input schema allows, with an error of JSON-RPC; without any, it asks for a variable."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "tools/list":
        return _wire.result(message, {"tools": [_wire.tool("book")]})
    if message.get("method") == "tools/call":
        day = message["params"]["arguments"].get("day")
        return _wire.error(message, -32602, f"no such day: {day}" if day else "ACME_TOKEN is not set")
    return _wire.handshake(message)


_wire.serve(answer)
