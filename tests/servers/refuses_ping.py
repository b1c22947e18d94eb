"""Answers a ping and a subscription with an error, or not at all if its argument is "hangs"."""

from __future__ import annotations

import sys

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") in ("ping", "resources/subscribe"):
        return None if sys.argv[1:] == ["hangs"] else _wire.error(message, -32603, "not today")
    if message.get("method") == "initialize":
        return _wire.initialized(message, resources={"subscribe": True})
    return _wire.handshake(message)


_wire.serve(answer)
