"""Answers `server/discover` with -32022 and names only a handshake version."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "server/discover":
        data = {"supported": ["2025-06-18"], "requested": "2026-07-28"}
        return _wire.error(message, -32022, "Unsupported protocol version", data)
    if message.get("method") == "initialize":
        return _wire.initialized(message, message["params"]["protocolVersion"])
    return _wire.handshake(message)


_wire.serve(answer)
