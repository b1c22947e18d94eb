"""Lists tools without a name, without a schema and twice, among good ones."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "tools/list":
        good, other = _wire.tool("good"), _wire.tool("other")
        bad = [{"description": "nameless"}, {"name": "bare", "inputSchema": None}, "not a tool", {"name": 7}]
        return _wire.result(message, {"tools": [good, *bad, good, other]})
    return _wire.handshake(message)


_wire.serve(answer)
