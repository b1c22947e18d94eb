"""Answers a call with something other than its own schema says."""

from __future__ import annotations

import _wire

TOOL = {**_wire.tool("count"), "outputSchema": {"type": "object", "properties": {"n": {"type": "integer"}}}}


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "tools/list":
        return _wire.result(message, {"tools": [TOOL]})
    if message.get("method") == "tools/call":
        return _wire.result(message, {**_wire.text("many"), "structuredContent": {"n": "many"}})
    return _wire.handshake(message)


_wire.serve(answer)
