"""A tool whose schema is too long for an error, and lets arguments pass that it does not mention."""

from __future__ import annotations

import _wire

MANY = {f"wish{number}": {"type": "string", "description": "Whatever else is wanted"} for number in range(30)}
SCHEMA = {"type": "object", "properties": {"hotel": {"type": "string"}, **MANY}, "required": ["hotel"]}


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "tools/list":
        return _wire.result(message, {"tools": [{"name": "book", "inputSchema": SCHEMA}]})
    return _wire.handshake(message)


_wire.serve(answer)
