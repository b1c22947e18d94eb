"""Has a tool whose schemas are none."""

from __future__ import annotations

import _wire

TOOL = {
    "name": "echo",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "nope"}}},
    "outputSchema": {"type": "nope"},
}


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "tools/list":
        return _wire.result(message, {"tools": [TOOL]})
    if message.get("method") == "tools/call":
        return _wire.result(message, {**_wire.text("done"), "structuredContent": {}})
    return _wire.handshake(message)


_wire.serve(answer)
