"""Asks the person a hundred things at once during a call, and gives back how many were refused at once."""

from __future__ import annotations

import json

import _wire

HOW_MANY = 100
asked: _wire.Message = {}
refused = 0
for message in _wire.messages():
    if message.get("method") == "tools/call" and message["params"]["name"] == "how_many":
        _wire.send(_wire.result(message, _wire.text(json.dumps(refused))))
    elif message.get("method") == "tools/call":
        asked = message
        for number in range(HOW_MANY):
            question = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}
            _wire.send({"jsonrpc": "2.0", "id": number, "method": "elicitation/create", "params": question})
        _wire.send(_wire.result(message, _wire.text("asked")))
    elif "method" not in message:
        refused += "error" in message
    elif answer := _wire.handshake(message):
        _wire.send(answer)
