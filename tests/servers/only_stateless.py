"""Refuses `initialize` like any unknown method: it has left the handshake behind and does not say so."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    method = message.get("method")
    if method == "server/discover":
        found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        return _wire.result(message, {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **found})
    if method == "initialize":
        return _wire.error(message, -32601, "Method not found")
    made = _wire.handshake(message)
    if made and "result" in made:
        made["result"]["resultType"] = "complete"
    return made


_wire.serve(answer)
