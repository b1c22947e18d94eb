"""Requires arguments that have a default, as some generators of schemas do. `echo` gives its arguments back."""

from __future__ import annotations

from typing import Any

import _wire

SCALE = {"type": "string", "enum": ["css", "device"], "default": "css"}
AREA = {"type": "object", "properties": {"scale": SCALE, "x": {"type": "integer"}}, "required": ["scale", "x"]}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"area": AREA, "scale": SCALE, "name": {"type": "string"}},
    "required": ["scale", "name"],
    "additionalProperties": False,
}


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "tools/list":
        return _wire.result(message, {"tools": [{"name": "echo", "inputSchema": SCHEMA}]})
    return _wire.handshake(message)


_wire.serve(answer)
