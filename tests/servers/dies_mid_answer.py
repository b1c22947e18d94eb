"""Dies in the middle of its answer to a call."""

from __future__ import annotations

import os
import sys

import _wire

for message in _wire.messages():
    if message.get("method") == "tools/call":
        _wire.write(b'{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","te' % message["id"])
        sys.stderr.write("out of memory\n")
        sys.stderr.flush()
        os._exit(3)
    if (answer := _wire.handshake(message)) is not None:
        _wire.send(answer)
