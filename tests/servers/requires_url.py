"""Requires URLs to be opened before a tool call, so many times, with the data of its second argument, if any."""

from __future__ import annotations

import json
import sys

import _wire

DATA = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {
    "elicitations": [
        {"mode": "url", "elicitationId": "1", "url": "https://e.org/?a=1&b=\n2", "message": "Sign in"},
        {"mode": "url", "elicitationId": "2", "url": "https://other.org/", "message": "Agree"},
    ]
}  # fmt: skip
left = int(sys.argv[1])


def answer(message: _wire.Message) -> _wire.Message | None:
    global left
    if message.get("method") == "tools/call" and left:
        left -= 1
        return _wire.error(message, -32042, "sign in first", DATA)
    return _wire.handshake(message)


_wire.serve(answer)
