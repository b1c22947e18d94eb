"""Refuses every version but 2024-11-05 with an error that names it."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "initialize":
        if message["params"]["protocolVersion"] != "2024-11-05":
            return _wire.error(message, -32602, "unsupported protocol version, use 2024-11-05")
        return _wire.initialized(message, "2024-11-05")
    return _wire.handshake(message)


_wire.serve(answer)
