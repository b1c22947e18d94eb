"""Has tools whose schemas no value can be checked against in time, or in this document."""

from __future__ import annotations

from typing import Any

import _wire

# Each of them applies the next one twice.
LEVELS = 34
DEFINITIONS: dict[str, Any] = {
    f"a{level}": {"allOf": [{"$ref": f"#/$defs/a{level + 1}"}] * 2} for level in range(LEVELS)
}
ENDLESS = {
    "type": "object",
    "properties": {"x": {"$ref": "#/$defs/a0"}},
    "$defs": {**DEFINITIONS, f"a{LEVELS}": {"type": "string"}},
}
ELSEWHERE = {"type": "object", "properties": {"x": {"$ref": "https://example.org/x.json"}}}
TOOLS = [
    {"name": "takes", "inputSchema": ENDLESS},
    {"name": "returns", "inputSchema": {"type": "object"}, "outputSchema": ENDLESS},
    {"name": "elsewhere", "inputSchema": ELSEWHERE},
]


def answer(message: _wire.Message) -> _wire.Message | None:
    _wire.note(str(message.get("method")))
    if message.get("method") == "tools/list":
        return _wire.result(message, {"tools": TOOLS})
    if message.get("method") == "tools/call":
        return _wire.result(message, {**_wire.text("done"), "structuredContent": {"x": "a"}})
    return _wire.handshake(message)


_wire.serve(answer)
