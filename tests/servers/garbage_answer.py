"""Answers calls with a line that begins like a message and is no JSON."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "tools/call":
        _wire.say(f'{{"jsonrpc": "2.0", "id": {message["id"]}, "result": {{"content": [')
        return None
    return _wire.handshake(message)


_wire.serve(answer)
