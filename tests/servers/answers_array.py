"""Answers calls with an array around the response, in a revision that has no batches."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    made = _wire.handshake(message)
    if message.get("method") == "tools/call":
        _wire.send([made])
        return None
    return made


_wire.serve(answer)
