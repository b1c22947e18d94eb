"""Offers prompts alone, and refuses to list tools."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "tools/list":
        return _wire.error(message, -32601, "Method not found")
    return _wire.handshake(message)


_wire.serve(answer)
