"""Exits with status 3 in the middle of a call, with its last words on stderr."""

from __future__ import annotations

import os
import sys

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "tools/call":
        print("fatal: out of memory", file=sys.stderr, flush=True)
        os._exit(3)
    return _wire.handshake(message)


_wire.serve(answer)
