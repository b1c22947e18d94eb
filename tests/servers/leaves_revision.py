"""Serves the stateless era until a tool is called, and from then on, in its later lives too, only the handshake era."""

from __future__ import annotations

import os
from pathlib import Path

import _wire

HAS_LEFT = Path(os.environ["NOTES"] + ".left")
VERSION = "io.modelcontextprotocol/protocolVersion"


def refused(message: _wire.Message) -> _wire.Message:
    data = {"supported": ["2025-11-25"], "requested": "2026-07-28"}
    return _wire.error(message, -32022, "Unsupported protocol version", data)


def answer(message: _wire.Message) -> _wire.Message | None:
    params = message.get("params", {})
    if VERSION not in params.get("_meta", {}):
        return _wire.handshake(message)
    if message["method"] == "tools/call" or HAS_LEFT.exists():
        HAS_LEFT.touch()
        return refused(message)
    found = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, "tools": [_wire.tool("echo")]}
    return _wire.result(message, {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **found})


_wire.serve(answer)
