"""Has ten thousand tools, on a hundred pages."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "tools/list":
        page = int(message.get("params", {}).get("cursor", "0"))
        value: _wire.Message = {"tools": [_wire.tool(f"tool{page * 100 + number}") for number in range(100)]}
        if page < 99:
            value["nextCursor"] = str(page + 1)
        return _wire.result(message, value)
    return _wire.handshake(message)


_wire.serve(answer)
