"""Closes its output during a call, and keeps running until its input ends."""

from __future__ import annotations

import os

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "tools/call":
        os.close(1)
        return None
    return _wire.handshake(message)


_wire.serve(answer)
os._exit(0)
