"""Answers every call with as many megabytes of text as its argument says."""

from __future__ import annotations

import sys

import _wire

TEXT = "0123456789abcdef" * 65536 * int(sys.argv[1])


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "tools/call":
        return _wire.result(message, _wire.text(TEXT))
    return _wire.handshake(message)


_wire.serve(answer)
