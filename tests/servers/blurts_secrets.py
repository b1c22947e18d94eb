"""Says the token that it was given in whatever it says of a call: in progress, and in what a failed tool answers."""

from __future__ import annotations

import os

import _wire

TOKEN = os.environ["TOKEN"]


def answer(message: _wire.Message) -> _wire.Message | None:
    if message.get("method") != "tools/call":
        return _wire.handshake(message)
    token = message["params"].get("_meta", {}).get("progressToken")
    if token is not None:
        progress = {"progressToken": token, "progress": 1, "message": f"logged in with {TOKEN}"}
        _wire.send({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress})
    return _wire.result(message, {**_wire.text(f"no entry with {TOKEN}"), "isError": True})


_wire.serve(answer)
