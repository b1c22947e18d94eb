"""Answers calls under an id that was never asked."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "tools/call":
        return _wire.result({"id": 4711}, _wire.text("for whom?"))
    return _wire.handshake(message)


_wire.serve(answer)
