"""Means the end of a list by an empty cursor."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "tools/list":
        return _wire.result(message, {"tools": [_wire.tool("echo")], "nextCursor": ""})
    return _wire.handshake(message)


_wire.serve(answer)
