"""A tool whose output schema says no type, which is allowed, and templates that it fails to list, which is not."""

from __future__ import annotations

import _wire

TOOL = {**_wire.tool("count"), "outputSchema": {"properties": {"n": {"type": "integer"}}}}


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "initialize":
        return _wire.initialized(message, resources={})
    if message.get("method") == "tools/list":
        return _wire.result(message, {"tools": [TOOL]})
    if message.get("method") == "resources/list":
        return _wire.result(message, {"resources": [{"name": "nameless"}]})
    if message.get("method") == "resources/templates/list":
        return _wire.error(message, -32603, "out of templates")
    return _wire.handshake(message)


_wire.serve(answer)
