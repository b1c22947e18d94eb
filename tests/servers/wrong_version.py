"""Answers `initialize` with a version that nobody knows."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "initialize":
        return _wire.initialized(message, "2031-01-01")
    return _wire.handshake(message)


_wire.serve(answer)
