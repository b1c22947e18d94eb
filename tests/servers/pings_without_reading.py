"""Works until it is called, then pings without end and never reads again."""

from __future__ import annotations

import json

import _wire

for message in _wire.messages():
    answer = _wire.handshake(message)
    if message.get("method") == "tools/call":
        break
    if answer is not None:
        _wire.send(answer)
number = 0
while True:
    number += 1
    # Long ones, so that their answers fill a pipe at once.
    _wire.write(json.dumps({"jsonrpc": "2.0", "id": f"{number:x>2000}", "method": "ping"}).encode() + b"\n")
