"""Agrees on a version, and says nothing more."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    return _wire.handshake(message) if message.get("method") in ("server/discover", "initialize") else None


_wire.serve(answer)
