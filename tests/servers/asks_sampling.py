"""Asks for a model's words during a call, and gives back the answer that it got."""

from __future__ import annotations

import json

import _wire

asked: _wire.Message = {}
for message in _wire.messages():
    if message.get("method") == "tools/call":
        asked = message
        params = {"messages": [], "maxTokens": 1}
        _wire.send({"jsonrpc": "2.0", "id": 1, "method": "sampling/createMessage", "params": params})
    elif "method" not in message:
        _wire.send(_wire.result(asked, _wire.text(json.dumps(message["error"]))))
    elif answer := _wire.handshake(message):
        _wire.send(answer)
