"""A tool that can be called only as an experimental task of 2025-11-25."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "tools/list":
        tool = {**_wire.tool("report"), "execution": {"taskSupport": "required"}}
        return _wire.result(message, {"tools": [tool]})
    if message.get("method") == "tools/call":
        return _wire.error(message, -32601, "this tool needs a task")
    return _wire.handshake(message)


_wire.serve(answer)
