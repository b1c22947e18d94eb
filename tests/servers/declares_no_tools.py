"""Declares prompts only, and refuses to list tools. Started with "all the same" it declares nothing, and has one."""

from __future__ import annotations

import sys

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "initialize":
        info = {"name": "declares-no-tools", "version": "1"}
        capabilities = {} if "all the same" in sys.argv else {"prompts": {}}
        return _wire.result(
            message, {"protocolVersion": "2025-11-25", "capabilities": capabilities, "serverInfo": info}
        )
    if message.get("method") == "prompts/list":
        return _wire.result(message, {"prompts": []})
    if message.get("method", "").startswith("tools/") and "all the same" not in sys.argv:
        return _wire.error(message, -32601, "Method not found")
    return _wire.handshake(message)


_wire.serve(answer)
