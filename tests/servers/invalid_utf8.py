"""Writes a line of invalid UTF-8 before each answer to a call, and in a call named `inside` also in the answer."""

from __future__ import annotations

import _wire


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") == "tools/call":
        _wire.write(b"\xff\xfe caf\xe9\n")
        if message["params"]["name"] == "inside":
            _wire.write(b'{"jsonrpc": "2.0", "id": %d, "result": {"content": "\xe9"}}\n' % message["id"])
            return None
    return _wire.handshake(message)


_wire.serve(answer)
