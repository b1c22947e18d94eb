"""Closes its input in its first call, answers that one, and keeps running."""

from __future__ import annotations

import os
import signal
import sys

import _wire

for message in _wire.messages():
    answer = _wire.handshake(message)
    is_call = message.get("method") == "tools/call"
    if is_call:
        os.close(0)
    if answer is not None:
        _wire.send(answer)
    if is_call:
        break
print("I have heard enough", file=sys.stderr, flush=True)
while True:
    signal.pause()
