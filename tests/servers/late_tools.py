"""Makes up its tools while it is asked for them, and announces that before it answers."""

from __future__ import annotations

import _wire

names = ["echo"]


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "tools/list":
        schema = {"type": "object", "required": ["text"]}
        listed = _wire.result(message, {"tools": [{**_wire.tool(name), "inputSchema": schema} for name in names]})
        if len(names) == 1:
            names.append("late")
            _wire.send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        return listed
    if message.get("method") == "initialize":
        return _wire.initialized(message, tools={"listChanged": True})
    return _wire.handshake(message)


_wire.serve(answer)
