"""Declares an empty object of capabilities, and refuses whatever it is asked for."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "initialize":
        info = {"name": "declares-nothing", "version": "1"}
        return _wire.result(message, {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info})
    return _wire.error(message, -32601, "Method not found") if "id" in message else None


_wire.serve(answer)
